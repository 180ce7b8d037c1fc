"""What a check is: a frozen question about the evidence, with a verdict that says why."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, StringConstraints

from cowork_gym.core.errors import Blame, Fault
from cowork_gym.graders.evidence import Evidence, Row
from cowork_gym.graders.judge import NO_JUDGE, Judge
from cowork_gym.graders.matchers import Matcher, mismatches, parse_matcher, show
from cowork_gym.graders.numerals import exact

__all__ = ["Check", "Clause", "CollectionName", "Fields", "MatcherField", "Reference", "TableName", "ToolName", "Verdict", "nearest_record", "times"]


def _weight(value: Any) -> Decimal:
    number = exact(value)
    if number is None:
        raise ValueError(f"expected a number, not {show(value)}")
    return number


MatcherField = Annotated[Matcher, PlainValidator(parse_matcher)]
"""A matcher, as its author wrote it."""
Fields = dict[str, MatcherField]
"""Matchers by the name of the field that they ask about."""
Weight = Annotated[Decimal, BeforeValidator(_weight), Field(ge=0, le=1)]
ToolName = Annotated[str, StringConstraints(min_length=1)]
TableName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$")]
"""Such as `helpdesk.tickets`."""
CollectionName = TableName
"""An audit collection, such as `helpdesk.updated_tickets`."""


class Verdict(NamedTuple):
    """What a check found."""

    passed: bool
    reason: str
    """One sentence."""
    evidence: tuple[str, ...] = ()
    """What it rests on, such as `ledger:3`."""


class Reference(NamedTuple):
    """Something of the world that a check names, so that a loader can see whether it exists."""

    where: str
    """The field that names it."""
    what: Literal["tool", "table", "row", "collection", "file"]
    """A file may be one that the agent is to write; everything else must exist."""
    name: str
    """The tool, table, collection or path; for a row its table."""
    key: str = ""
    """For a row: its key."""


class Clause(BaseModel):
    """A frozen piece of a grading contract that takes no unknown key."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Check(Clause, ABC):
    """A question about the evidence. Each kind answers it in `examine`."""

    kind: str
    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]+$")]
    weight: Weight = Decimal(0)
    """What reaching it earns."""
    why: str | None = None
    """Why it matters: added to the reason when it fails."""
    stage: Annotated[int, Field(ge=1)] | None = None
    """The part of a task of several parts at whose end it is asked; None for the end of the episode."""

    @abstractmethod
    def examine(self, evidence: Evidence) -> Verdict:
        """The verdict, from the evidence alone."""

    def consult(self, evidence: Evidence, judge: Judge) -> Verdict:
        """The verdict of a check that may ask a judge; most ask none."""
        return self.examine(evidence)

    def references(self) -> Iterable[Reference]:
        """What the check names, each with the field of the check that names it."""
        return ()

    def evaluate(self, evidence: Evidence, judge: Judge = NO_JUDGE) -> Verdict:
        """The verdict, with `why` where it failed.

        Raises:
            Fault: The check itself failed, or its judge. The blame is the grader's, or that of the judge's server.
        """
        asked = evidence if self.stage is None else evidence.at(self.stage)
        if asked is None:
            return Verdict(False, f"Part {self.stage} of the task was never reached.")
        try:
            verdict = self.consult(asked, judge)
        except Fault:
            raise
        except (Exception, SystemExit) as error:  # a function that exits must not end the episode's process
            raise Fault(Blame.GRADER, self.id, f"{type(error).__name__}: {error}") from error
        return verdict if verdict.passed or self.why is None else verdict._replace(reason=f"{verdict.reason} ({self.why})")


def times(count: int) -> str:
    """A count as a reason says it: `once`, `3 times`."""
    return "once" if count == 1 else f"{count} times"


def nearest_record(fields: Mapping[str, Matcher], records: Iterable[tuple[str, Row]]) -> tuple[str, str]:
    """Of records none of which matches, the one that comes nearest.

    Args:
        fields: What was required.
        records: Each with its label; the first of equally near ones counts. At least one.

    Returns:
        Its label, and what keeps it from matching.
    """
    found = [(label, mismatches(fields, record)) for label, record in records]
    label, problems = min(found, key=lambda one: len(one[1]))
    return label, "; ".join(problems)
