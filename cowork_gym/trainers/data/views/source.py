"""What is looked at: a sample of a data set, or a segment of a sealed episode with the ids that were sampled."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.core.record import read_episode, seal
from cowork_gym.core.trajectory import Run, Segment
from cowork_gym.core.wording import counted
from cowork_gym.harness.policies.local.agent import SMOLLM2
from cowork_gym.harness.policies.local.weights import load_tokenizer, smollm2_folder
from cowork_gym.harness.tokens import SMOLLM2_TOOLS, ChatFormat, JinjaFormat
from cowork_gym.trainers.data.dialogue import Dialogue, Source, Utterance
from cowork_gym.trainers.data.sample import Sample
from cowork_gym.trainers.data.sft.catalog import Catalog
from cowork_gym.trainers.data.sft.dropped import Dropped
from cowork_gym.trainers.data.sft.output import PARQUET, need_parquet, read_dialogues
from cowork_gym.trainers.data.sft.render import Rules, recorded, samples
from cowork_gym.trainers.data.sft.wire import dialogue_of
from cowork_gym.trainers.data.views.shown import Shown, show

__all__ = ["load_format", "read_shown"]

_RULES = Rules(each_answer=True)


def load_format(tokenizer: str | Path) -> ChatFormat:
    """A tokenizer with its chat template.

    Args:
        tokenizer: A folder, or `smollm2` for SmolLM2 with a template that knows tools.

    Raises:
        UserError: There is none, or its template cannot be used.
        PackageError: One of its files cannot be used.
        MissingExtra: What reads it is not installed.
    """
    if str(tokenizer) == SMOLLM2:
        return JinjaFormat(load_tokenizer(smollm2_folder()), SMOLLM2_TOOLS)
    return JinjaFormat(load_tokenizer(tokenizer))


def read_shown(file: Path, number: int, format: ChatFormat | None) -> list[Shown]:
    """What is to be shown of a file.

    Args:
        file: An episode, a data set's folder, or its JSON lines or Parquet.
        number: Which sample, counted from 1: a row of a data set, a segment of an episode.
        format: The tokenizer. Episodes whose tokens are known do without.

    Returns:
        One sample; several where the template renders the history anew, one for each answer.

    Raises:
        UserError: There is no such sample, it needs a tokenizer, or it cannot be shown with this one.
        PackageError: The file is neither an episode nor a data set.
        MissingExtra: What reads it is not installed.
    """
    if not file.exists():
        raise UserError(f"{file}: there is no such file")
    if number < 1:
        raise UserError(f"samples are counted from 1, not from {number}")
    if file.is_file() and _is_episode(file):
        return _of_episode(file, number, format)
    return _of_data_set(file, number, format)


def _is_episode(file: Path) -> bool:
    try:
        with file.open("rb") as lines:
            head = lines.read(64)
    except OSError as error:
        raise PackageError(file, "", f"cannot be read: {error.strerror}") from None
    return b'"event"' in head


def _of_data_set(file: Path, number: int, format: ChatFormat | None) -> list[Shown]:
    if format is None:
        raise UserError(f"{file}: a data set has texts, so name the tokenizer that makes tokens of them (--tokenizer FOLDER)")
    dialogue = _parquet_row(file, number) if file.suffix == ".parquet" else next(islice(read_dialogues(file), number - 1, None), None)
    if dialogue is None:
        raise UserError(f"{file}: there is no sample {number}")
    return _rendered(f"{file.name}, sample {number}, {dialogue.source.task}", dialogue, format)


def _parquet_row(file: Path, number: int) -> Dialogue | None:
    arrow = need_parquet()
    try:
        with arrow.parquet.ParquetFile(file) as table:
            for group in range(table.num_row_groups):
                if number <= (rows := table.metadata.row_group(group).num_rows):
                    row: Mapping[str, Any] = table.read_row_group(group).slice(number - 1, 1).to_pylist()[0]
                    return dialogue_of(row)
                number -= rows
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise PackageError(file, "", f"no data set such as {PARQUET}: {error}") from None
    return None


def _of_episode(file: Path, number: int, format: ChatFormat | None) -> list[Shown]:
    episode = read_episode(file)
    segments = [(run, at, segment) for run in episode.runs for at, segment in enumerate(run.segments)]
    if number > len(segments):
        raise UserError(f"{file}: there is no sample {number}: the episode has {counted(len(segments), 'segment')}")
    run, at, segment = segments[number - 1]
    title = f"{file.name}, run {run.id}, segment {at} ({number} of {len(segments)})"
    known = all(one.tokens is not None for one in segment.kept)
    if not known and format is None:
        raise UserError(f"{file}: the policy did not know its tokens, so name the tokenizer that makes them (--tokenizer FOLDER)")
    dialogue = _dialogue(episode, run, at, segment)
    if not known and format is not None:
        tools, note = _tools(episode, run)
        return _rendered(f"{title}, rendered", replace(dialogue, tools=tools), format, note=note)
    tokenizer = episode.policy.tokenizer if episode.policy else ""
    found = recorded(replace(segment, audit=""), dialogue, tokenizer, format=format, rules=Rules(ignore_empty_think=format is not None))
    note = f"for audit only, never trained: {segment.audit}" if segment.audit else ""
    return [show(title, _kept(title, found), format, note=note)]


def _tools(episode: Episode, run: Run) -> tuple[tuple[Mapping[str, Any], ...], str]:
    """The schemas of the tools that a run was offered, or why there are none."""
    try:
        return Catalog().schemas(episode, run.tools), ""
    except UserError as error:
        return (), f"without the schemas of its tools: {error}"


def _dialogue(episode: Episode, run: Run, at: int, segment: Segment) -> Dialogue:
    """A segment as a dialogue of which all answers are learned, as far as the record allows it."""
    told = [each for one in segment.kept for each in (*map(Utterance, one.given), Utterance(one.said, True))]
    source = Source(seal(episode), episode.task, episode.release_id, episode.seed, episode.agent, run.id, at)
    return Dialogue(source, tuple(told))


def _rendered(title: str, dialogue: Dialogue, format: ChatFormat, *, note: str = "") -> list[Shown]:
    found = samples(dialogue, format, _RULES)
    each = [f"{title}, answer {at}" for at in range(1, len(found) + 1)] if len(found) > 1 else [title]
    return [show(name, _kept(name, one), format, note=note) for name, one in zip(each, found, strict=True)]


def _kept(title: str, found: Sample | Dropped) -> Sample:
    if isinstance(found, Dropped):
        raise UserError(f"{title}: no sample, {found.reason}" + (f": {found.detail}" if found.detail else ""))
    return found
