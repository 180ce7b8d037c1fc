"""Compositions: a harness put together from a loop, a prompt, tools, skills and middleware, and what is recorded of it.

`h = Compose(loop, prompt, tools, skills, middleware_1..k)`, Occamy-1.0, section 4.2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from cowork_gym.core.canonical import check_value
from cowork_gym.core.errors import ToolError, UserError, nearest
from cowork_gym.core.trajectory import Composition
from cowork_gym.harness.inner.read_skill import ReadSkill
from cowork_gym.harness.inner.tool import HarnessTool, lacks_name
from cowork_gym.harness.loops import Loop, React
from cowork_gym.harness.middleware.middleware import Middleware
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.prompt import Prompt
from cowork_gym.harness.skills import Skill

__all__ = ["PLAIN", "Harness", "compose"]


@dataclass(frozen=True)
class Harness:
    """A composition. Equal manifests mean equal behaviour."""

    loop: Loop
    prompt: Prompt = Prompt()  # noqa: RUF009 - a frozen value
    only: tuple[str, ...] | None = None
    """The task's tools that are offered, by name; None for all of them."""
    inner: tuple[HarnessTool, ...] = ()
    """Tools of the harness itself."""
    skills: tuple[Skill, ...] = ()
    middleware: tuple[Middleware, ...] = ()
    sampled: Mapping[str, Any] | None = None
    """How a sampler came to choose it: seed and choice."""

    @property
    def name(self) -> str:
        """How tables call it, such as `react+summary`."""
        parts = [self.loop.name, *(one.name for one in self.middleware), *(one.name for one in self.inner)]
        return "+".join([*parts, *(["skills"] if self.skills else []), *(["prompt"] if self.prompt.text else [])])

    @cached_property
    def tools(self) -> tuple[HarnessTool, ...]:
        """The tools that the harness answers, the one that shows skills included."""
        return (*self.inner, *([ReadSkill(self.skills)] if self.skills else []))

    @cached_property
    def composition(self) -> Composition:
        """The manifest with its hash, as episodes keep it."""
        manifest = {
            "loop": self.loop.manifest(), "prompt": self.prompt.manifest(), "only": None if self.only is None else [*self.only],
            "tools": [one.manifest() for one in self.inner], "skills": [one.manifest() for one in self.skills],
            "middleware": [one.manifest() for one in self.middleware], **({} if self.sampled is None else {"sampled": self.sampled}),
        }
        try:
            check_value(manifest, what="its manifest")
        except ToolError as error:
            raise UserError(f"the harness {self.name} cannot be used: {error}") from None
        return Composition(manifest)

    def offered(self, schemas: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The tools that a policy is offered: of the task's those that are exposed, then the harness's own.

        Raises:
            UserError: A tool that is to be exposed is none of the task's, or one of the harness's has a name that the task uses.
        """
        known = {one["function"]["name"]: one for one in schemas}
        for name in self.only or ():
            if name not in known:
                raise UserError(f"the harness exposes the tool {name!r}, which the task does not have, {nearest(name, known)}")
        for tool in self.tools:
            if tool.name in known:
                raise UserError(f"the harness's tool {tool.name!r} has the name of one of the task's")
        exposed = [one for name, one in known.items() if self.only is None or name in self.only]
        return [*exposed, *(tool.schema for tool in self.tools)]

    def check(self, policy: Policy, schemas: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """See that everything is there that the parts need, before anything is played.

        Returns:
            The tools that the policy is offered.

        Raises:
            UserError: Something is missing; the text names the part and what it needs.
        """
        offered = self.offered(schemas)
        names = [one["function"]["name"] for one in offered]
        parts: list[Loop | Middleware | HarnessTool] = [self.loop, *self.middleware, *self.tools]
        for one in parts:
            unnamed = lacks_name(one, names) if isinstance(one, HarnessTool) else None
            if (missing := unnamed or one.lacks(policy, names)) is not None:
                raise UserError(f"the harness {self.name} cannot be used: {one.name} needs {missing}")
        return offered

    def with_middleware(self, *middleware: Middleware) -> "Harness":
        """The same with another chain."""
        return replace(self, middleware=middleware)


def compose(
    loop: Loop | None = None, *, prompt: str | Prompt = "", only: Sequence[str] | None = None, tools: Sequence[HarnessTool] = (),
    skills: Sequence[Skill] = (), middleware: Sequence[Middleware] = (),
) -> Harness:
    """A harness from its parts.

    Args:
        loop: In which order the policy is asked; by default it acts until its final answer.
        prompt: The system prompt.
        only: The task's tools that are offered; None for all of them.
        tools: Tools of the harness itself, such as `Delegate`.
        skills: What `read_skills` gives.
        middleware: In order: the first stands outermost, and of several that want to rewrite the history the first one does.

    Raises:
        UserError: Two parts have the same name where that cannot be.
    """
    names = [one.name for one in tools]
    for at, name in enumerate(names):
        if name in names[:at]:
            raise UserError(f"two tools of the harness are called {name!r}")
    return Harness(
        React() if loop is None else loop, Prompt(prompt) if isinstance(prompt, str) else prompt, None if only is None else tuple(only), tuple(tools),
        tuple(skills), tuple(middleware),
    )


PLAIN = compose()
"""The policy alone: no prompt, no middleware, all of the task's tools."""
