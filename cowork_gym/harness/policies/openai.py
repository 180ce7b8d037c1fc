"""The policy that asks an OpenAI-compatible server. `conversation` is the way there, `chat` the client, `completion` or `prompted` the way back."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Literal

from cowork_gym.core.messages import InvalidAction, Message, final
from cowork_gym.harness.policies.chat import ChatClient
from cowork_gym.harness.policies.completion import BrokenAnswer, Completion, native_action
from cowork_gym.harness.policies.conversation import conversation
from cowork_gym.harness.policies.policy import Action, Draw, Policy, Usage
from cowork_gym.harness.policies.prompted import instructions, read_action, transcript

__all__ = ["OpenAIPolicy"]


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

    writes = True

    def __init__(
        self, model: str, base_url: str, *, api_key: str | None = None, tool_format: Literal["native", "prompted"] = "native",
        temperature: float | None = None, max_tokens: int = 4096, timeout: float = 300, retries: int = 3,
    ) -> None:
        self.name = f"openai:{model}"
        self.usage, self.draw = Usage(), Draw()
        self._native = tool_format == "native"
        self._client = ChatClient(
            model, base_url, api_key=api_key, temperature=temperature, max_tokens=max_tokens, timeout=timeout, retries=retries,
        )
        self._tools: list[Mapping[str, Any]] = []
        self._seed = 0

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        """Start a new episode; the seed goes to the server with every request."""
        self._tools, self._seed, self.usage, self.draw = [*tools], seed, Usage(), Draw()

    def act(self, history: Sequence[Message]) -> Action:
        """Ask the server once.

        Raises:
            Fault: The server failed after all retries, or what it answered cannot be used.
            ContextFull: The conversation is longer than the model can read.
            UserError: The key or the model's name is wrong.
        """
        try:
            completion = self._ask(history)
            if completion.broken_off:
                return InvalidAction(completion.broken_off, completion.text)
            return native_action(completion, history) if self._native else read_action(completion.message.content or "")
        except BrokenAnswer as error:
            raise self._client.fault(str(error)) from None

    def write(self, history: Sequence[Message]) -> Action:
        """A text. The tools stay where they are, so that a server finds the prompt in its cache.

        Raises:
            Fault, ContextFull, UserError: As `act` does.
        """
        try:
            completion = self._ask(history)
        except BrokenAnswer as error:
            raise self._client.fault(str(error)) from None
        if completion.broken_off:
            return InvalidAction(completion.broken_off, completion.text)
        return completion.message if completion.message.tool_calls else final(completion.message.content or "")

    def spawn(self) -> "OpenAIPolicy":
        """Another one that asks the same server in the same way."""
        child = copy(self)
        child.reset((), 0)
        return child

    def _ask(self, history: Sequence[Message]) -> Completion:
        self.usage, self.draw = Usage(), Draw()
        if self._native:
            completion = self._client.ask(conversation(history), seed=self._seed, tools=self._tools)
        else:
            completion = self._client.ask(transcript(instructions(self._tools), history), seed=self._seed)
        self.usage, self.draw = completion.usage, Draw(completion.finish_reason or "")
        return completion
