"""The spaces of the environment: what an agent may send, and what it may see. Any Unicode text fits both."""

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from typing import Any, NoReturn

import gymnasium
from gymnasium.vector.utils import create_shared_memory
from numpy.random import Generator

from cowork_gym.core.canonical import check_value
from cowork_gym.core.errors import ToolError, UserError
from cowork_gym.core.ids import generator
from cowork_gym.core.messages import Message, final
from cowork_gym.envs.observation import Observation
from cowork_gym.envs.sampling import sample_action
from cowork_gym.envs.turns import read_action
from cowork_gym.mock_services.kit.tools import Tool

__all__ = ["ActionSpace", "ObservationSpace"]

_TRIES = 100
"""Draws until one fits: validators may ask for more than a schema can say."""


class ActionSpace(gymnasium.Space[Any]):
    """Assistant messages: calls of known tools with arguments that fit, or a final answer.

    A member is what `CoworkEnv.step` takes and the world does not refuse at its door: a `Message`, a mapping in OpenAI's form, or
    its JSON text.

    Args:
        tools: The permitted tools.
        seed: For `sample`.
    """

    def __init__(self, tools: Iterable[Tool], seed: int | Generator | None = None) -> None:
        super().__init__(seed=seed)
        self._tools = {one.name: one for one in tools}

    @cached_property
    def _forms(self) -> list[dict[str, Any]]:
        """For sampling; `schemas` gives copies, which take a while to make."""
        return self.schemas

    @property
    def schemas(self) -> list[dict[str, Any]]:
        """The permitted tools in OpenAI's form."""
        return [one.schema for one in self._tools.values()]

    @property
    def is_np_flattenable(self) -> bool:
        """Never: a message is no array."""
        return False

    def contains(self, x: Any) -> bool:
        """Whether the environment would take this action and find its tools and arguments in order."""
        try:
            for call in read_action(x).tool_calls:
                arguments = call.decoded()
                check_value(arguments)
                self._tools[call.name].validate(arguments)
        except (ToolError, KeyError):
            return False
        return True

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> Message:
        """A random message: mostly one valid call, sometimes two, now and then a final answer.

        A tool whose arguments must be more than their schema says is sampled as often as its `examples` allow.

        Args:
            mask: A flag for each tool, in order: whether it may be called.
            probability: A probability for each tool, in order.

        Raises:
            ValueError: Both are given, or there is not one number a tool.
        """
        if mask is not None and probability is not None:
            raise ValueError("give a mask or probabilities, not both")
        weights = mask if mask is not None else probability
        if weights is not None and len(weights) != len(self._tools):
            raise ValueError(f"give one number for each of the {len(self._tools)} tools, not {len(weights)}")
        own = generator(int(self.np_random.integers(2**63)))
        drawn = (sample_action(self._forms, own, weights=None if weights is None else [float(one) for one in weights]) for _ in range(_TRIES))
        return next((one for one in drawn if one in self), final(""))

    def to_jsonable(self, sample_n: Iterable[Any]) -> list[dict[str, Any]]:
        """Actions in OpenAI's form. Arguments stay what they are, a mapping or a text."""
        return [_jsonable(read_action(one)) for one in sample_n]

    def from_jsonable(self, sample_n: Sequence[Any]) -> list[Any]:
        """Messages from what `to_jsonable` gave."""
        return [Message.parse(one) for one in sample_n]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActionSpace) and self._forms == other._forms

    def __repr__(self) -> str:
        return f"ActionSpace({', '.join(self._tools)})"

    def __deepcopy__(self, memo: dict[int, Any]) -> "ActionSpace":
        return ActionSpace(self._tools.values(), deepcopy(self._np_random, memo))

    def __reduce__(self) -> tuple[Any, ...]:  # validators cannot be pickled; the functions that they are made from can
        return _rebuild, ([(one.service, one.function) for one in self._tools.values()], self._np_random)


class ObservationSpace(gymnasium.Space[Observation]):
    """Messages to the agent, any number of them: what the user says and what tools answer, in any Unicode text.

    Args:
        seed: For `sample`.
    """

    def __init__(self, seed: int | Generator | None = None) -> None:
        super().__init__(seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Never: text of any length is no array."""
        return False

    def contains(self, x: Any) -> bool:
        """Whether this is a tuple of the user's and tools' messages whose text can be encoded."""
        return isinstance(x, tuple) and all(isinstance(one, Message) and _is_shown(one) for one in x)

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> Observation:
        """Up to three random messages.

        Raises:
            ValueError: A mask or a probability is given: there is nothing to choose among.
        """
        if mask is not None or probability is not None:
            raise ValueError("an observation space takes neither mask nor probability")
        return Observation(self._message() for _ in range(self.np_random.integers(1, 4)))

    def _message(self) -> Message:
        if self.np_random.random() < 0.5:
            return Message("user", self._text())
        return Message("tool", self._text(), (), f"call_{self.np_random.integers(1, 100)}", f"tool_{self.np_random.integers(10)}")

    def _text(self) -> str:
        size, reach = self.np_random.integers(40), self.np_random.choice([0x80, 0x3000, 0x110000])
        return "".join(chr(point) for point in self.np_random.integers(1, reach, size) if not 0xD800 <= point < 0xE000)

    def to_jsonable(self, sample_n: Iterable[Observation]) -> list[list[dict[str, Any]]]:
        """Observations in OpenAI's form."""
        return [[one.wire() for one in observation] for observation in sample_n]

    def from_jsonable(self, sample_n: Sequence[Any]) -> list[Observation]:
        """Observations from what `to_jsonable` gave."""
        return [Observation(Message.parse(one) for one in forms) for forms in sample_n]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObservationSpace)

    def __repr__(self) -> str:
        return "ObservationSpace()"


def _rebuild(functions: Iterable[tuple[str, Any]], state: Generator | None) -> ActionSpace:
    return ActionSpace([Tool(service, function) for service, function in functions], state)


def _jsonable(action: Message) -> dict[str, Any]:
    form = action.wire()
    for call, wire in zip(action.tool_calls, form.get("tool_calls", ()), strict=True):
        if isinstance(call.arguments, Mapping):
            wire["function"]["arguments"] = json.loads(wire["function"]["arguments"])
    return form


def _is_shown(message: Message) -> bool:
    texts = [message.content, message.tool_call_id or "", message.name or ""]
    return message.role in {"user", "tool"} and not message.tool_calls and all(isinstance(one, str) and _can_encode(one) for one in texts)


def _can_encode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@create_shared_memory.register(ObservationSpace)
def _refuse_shared_memory(space: ObservationSpace, n: int = 1, ctx: Any = None) -> NoReturn:
    raise UserError(
        "observations are texts of any length, which a shared array cannot hold: pass shared_memory=False to AsyncVectorEnv "
        "(make_vec: vector_kwargs={'shared_memory': False}), or leave vectorization_mode to the environment"
    )
