"""The tool that hands a part of the work to a child run: a history and a budget of its own, in the same world."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from cowork_gym.core.canonical import check_value, encode
from cowork_gym.core.episode import Ending
from cowork_gym.core.errors import ErrorKind, Fault, ToolError, UserError, nearest
from cowork_gym.core.ids import generator
from cowork_gym.core.messages import Message
from cowork_gym.harness.inner.tool import HarnessTool
from cowork_gym.harness.middleware.middleware import Middleware
from cowork_gym.harness.parts import check_names
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.run import Asker, LiveRun, blamed
from cowork_gym.harness.view import View

__all__ = ["Delegate"]

_INSTRUCTION = (
    "You work on one part of a larger task, for an agent that sees nothing of your work except your last message. Do what you are asked to do and "
    "nothing else. When you are done, answer without calling a tool: that message is handed back."
)
_DESCRIPTION = (
    "Hand a part of the work to another agent with the same services. It knows only what you write here, and hands back one message: say what is to "
    "be done, with all ids and rules that it needs, and what you want to be told."
)


@dataclass(frozen=True, slots=True)
class Delegate(HarnessTool):
    """Starts a child run and hands back its final message. The parent's history gets nothing else of it.

    Raises:
        UserError: There is no turn, or no level of children; or a name in `tools` is empty, comes twice, or is this tool's own.
    """

    turns: int = 10
    """The most that a child may take."""
    tools: tuple[str, ...] | None = None
    """Of the parent's tools, those that a child is offered; None for all. This one goes by `depth` alone."""
    depth: int = 1
    """Levels of children: with 1, a child has no children."""
    middleware: tuple[Middleware, ...] | None = None
    """Around a child; None for the parent's."""
    policy: Callable[[], Policy] | None = None
    """Makes another policy for each child, whose tokens are then for audit only; None for one that the parent's policy spawns."""
    instruction: str = _INSTRUCTION
    """A child's system prompt."""
    name: ClassVar[str] = "delegate"

    def __post_init__(self) -> None:
        if self.turns < 1 or self.depth < 1:
            raise UserError(f"delegate: turns and depth are at least 1, not {self.turns} and {self.depth}")
        check_names(self.tools or (), "delegate: tools")
        if self.name in (self.tools or ()):
            raise UserError(f"delegate: tools: {self.name!r} goes by depth: write depth=2 for children that may have children")

    @property
    def schema(self) -> Mapping[str, Any]:
        """The tool in OpenAI's form."""
        properties = {"task": {"type": "string", "minLength": 1, "description": "What the other agent is to do."}}
        parameters = {"type": "object", "properties": properties, "required": ["task"], "additionalProperties": False}
        return {"type": "function", "function": {"name": self.name, "description": _DESCRIPTION, "parameters": parameters}}

    def manifest(self) -> Mapping[str, Any]:
        """Name and settings; of another policy its card."""
        other = self.policy and self.policy()
        return {
            "name": self.name, "turns": self.turns, "tools": None if self.tools is None else [*self.tools], "depth": self.depth,
            "middleware": None if self.middleware is None else [one.manifest() for one in self.middleware],
            "policy": {"name": other.name, "version": other.version, "tokenizer": other.tokenizer} if other else None,
            "instruction": self.instruction,
        }

    def lacks(self, policy: Policy, tools: Sequence[str]) -> str | None:
        """A policy that can spawn, tools that are offered, and what the children's own middleware needs."""
        for name in self.tools or ():
            if name not in tools:
                return f"the tool {name!r}, which is not offered, {nearest(name, tools)}"
        try:
            child = self.policy() if self.policy else policy.spawn()
        except UserError:
            return f"a policy that can play child runs, which {policy.name} cannot"
        missing = ((one.name, one.lacks(child, tools)) for one in self.middleware or ())
        return next((f"for its children's {name}, {what}" for name, what in missing if what is not None), None)

    def answer(self, run: LiveRun, arguments: Mapping[str, Any], dispatch: str) -> str:
        """What the child handed back, and why it ended. A child that ends without an answer hands back null.

        Raises:
            ToolError: There is no task.
            Fault: The child's policy failed, or the world under it.
        """
        child = self._begin(run, Asker(run.number, run.last, dispatch, _read(arguments)))
        try:
            while child.spent.turns < self.turns and child.turn():
                pass
            if child.open:
                child.end(Ending.TURNS)
        except Fault:
            child.end(Ending.FAULT)
            raise
        finally:
            child.finish()
        if (fault := run.session.progress.fault) is not None:
            raise Fault(fault.blame, fault.where, fault.message)
        return encode({"result": child.result, "ending": child.ending})

    def _begin(self, run: LiveRun, asker: Asker) -> LiveRun:
        """A child with its policy reset and nothing said."""
        tools = self._offered(run)
        seed = generator(run.seed, "child", len(run.crew)).getrandbits(31)
        with blamed(self.name):
            policy = self.policy() if self.policy else run.policy.spawn()
            policy.reset(tools, seed)
        view = View((Message("system", self.instruction), Message("user", asker.handoff)))
        chain = run.middleware if self.middleware is None else self.middleware
        audit = f"played by {policy.name}, not by the episode's policy" if self.policy else ""
        return LiveRun(run.session, policy, view, tools, chain, crew=run.crew, asker=asker, watch=run.watch, seed=seed, audit=audit)

    def _offered(self, run: LiveRun) -> list[Mapping[str, Any]]:
        """The schemas of a child's tools."""
        level, asker = 1, run.asker
        while asker is not None:
            level, asker = level + 1, run.crew[asker.run].asker
        named = {one["function"]["name"]: one for one in run.tools}
        return [
            one for name, one in named.items()
            if (level < self.depth if name == self.name else self.tools is None or name in self.tools)
        ]


def _read(arguments: Mapping[str, Any]) -> str:
    task = arguments.get("task")
    if set(arguments) != {"task"} or not isinstance(task, str) or not task.strip():
        raise ToolError("delegate takes exactly a task, a text that is not empty", ErrorKind.VALIDATION)
    check_value(task, what="delegate: the task")
    return task
