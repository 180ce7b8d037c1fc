"""Checks of the final answer, and checks that are a function of their author's."""

import importlib
from typing import Annotated, Literal

from pydantic import StringConstraints

from cowork_gym.graders.checks.check import Check, MatcherField, Verdict
from cowork_gym.graders.evidence import Evidence
from cowork_gym.graders.matchers import show

__all__ = ["Answer", "Python"]


class Answer(Check):
    """The final answer is as required. An answer that was never given matches only what asks for absence."""

    kind: Literal["answer"]
    matches: MatcherField

    def examine(self, evidence: Evidence) -> Verdict:
        """Match the answer."""
        expected = self.matches.describe()
        cited = () if evidence.answer is None else ("answer",)
        if self.matches.matches(evidence.answer):
            return Verdict(True, f"The answer is as required: {expected}.", cited)
        if evidence.answer is None:
            return Verdict(False, f"There is no final answer; expected {expected}.")
        return Verdict(False, f"The answer is not as required: expected {expected}, found {show(evidence.answer)}.", cited)


class Python(Check):
    """A function of the evidence, which returns whether it holds, or that and a reason."""

    kind: Literal["python"]
    entry: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
    """`module:function`."""

    def examine(self, evidence: Evidence) -> Verdict:
        """Ask the function.

        Raises:
            TypeError: It returned anything but a bool, or a bool and a text.
        """
        module, _, name = self.entry.partition(":")
        answer = getattr(importlib.import_module(module), name)(evidence)
        match answer:
            case bool():
                return Verdict(answer, f"{self.entry} says {'yes' if answer else 'no'}.")
            case (bool() as passed, str() as reason):
                return Verdict(passed, reason)
        raise TypeError(f"{self.entry} returned {show(answer)}: expected a bool, or a bool and a reason")
