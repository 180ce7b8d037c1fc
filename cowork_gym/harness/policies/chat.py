"""The client of an OpenAI-compatible server: one request, one answer, and who is to blame where there is none. `completion` reads answers."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cowork_gym.core.canonical import decode
from cowork_gym.core.errors import Fault, MissingExtra, UserError
from cowork_gym.harness.engines.address import failure, host_of, is_near
from cowork_gym.harness.engines.engine import ContextFull
from cowork_gym.harness.policies.completion import BrokenAnswer, Completion, read_completion

if TYPE_CHECKING:
    import openai

__all__ = ["ChatClient"]

_CONTEXT_FULL = re.compile(r"context.{0,12}(length|size|window)", re.IGNORECASE)
_EXAMPLE = "http://127.0.0.1:8000/v1"


class ChatClient:
    """A model behind `/chat/completions`.

    Args:
        model: The model's name at that server.
        base_url: Such as `http://127.0.0.1:8000/v1`.
        api_key: By default the environment's OPENAI_API_KEY; a server on this machine needs none.
        temperature: The server's default unless given.
        max_tokens: The most that one answer may have.
        timeout: Seconds to wait for one answer.
        retries: How often a failed request is sent again.

    Raises:
        MissingExtra: The `openai` library is not installed.
        UserError: The address is none, or a key is needed.
    """

    def __init__(
        self, model: str, base_url: str, *, api_key: str | None, temperature: float | None, max_tokens: int, timeout: float, retries: int,
    ) -> None:
        self._model, self._url = model, base_url
        self._client = _connect(base_url, api_key, timeout, retries)
        # The vendor's newer models refuse the field that every other server knows.
        limit = "max_completion_tokens" if host_of(base_url, _EXAMPLE).endswith("openai.com") else "max_tokens"
        self._options: dict[str, Any] = {limit: max_tokens} | ({} if temperature is None else {"temperature": temperature})

    def ask(self, messages: Sequence[Mapping[str, Any]], *, seed: int, tools: Sequence[Mapping[str, Any]] = ()) -> Completion:
        """Send one request.

        Raises:
            Fault: The server failed after all retries.
            BrokenAnswer: What it answered cannot be used.
            ContextFull: The messages are too long.
            UserError: The key or the model's name is wrong.
        """
        import openai

        offered: dict[str, Any] = {"tools": [*tools]} if tools else {}
        chat: list[Any] = [*messages]
        try:
            answer = self._client.chat.completions.with_raw_response.create(model=self._model, messages=chat, seed=seed, **offered, **self._options)
        except (openai.AuthenticationError, openai.PermissionDeniedError):
            raise UserError(f"{self._url} refuses the key: set OPENAI_API_KEY") from None
        except openai.NotFoundError:
            raise UserError(f"{self._url} knows no model {self._model!r}, or is not the address of an API (most end in /v1)") from None
        except openai.APITimeoutError:
            raise self.fault(f"no answer within {self._client.timeout} seconds, asked {self._client.max_retries + 1} times") from None
        except openai.APIStatusError as error:
            if error.status_code < 500 and _CONTEXT_FULL.search(str(error)):
                raise ContextFull from None
            raise self.fault(f"status {error.status_code}: {error}") from None
        except openai.OpenAIError as error:
            raise self.fault(f"{error} {error.__cause__ or ''}") from None
        try:
            return read_completion(decode(answer.content))
        except ValueError as error:
            raise BrokenAnswer(f"not JSON: {error}") from None

    def fault(self, text: str) -> Fault:
        """A failure of the server."""
        return failure(self._url, text)


def _connect(base_url: str, api_key: str | None, timeout: float, retries: int) -> "openai.OpenAI":
    try:
        import openai
    except ImportError:
        raise MissingExtra("the openai library", "pip install 'cowork-gym[openai]'") from None
    host = host_of(base_url, _EXAMPLE)
    key = api_key or os.environ.get("OPENAI_API_KEY") or ("none" if is_near(host) else None)
    if key is None:
        raise UserError(f"{host} needs a key: set OPENAI_API_KEY")
    return openai.OpenAI(api_key=key, base_url=base_url, timeout=timeout, max_retries=retries)
