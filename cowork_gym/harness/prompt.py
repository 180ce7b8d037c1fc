"""The system prompt of a composition: a text of the person's own, and what the skills say of themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cowork_gym.core.messages import Message
from cowork_gym.harness.skills import Skill

__all__ = ["Prompt"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What stands before the request."""

    text: str = ""

    def manifest(self) -> Mapping[str, Any]:
        """The text itself: it is what the policy reads."""
        return {"text": self.text}

    def head(self, request: Sequence[Message], skills: Sequence[Skill]) -> tuple[Message, ...]:
        """The head of a view: the system prompt, if there is anything to say, and the request."""
        parts = [self.text] if self.text else []
        if skills:
            listed = "\n".join(f"- {one.name}: {one.description}" for one in skills)
            parts.append(f"Skills, whose instructions the tool read_skill shows:\n{listed}")
        return (*([Message("system", "\n\n".join(parts))] if parts else []), *request)
