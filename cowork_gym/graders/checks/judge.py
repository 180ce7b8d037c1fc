"""The check that asks a judge: a rubric and a scale for what an agent wrote. Nothing written, nothing asked."""

from collections.abc import Iterable, Mapping
from statistics import median_low
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictInt, StringConstraints, model_validator

from cowork_gym.core.canonical import encode
from cowork_gym.core.html import shorten
from cowork_gym.graders.checks.check import Check, Clause, Reference, TableName, Verdict
from cowork_gym.graders.evidence import FILES, Evidence, label
from cowork_gym.graders.judge import NO_JUDGE, Judge, Question
from cowork_gym.graders.matchers import show

__all__ = ["Judged", "Subject"]

_LONGEST = 20_000  # a judge's context ends somewhere, and an agent must not escape its grade by writing beyond that
_LEVELS = range(2, 11)
_MOST_VOTES = 9
_SHOWN = 500
_Seen = Annotated[str, StringConstraints(pattern=r"\S")]


def _scale(value: Any) -> Any:
    """The meanings in order of their levels, which YAML has as texts."""
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a mapping from levels to what they mean, not {show(value)}")
    meanings = {str(level): meaning for level, meaning in value.items()}
    levels = [str(level) for level in range(len(value))]
    if len(value) not in _LEVELS or meanings.keys() != {*levels}:
        raise ValueError(f"expected {_LEVELS[0]} to {_LEVELS[-1]} levels, numbered 0, 1 and so on, not {', '.join(map(str, value)) or 'none'}")
    return tuple(meanings[level] for level in levels)


def _sound(text: str) -> str:
    """The text as UTF-8 can carry it: two surrogates that make a pair are one letter, a lone one is a replacement character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Subject(Clause):
    """What is judged: a file, or a field of a row. Neither means the answer, which its author writes as `answer`."""

    file: Annotated[str, StringConstraints(min_length=1)] | None = None
    table: TableName | None = None
    key: Annotated[str, StringConstraints(min_length=1)] | None = None
    field: Annotated[str, StringConstraints(min_length=1)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _written(cls, value: Any) -> Any:
        if value == "answer":
            return {}
        if isinstance(value, Subject) or (isinstance(value, Mapping) and value):
            return value
        raise ValueError(f"expected answer, or a mapping with file, or with table, key and field, not {show(value)}")

    @model_validator(mode="after")
    def _whole(self) -> "Subject":
        row = [one is not None for one in (self.table, self.key, self.field)]
        if any(row) and (self.file is not None or not all(row)):
            raise ValueError("expected either file, or table, key and field")
        return self

    @property
    def name(self) -> str:
        """As a reason says it."""
        if self.table is not None:
            return f"{self.table}/{self.key}.{self.field}"
        return "the answer" if self.file is None else f"the file {self.file}"

    def text(self, evidence: Evidence) -> str | None:
        """What there is to judge in the final state; None when there is nothing. A field that holds no text is judged as JSON."""
        if self.file is not None:
            return evidence.file(self.file)
        if self.table is None or self.key is None or self.field is None:
            return evidence.answer
        value = (evidence.row(self.table, self.key) or {}).get(self.field)
        return value if isinstance(value, str) else encode(value) if value else None

    def untouched(self, text: str, evidence: Evidence) -> bool:
        """Whether the world has this text by itself, at its start or after one of its moves."""
        still = evidence.untouched()
        moments = (still.at(stage + 1) for stage in range(len(evidence.given) + 1))
        return any(moment is not None and self.text(moment) == text for moment in moments)

    def cited(self, evidence: Evidence) -> tuple[str, ...]:
        """The evidence that a verdict rests on."""
        if self.table is not None:
            return (label(self.table, self.key or ""),)
        if self.file is not None:
            return (label(FILES, self.file),)
        return () if evidence.answer is None else ("answer",)


class Judged(Check):
    """A judge finds that what the agent wrote reaches a level of a scale.

    What is missing, blank, longer than a judge reads, or as it would be had nobody done anything fails without a question. So a task
    can be loaded without a judge, and doing nothing costs no call.
    """

    kind: Literal["judge"]
    rubric: _Seen
    scale: Annotated[tuple[_Seen, ...], BeforeValidator(_scale)]
    """What each level means, from 0 up."""
    at_least: Annotated[StrictInt, Field(ge=1)]
    """The level from which it holds."""
    subject: Subject
    votes: Annotated[StrictInt, Field(ge=1, le=_MOST_VOTES)] = 1
    """How many opinions are asked for; the median of their levels counts."""

    @model_validator(mode="after")
    def _possible(self) -> "Judged":
        if self.at_least >= len(self.scale):
            raise ValueError(f"at_least is a level from 1 to {len(self.scale) - 1}, not {self.at_least}")
        if self.votes % 2 == 0:
            raise ValueError(f"votes is an odd number, so that there is a middle one, not {self.votes}")
        return self

    def examine(self, evidence: Evidence) -> Verdict:
        """The verdict where there is nothing to judge; a fault where there is, since nobody is there to judge it."""
        return self.consult(evidence, NO_JUDGE)

    def consult(self, evidence: Evidence, judge: Judge) -> Verdict:
        """Ask the judge about what the agent wrote."""
        cited, text = self.subject.cited(evidence), self.subject.text(evidence)
        if text is None or not text.strip():
            return Verdict(False, f"There is nothing to judge: {self.subject.name} has no text.", cited)
        if self.subject.untouched(text, evidence):
            return Verdict(False, f"There is nothing to judge: {self.subject.name} is as it would be had nobody done anything.", cited)
        if len(text) > _LONGEST:
            return Verdict(False, f"It was not judged: {self.subject.name} is longer than {_LONGEST:,} characters.", cited)
        question = Question(self.rubric, self.scale, _sound(text))
        opinions = [judge.ask(question, vote) for vote in range(self.votes)]
        level = median_low(one.level for one in opinions)
        why = next(one.reason for one in opinions if one.level == level)
        passed, needed = level >= self.at_least, f"level {level} of {len(self.scale) - 1}, at least {self.at_least} required"
        return Verdict(passed, f"{judge.name} finds {self.subject.name} on {needed}: {shorten(' '.join(why.split()), _SHOWN)}", cited)

    def references(self) -> Iterable[Reference]:
        """The file or row."""
        if self.subject.file is not None:
            yield Reference("subject.file", "file", self.subject.file)
        if self.subject.table is not None:
            yield Reference("subject.key", "row", self.subject.table, self.subject.key or "")
