"""What every test gets: no network but loopback, the same examples from hypothesis each time, and the data folder."""

import ipaddress
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

hypothesis.settings.register_profile("house", derandomize=True, deadline=None)
hypothesis.settings.load_profile("house")


class NetworkUsed(Exception):
    """A test reached for something outside this machine. No OSError, so that no client retries or hides it."""


def _is_local(host: str | bytes | None) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    if name in {None, "", "localhost"}:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _guarded_connect(connect: Callable[..., Any]) -> Callable[..., Any]:
    def guard(self: socket.socket, address: Any) -> Any:
        if self.family in {socket.AF_INET, socket.AF_INET6} and not _is_local(address[0]):
            raise NetworkUsed(f"connection to {address[0]}")
        return connect(self, address)

    return guard


def _guarded_lookup(getaddrinfo: Callable[..., Any]) -> Callable[..., Any]:
    def guard(host: str | bytes | None, *rest: Any, **options: Any) -> Any:
        if not _is_local(host):
            raise NetworkUsed(f"look-up of {host!r}")
        return getaddrinfo(host, *rest, **options)

    return guard


@pytest.fixture(scope="session", autouse=True)
def no_network() -> Iterator[type[Exception]]:
    """Loopback only, in this process. Gives the exception that anything else raises."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, _guarded_connect(getattr(socket.socket, name)))
        patch.setattr(socket, "getaddrinfo", _guarded_lookup(socket.getaddrinfo))
        yield NetworkUsed


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with third-party data that COWORK_TEST_DATA names."""
    named = os.environ.get("COWORK_TEST_DATA")
    if not named:
        pytest.skip("COWORK_TEST_DATA is not set")
    return Path(named).resolve(strict=True)
