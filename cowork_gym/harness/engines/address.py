"""The address of a model server: what it has to look like, and that the server behind it failed."""

from urllib.parse import urlsplit

from cowork_gym.core.errors import Blame, Fault, UserError

__all__ = ["failure", "host_of", "is_near"]

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_SAID = 300
"""Characters that are kept of what a server said."""


def host_of(url: str, example: str) -> str:
    """The host in an address.

    Args:
        url: The address.
        example: One as it should be, for the person who has to mend it.

    Raises:
        UserError: It is none.
    """
    try:
        address = urlsplit(url)
        if address.scheme in ("http", "https") and address.hostname and address.port != 0:
            return address.hostname
    except ValueError:
        pass
    raise UserError(f"{url!r} is no address of a server: write it as {example}")


def is_near(host: str) -> bool:
    """Whether a host is this machine."""
    return host in _LOOPBACK


def failure(url: str, text: str) -> Fault:
    """A failure of the server at an address, in one line."""
    return Fault(Blame.MODEL_SERVER, url, " ".join(text.split())[:_SAID])
