"""The build: from folders of sealed records to a data set. One episode is in memory at a time; equal input gives equal bytes."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from cowork_gym.core.canonical import digest
from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import UserError
from cowork_gym.core.record import read_episode
from cowork_gym.core.task import Task
from cowork_gym.core.wording import counted
from cowork_gym.trainers.data.dialogue import Dialogue
from cowork_gym.trainers.data.sft.attempts import Attempt, Collection, collect, survey
from cowork_gym.trainers.data.sft.catalog import Catalog
from cowork_gym.trainers.data.sft.choice import Authorisation, choose
from cowork_gym.trainers.data.sft.converter import Verdict, convert
from cowork_gym.trainers.data.sft.data_card import data_card
from cowork_gym.trainers.data.sft.dialogues import build_dialogues
from cowork_gym.trainers.data.sft.manifest import Authorship, authorship_of, describe, sha256_of, write_manifest
from cowork_gym.trainers.data.sft.output import CARD, LINES, PARQUET, Rows, appearing, line_of, need_parquet, read_dialogues
from cowork_gym.trainers.data.sft.pools import draw_evenly
from cowork_gym.trainers.data.sft.recipes import Recipe
from cowork_gym.trainers.data.sft.sanitise import Action, sanitise
from cowork_gym.trainers.data.sft.statistics import Statistics
from cowork_gym.trainers.data.sft.wire import is_text, row_of

__all__ = ["CountTokens", "Order", "Report", "build"]

_STAGED = "staged.jsonl"
"""Rows before pools are drawn from."""

CountTokens: TypeAlias = Callable[[Dialogue], "tuple[int, int] | str"]
"""Says how many tokens a row has and how many of them are learned, or why it is no sample."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be built."""

    runs: tuple[str | Path, ...]
    """Rollouts' directories, other folders, or files; of copies the first counts."""
    out: Path
    """The data set's folder."""
    recipe: Recipe = field(default_factory=Recipe)
    replacements: tuple[str | Path, ...] = ()
    """Collections whose tasks were executed again: their earlier records do not count."""
    tasks: tuple[str | Path | Task, ...] = ()
    """Tasks, or packages, beside those that are registered."""
    authorisation: Authorisation = field(default_factory=Authorisation)
    authorship: Authorship = field(default_factory=Authorship)
    seed: int = 0
    """Decides what is drawn from pools, and nothing else."""
    count: CountTokens | None = None
    """Counts tokens; None counts none."""
    tokenizer: str = ""
    """How the manifest calls what counts."""


class Report(NamedTuple):
    """What came of a build."""

    manifest: Mapping[str, Any]
    """Without its sources."""
    unreadable: tuple[str, ...]
    """A line for each file that is no sealed episode."""

    @property
    def counts(self) -> Mapping[str, Any]:
        """Records, and what became of them."""
        found: Mapping[str, Any] = self.manifest["counts"]
        return found


def build(order: Order) -> Report:
    """Build a data set.

    Raises:
        UserError: There is no such folder, nothing is left, the data set is there already, or a release is not installed.
        MissingExtra: Parquet cannot be written, or a record's tokens not be read.
        PackageError: A record was changed while it was read.
        OSError: A file cannot be read or written.
    """
    need_parquet()
    made = _Build(order)
    with appearing(order.out) as folder:
        made.convert(folder / _STAGED)
        kept = made.draw()
        if not made.rows(kept):
            raise UserError(f"nothing is left of {counted(made.files, 'record')}: {_told(made.counts(kept), made.unreadable)}")
        report = made.write(folder, kept)
        (folder / _STAGED).unlink()
    return report


class _Build:
    """A build under way."""

    def __init__(self, order: Order) -> None:
        self._order, self._recipe = order, order.recipe
        self._catalog = Catalog(order.tasks)
        self._collections = collect(order.runs, order.replacements)
        found = survey(self._collections)
        self.files, self.unreadable = len(found.attempts) + len(found.unreadable), found.unreadable
        card = self._catalog.card
        self._chosen = choose(
            found.attempts, self._collections, lambda one: card(one.task, one.release_id), self._recipe, order.authorisation,
        )
        self._rejected, self._sanitised, self._pools = Counter[str](), Counter[str](), dict[str, Mapping[str, int]]()
        self._owners = array("q")  # of each staged row, which of the chosen attempts it is of

    def convert(self, staged: Path) -> None:
        """Convert what was chosen, and lay it aside."""
        seen = set[str]()
        with staged.open("wb") as lines:
            for number, attempt in enumerate(self._chosen.attempts):
                for dialogue in self._dialogues(attempt):
                    row = row_of(dialogue)
                    key = digest([row["messages"], row["tools"]]) if self._recipe.distinct else ""
                    if not is_text(row):
                        self._rejected["not_unicode"] += 1
                    elif key and key in seen:
                        self._rejected["same_conversation"] += 1
                    else:
                        seen.add(key)
                        lines.write(line_of(row) + b"\n")
                        self._owners.append(number)

    def _dialogues(self, attempt: Attempt) -> Iterator[Dialogue]:
        """The dialogues of an attempt that are left after sanitisation and the converter's limits."""
        episode = _read(attempt, self._collections[attempt.collection])
        built = build_dialogues(episode, self._catalog, self._recipe.shape, trial=attempt.trial)
        self._rejected.update(built.refused)
        for one in built.dialogues:
            dialogue = self._mended(episode, one)
            if dialogue is None:
                continue
            if self._recipe.limits is not None:
                dialogue, verdict = convert(dialogue, self._recipe.limits)
                if verdict is not Verdict.KEEP:
                    self._rejected[verdict.value] += 1
                    continue
            yield dialogue

    def _mended(self, episode: Episode, dialogue: Dialogue) -> Dialogue | None:
        if self._recipe.examine is None:
            return dialogue
        found = self._recipe.examine(episode, dialogue)
        finding, repair = found if isinstance(found, tuple) else (found, None)
        mended = sanitise(dialogue, finding, repair)
        if mended.action is not Action.KEEP:
            self._sanitised[f"{mended.action.value}: {mended.why}" if mended.why else mended.action.value] += 1
        return mended.dialogue

    def draw(self) -> frozenset[int]:
        """The attempts whose rows stay."""
        owners, plan = sorted({*self._owners}), self._recipe.pools
        if plan is None or not owners:
            return frozenset(owners)
        drawn = draw_evenly([self._pools_of(self._chosen.attempts[one], plan.by) for one in owners], seed=self._order.seed, each=plan.each)
        self._pools = {name: {"episodes": drawn.available[name], "drawn": drawn.taken[name]} for name in drawn.available}
        return frozenset(owners[at] for at in drawn.kept)

    def _pools_of(self, attempt: Attempt, by: str) -> Sequence[str]:
        card = self._catalog.card(attempt.task, attempt.release_id)
        if by == "task" or card is None:
            return (attempt.task,) if by == "task" else ()
        return card.capabilities if by == "capability" else (card.category,)

    def rows(self, kept: frozenset[int]) -> int:
        """How many rows stay."""
        return sum(owner in kept for owner in self._owners)

    def counts(self, kept: frozenset[int]) -> dict[str, Any]:
        """What became of records and dialogues."""
        left_out = dict(self._chosen.counts)
        if self._pools:
            left_out |= {"not_drawn": lost} if (lost := len({*self._owners}) - len(kept)) else {}
        return {
            "records": self.files, "unreadable": len(self.unreadable), "left_out": dict(sorted(left_out.items())),
            "chosen": len(self._chosen.attempts), "rejected": dict(sorted(self._rejected.items())),
            "sanitised": dict(sorted(self._sanitised.items())), "labels": dict(self._chosen.labels), "pools": self._pools,
            "rows": self.rows(kept),
        }

    def write(self, folder: Path, kept: frozenset[int]) -> Report:
        """Write rows, manifest and card."""
        order, statistics, rows = self._order, Statistics(counted=self._order.count is not None), Counter[int]()
        with Rows(folder) as files:
            for owner, dialogue in zip(self._owners, read_dialogues(folder / _STAGED), strict=True):
                if owner in kept:
                    row = row_of(dialogue)
                    files.write(line_of(row), row)
                    statistics.add(dialogue, order.count(dialogue) if order.count is not None else None)
                    rows[owner] += 1
        used = [(self._chosen.attempts[owner], rows[owner]) for owner in sorted(rows)]
        versions: dict[str, set[str]] = {}
        for one, _ in used:
            versions.setdefault(one.agent, set()).add(one.version)
        manifest = describe(
            {**self._recipe.settings(), "seed": order.seed, "tokenizer": order.tokenizer or None}, self.counts(kept), statistics,
            self._collections, authorisation=order.authorisation, authorship=authorship_of(statistics, order.authorisation, order.authorship),
            use=self._recipe.use, files={LINES: files.sha256, PARQUET: sha256_of(folder / PARQUET)}, versions=versions,
        )
        write_manifest(folder, manifest, used, self._collections)
        (folder / CARD).write_text(data_card(manifest), encoding="utf-8")
        return Report(manifest, self.unreadable)


def _read(attempt: Attempt, collection: Collection) -> Episode:
    """The episode of an attempt, as it was when it was chosen."""
    file = collection.root / attempt.file
    episode = read_episode(file)
    if episode.grade is None or episode.grade.seal != attempt.seal:
        raise UserError(f"{file}: was changed while the data set was built")
    return episode


def _told(counts: Mapping[str, Any], unreadable: Sequence[str]) -> str:
    found: Iterable[tuple[str, int]] = [
        ("unreadable", counts["unreadable"]), *counts["left_out"].items(), *counts["rejected"].items(), *counts["sanitised"].items(),
    ]
    first = f"; the first that could not be read is {unreadable[0]}" if unreadable else ""
    return (", ".join(f"{name} {count}" for name, count in found if count) or "there were none") + first
