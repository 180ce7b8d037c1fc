"""A judge that remembers: what another judge said to the same question, in one file for each vote."""

import logging
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from cowork_gym.core.canonical import digest
from cowork_gym.core.errors import UserError
from cowork_gym.core.files import write_whole
from cowork_gym.graders.judge import Judge, Opinion, Question

__all__ = ["CachedJudge"]

_LOG = logging.getLogger(__name__)


class _Entry(BaseModel):
    """The form of a file: whom it is from, what was asked, and what was said."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    model: str
    question: str
    vote: int
    level: int
    reason: str


class CachedJudge:
    """Another judge, asked once for each question, model and vote. A file that is not what was written is asked for and written again.

    Args:
        judge: Who answers what is not known yet.
        folder: Where the answers are kept; made if need be.

    Raises:
        UserError: The folder cannot be made.
    """

    def __init__(self, judge: Judge, folder: str | Path) -> None:
        self.name = judge.name
        self._judge, self._folder = judge, Path(folder)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{folder}: no folder to keep verdicts in: {error.strerror}") from None

    def ask(self, question: Question, vote: int) -> Opinion:
        """What the judge says, or said.

        Raises:
            Fault: It was not asked before, and cannot answer now. That is not kept.
        """
        path = self._folder / f"{digest([question.digest, self.name, vote])}.json"
        known = self._read(path, question, vote)
        if known is not None:
            return known
        opinion = self._judge.ask(question, vote)
        entry = _Entry(model=self.name, question=question.digest, vote=vote, level=opinion.level, reason=opinion.reason)
        try:
            write_whole(path, entry.model_dump_json().encode())
        except (OSError, ValueError) as error:  # what was said counts, kept or not
            _LOG.warning("%s: the verdict is not kept: %s", path, error)
        return opinion

    def _read(self, path: Path, question: Question, vote: int) -> Opinion | None:
        try:
            entry = _Entry.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            return None
        asked = (entry.model, entry.question, entry.vote) == (self.name, question.digest, vote)
        return Opinion(entry.level, entry.reason) if asked and 0 <= entry.level < len(question.scale) else None
