"""The policy that asks an OpenAI-compatible server. It joins `conversation` (the way there) and `completion` or `prompted` (the way back)."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from cowork_gym.core.canonical import decode
from cowork_gym.core.errors import Blame, CoworkError, Fault, MissingExtra, UserError
from cowork_gym.core.messages import InvalidAction, Message
from cowork_gym.harness.policies.completion import BrokenAnswer, Completion, native_action, read_completion
from cowork_gym.harness.policies.conversation import conversation
from cowork_gym.harness.policies.policy import Action, Policy, Usage
from cowork_gym.harness.policies.prompted import instructions, read_action, transcript

if TYPE_CHECKING:
    import openai

__all__ = ["OpenAIPolicy"]

_CONTEXT_FULL = re.compile(r"context.{0,12}(length|size|window)", re.IGNORECASE)
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class _ContextFull(CoworkError):
    """The conversation is longer than the model can read: the policy's own limit."""


class OpenAIPolicy(Policy):
    """A model behind `/chat/completions`.

    Args:
        model: The model's name at that server.
        base_url: Such as `http://127.0.0.1:8000/v1`.
        api_key: By default the environment's OPENAI_API_KEY; a server on this machine needs none.
        tool_format: `native` sends the tools and reads tool calls; `prompted` describes them in the system prompt and reads
            JSON from the text, for servers and models without a tool format.
        temperature: The server's default unless given.
        max_tokens: The most that one answer may have. A longer one is cut and counts as an invalid action.
        timeout: Seconds to wait for one answer.
        retries: How often a failed request is sent again.

    Raises:
        MissingExtra: The `openai` library is not installed.
        UserError: The address is none, or a key is needed.
    """

    def __init__(
        self, model: str, base_url: str, *, api_key: str | None = None, tool_format: Literal["native", "prompted"] = "native",
        temperature: float | None = None, max_tokens: int = 4096, timeout: float = 300, retries: int = 3,
    ) -> None:
        self.name = f"openai:{model}"
        self.usage = Usage()
        self._model, self._url, self._native = model, base_url, tool_format == "native"
        self._client = _client(base_url, api_key, timeout, retries)
        # The vendor's newer models refuse the field that every other server knows.
        limit = "max_completion_tokens" if _host(base_url).endswith("openai.com") else "max_tokens"
        self._options: dict[str, Any] = {limit: max_tokens} | ({} if temperature is None else {"temperature": temperature})
        self._tools: list[Mapping[str, Any]] = []
        self._seed = 0

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        """Start a new episode; the seed goes to the server with every request."""
        self._tools, self._seed, self.usage = [*tools], seed, Usage()

    def act(self, history: Sequence[Message]) -> Action:
        """Ask the server once.

        Raises:
            Fault: The server failed after all retries, or what it answered cannot be used.
            UserError: The key or the model's name is wrong.
        """
        self.usage = Usage()
        try:
            completion = self._ask(history)
            self.usage = completion.usage
            if completion.broken_off:
                return InvalidAction(completion.broken_off, completion.text)
            return native_action(completion, history) if self._native else read_action(completion.message.content or "")
        except _ContextFull:
            return InvalidAction("the conversation no longer fits into the model's context", "")
        except BrokenAnswer as error:
            raise self._fault(str(error)) from None

    def _ask(self, history: Sequence[Message]) -> Completion:
        import openai

        messages: list[Any] = conversation(history) if self._native else transcript(instructions(self._tools), history)
        tools: dict[str, Any] = {"tools": self._tools} if self._native and self._tools else {}
        try:
            answer = self._client.chat.completions.with_raw_response.create(
                model=self._model, messages=messages, seed=self._seed, **tools, **self._options,
            )
        except (openai.AuthenticationError, openai.PermissionDeniedError):
            raise UserError(f"{self._url} refuses the key: set OPENAI_API_KEY") from None
        except openai.NotFoundError:
            raise UserError(f"{self._url} knows no model {self._model!r}, or is not the address of an API (most end in /v1)") from None
        except openai.APITimeoutError:
            raise self._fault(f"no answer within {self._client.timeout} seconds, asked {self._client.max_retries + 1} times") from None
        except openai.APIStatusError as error:
            if error.status_code < 500 and _CONTEXT_FULL.search(str(error)):
                raise _ContextFull from None
            raise self._fault(f"status {error.status_code}: {error}") from None
        except openai.OpenAIError as error:
            raise self._fault(f"{error} {error.__cause__ or ''}") from None
        try:
            return read_completion(decode(answer.content))
        except ValueError as error:
            raise BrokenAnswer(f"not JSON: {error}") from None

    def _fault(self, text: str) -> Fault:
        return Fault(Blame.MODEL_SERVER, self._url, " ".join(text.split())[:300])


def _client(base_url: str, api_key: str | None, timeout: float, retries: int) -> "openai.OpenAI":
    try:
        import openai
    except ImportError:
        raise MissingExtra("the openai library", "pip install 'cowork-gym[openai]'") from None
    host = _host(base_url)
    key = api_key or os.environ.get("OPENAI_API_KEY") or ("none" if host in _LOOPBACK else None)
    if key is None:
        raise UserError(f"{host} needs a key: set OPENAI_API_KEY")
    return openai.OpenAI(api_key=key, base_url=base_url, timeout=timeout, max_retries=retries)


def _host(base_url: str) -> str:
    try:
        address = urlsplit(base_url)
        if address.scheme in ("http", "https") and address.hostname and address.port != 0:
            return address.hostname
    except ValueError:
        pass
    raise UserError(f"{base_url!r} is no address of a server: write it as http://127.0.0.1:8000/v1")
