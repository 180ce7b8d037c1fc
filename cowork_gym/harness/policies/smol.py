"""The policy of SmolLM2-135M: a real model whose decoding is bound to valid actions. It shows that the plumbing carries a model."""

from collections.abc import Mapping, Sequence
from typing import Any

from cowork_gym.core.errors import Blame, Fault
from cowork_gym.core.messages import InvalidAction, Message
from cowork_gym.harness.policies.bounded import action_schema
from cowork_gym.harness.policies.completion import BrokenAnswer, read_completion
from cowork_gym.harness.policies.policy import Action, Policy, Usage
from cowork_gym.harness.policies.prompted import read_action, transcript
from cowork_gym.harness.policies.smol_server import smol_server

__all__ = ["SmolPolicy"]

_MAX_TOKENS = 256
# In bytes: a token is at least one byte, so the conversation fits the context, whatever it says.
_CONVERSATION, _REQUEST, _TURN = 2800, 1400, 650

# Without examples the model fills every field with digits. The tools in these exist in no world, so they give nothing away.
_EXAMPLES = (
    {"role": "user", "content": "What is the phone number of Ann Lee?"},
    {"role": "assistant", "content": '{"name": "contacts_list", "arguments": {}}'},
    {"role": "user", "content": 'Result of contacts_list: {"contacts": [{"contact_id": "P-31", "name": "Ann Lee"}, {"contact_id": "P-32"}]}'},
    {"role": "assistant", "content": '{"name": "contacts_get", "arguments": {"contact_id": "P-31"}}'},
    {"role": "user", "content": 'Result of contacts_get: {"contact_id": "P-31", "name": "Ann Lee", "phone": "5512"}'},
    {"role": "assistant", "content": '{"final": "The phone number of Ann Lee is 5512."}'},
    {"role": "user", "content": "Show the meetings."},
    {"role": "assistant", "content": '{"name": "calendar_list_events", "arguments": {}}'},
)


class SmolPolicy(Policy):
    """SmolLM2-135M-Instruct, greedy: equal histories give equal actions, whatever was asked before.

    Its answers are forced into the tools' schemas. When an action comes a second time, only the final answer is offered, since
    such a model would repeat it for ever.

    Raises:
        MissingExtra: llama.cpp or the weights are not installed.
    """

    name = "smol"

    def __init__(self) -> None:
        self._server = smol_server()
        self._tools: list[Mapping[str, Any]] = []
        self._seed = 0

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        """Start a new episode."""
        self._tools, self._seed, self.usage = [*tools], seed, Usage()

    def act(self, history: Sequence[Message]) -> Action:
        """One constrained turn.

        Raises:
            Fault: llama.cpp refused the request.
        """
        self.usage = Usage()
        system, *turns = transcript(_instructions(self._tools), history)
        schema = action_schema([] if _repeats(history) else self._tools)
        answer = self._server.complete([system, *_EXAMPLES, *_fitting(turns)], schema, max_tokens=_MAX_TOKENS, seed=self._seed)
        try:
            completion = read_completion(answer)
        except BrokenAnswer as error:
            raise Fault(Blame.MODEL_SERVER, self.name, str(error)) from None
        self.usage = completion.usage
        return InvalidAction(completion.broken_off, completion.text) if completion.broken_off else read_action(completion.text)


def _instructions(tools: Sequence[Mapping[str, Any]]) -> str:
    """Names only: a schema in the prompt costs seconds, and decoding follows it anyway."""
    return "Reply with one JSON action. Tools:\n" + "\n".join(_line(one["function"]) for one in tools)


def _line(function: Mapping[str, Any]) -> str:
    names = ", ".join(function.get("parameters", {}).get("properties", {}))
    return f"- {function['name']}({names}): {(function.get('description') or '').strip().partition(chr(10))[0][:80]}"


def _fitting(turns: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """The request and as many of the latest steps as fit, each cut to its share: the oldest go first, an action with its result."""
    request, *steps = [{**one, "content": _cut(one["content"], _TURN if at else _REQUEST)} for at, one in enumerate(turns)]
    while sum(len(one["content"].encode()) for one in [request, *steps]) > _CONVERSATION:
        del steps[:2]
    return [request, *steps]


def _cut(text: str, most: int) -> str:
    return text.encode()[:most].decode(errors="ignore")


def _repeats(history: Sequence[Message]) -> bool:
    """Whether the last action was done before."""
    said = [(one.content, [(call.name, call.arguments) for call in one.tool_calls]) for one in history if one.role == "assistant"]
    return bool(said) and said[-1] in said[:-1]
