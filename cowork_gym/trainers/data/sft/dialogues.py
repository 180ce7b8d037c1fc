"""From a sealed episode to dialogues: one for each run or each segment, with what was newly written to be learned and all else as context."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from cowork_gym.core.episode import Episode, Turn
from cowork_gym.core.grade import Grade
from cowork_gym.core.messages import Message
from cowork_gym.core.trajectory import ROOT, Generation, Run, Segment
from cowork_gym.trainers.data.dialogue import Dialogue, Source, Utterance
from cowork_gym.trainers.data.sft.catalog import Catalog
from cowork_gym.trainers.data.sft.quality import Quality

__all__ = ["PREFIXES", "Built", "Shape", "Unit", "build_dialogues", "strip_prefix"]

Unit = Literal["run", "segment"]

PREFIXES = ("[user simulator]", "[simulated user]", "[user]", "user simulator:", "simulated user:", "user:")
"""What simulators put before the user's words, in lower case. The paper does not print its own; our users write none."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How episodes become dialogues."""

    unit: Unit = "segment"
    """`segment`: what was visible, cut where the history was rewritten; a replayed prefix conditions only. `run`: the whole conversation of a
    run, as if nothing had been dropped, such as windows are made from."""
    children: bool = True
    """Whether child runs are dialogues of their own."""
    audited: bool = False
    """Whether segments count that are for audit only. Their reason is about tokens, or about who wrote the answers."""
    quality: Quality = field(default_factory=Quality)
    prefixes: tuple[str, ...] = PREFIXES
    tools: Literal["task", "none"] = "task"
    """Where the schemas of the offered tools are taken from."""


class Built(NamedTuple):
    """What an episode gave."""

    dialogues: tuple[Dialogue, ...]
    refused: Mapping[str, int]
    """Those that were none, by reason."""


def build_dialogues(episode: Episode, catalog: Catalog, shape: Shape | None = None, *, trial: str = "") -> Built:
    """The dialogues of a graded episode.

    Learned is what the policy newly wrote: answers, plans, and summaries where they were written. Everything else conditions: what others wrote,
    replayed prefixes, turns that a branch took over, and answers that `Shape.quality` finds fault with. Discarded attempts are in no dialogue.

    Args:
        episode: The record.
        catalog: The installed releases.
        shape: How.
        trial: Which attempt it is.

    Raises:
        UserError: The release is not installed, and tool schemas are wanted.
        ValueError: The episode is quarantined or has no grade.
    """
    how, grade = shape or Shape(), episode.grade
    if grade is None or grade.fault is not None or episode.fault is not None:
        raise ValueError(f"the episode of {episode.task} is quarantined or has no grade: nothing is learned from it")
    whole = Source(grade.seal, episode.task, episode.release_id, episode.seed, episode.agent, trial=trial)
    found, refused = list[Dialogue](), Counter[str]()
    for source, offered, utterances in _conversations(episode, how, whole, refused):
        told = _trimmed([_stripped(one, how.prefixes) for one in utterances])
        if not any(one.trained for one in told):
            refused["nothing_to_learn"] += 1
            continue
        tools = catalog.schemas(episode, offered) if how.tools == "task" else ()
        found.append(_dialogue(source, told, tools, grade, catalog))
    return Built(tuple(found), dict(refused))


def strip_prefix(text: str, prefixes: Sequence[str] = PREFIXES) -> str:
    """A user's words without what a simulator put before them; the text itself where nothing else would be left."""
    for one in prefixes:
        if text[: len(one)].lower() == one.lower():
            return text[len(one):].lstrip() or text
    return text


def _dialogue(source: Source, told: Sequence[Utterance], tools: tuple[Mapping[str, Any], ...], grade: Grade, catalog: Catalog) -> Dialogue:
    card = catalog.card(source.task, source.release_id)
    return Dialogue(
        source, tuple(told), tools, grade.completion, grade.reward, (card.category, *card.capabilities) if card else (), _scores(grade),
    )


def _scores(grade: Grade) -> Mapping[str, Any]:
    """What graders and judges said."""
    judged = {
        one.id: {"model": one.judge.model, "prompt": one.judge.prompt, "levels": [*one.judge.levels], "passed": one.passed, "weight": one.weight}
        for one in grade.checks if one.judge is not None
    }
    numbers = {name: getattr(grade, name) for name in ("safety", "robustness", "outcome")}
    return {**numbers, "rewards": dict(sorted(grade.rewards.items())), **({"judges": judged} if judged else {})}


def _conversations(
    episode: Episode, how: Shape, whole: Source, refused: Counter[str],
) -> Iterator[tuple[Source, Sequence[str] | None, Sequence[Utterance]]]:
    """Every conversation of an episode with the names of the tools that were offered in it."""
    if not episode.runs:
        yield whole, None, _unrecorded(episode, how)
    for run in episode.runs:
        if run.id != ROOT and not how.children:
            refused["child_run"] += 1
            continue
        source = _at(whole, run=run.id)
        if how.unit == "run" and len(run.segments) > 1:
            yield source, run.tools, _rejoined(episode, run, how)
            continue
        for number, segment in enumerate(run.segments):
            if segment.audit and not how.audited:
                refused["audit_only"] += 1
                continue
            where = source if len(run.segments) == 1 else _at(whole, run=run.id, segment=number)
            yield where, run.tools, _of_segment(episode, run, segment, number, how)


def _at(whole: Source, *, run: int, segment: int | None = None) -> Source:
    return replace(whole, run=run, segment=segment)


def _unrecorded(episode: Episode, how: Shape) -> Sequence[Utterance]:
    """The conversation of an episode that no harness recorded: what the world saw of it."""
    told = [Utterance(one) for one in episode.opening]
    for turn in episode.turns:
        if turn.run == ROOT:
            told += [_answer(turn.said, _flaw(episode, turn, None, how)), *map(Utterance, turn.observation)]
    return told


def _of_segment(episode: Episode, run: Run, segment: Segment, number: int, how: Shape) -> Sequence[Utterance]:
    """What was visible in a segment, as the policy saw it."""
    branched = run.id == ROOT and number == 0 and episode.origin is not None
    told = list[Utterance]()
    for one in segment.kept:
        told += [_given(each, "taken over" if branched else "replayed") for each in one.given]
        turn = None if one.turn is None else episode.turns[one.turn]
        told.append(_answer(one.said, _flaw(episode, turn, one, how)))
    return told


def _rejoined(episode: Episode, run: Run, how: Shape) -> Sequence[Utterance]:
    """The conversation of a run whose history was rewritten, with everything in its place that was dropped or summarised.

    Plans are left out, and summaries with them: they are no part of what the world saw. What came back stands as it was shown.
    """
    first, shown = run.segments[0].generations[0].given, _shown(run, episode.turns)
    audits = {one.turn: segment.audit for segment in run.segments for one in segment.kept if one.turn is not None}
    acts = {one.turn: one for one in run.generations if one.turn is not None}
    taken = episode.origin.turn if episode.origin else 0
    own = [turn for turn in episode.turns if turn.run == run.id and (run.id == ROOT or turn.index >= taken)]  # a branch numbers children anew
    told = [Utterance(one) for one in _head(first)]
    for turn in own:
        why = "taken over" if turn.index < taken else _flaw(episode, turn, acts.get(turn.index), how)
        if not why and audits.get(turn.index) and not how.audited:
            why = f"for audit only: {audits[turn.index]}"
        told += [_answer(turn.said, why), *map(Utterance, shown.get(turn.index, turn.observation))]
    return told


def _head(given: Sequence[Message]) -> Sequence[Message]:
    """What a run began with: all messages before the first answer, without a request for a plan behind the user's own."""
    begin = next((at for at, one in enumerate(given) if one.role == "assistant"), len(given))
    request = next((at for at, one in enumerate(given[:begin]) if one.role == "user"), begin - 1)
    return given[: request + 1]


def _shown(run: Run, turns: Sequence[Turn]) -> Mapping[int, Sequence[Message]]:
    """What was shown after each turn, where a later generation tells: middleware may have worded it anew."""
    found: dict[int, Sequence[Message]] = {}
    kept = [(number, one) for number, segment in enumerate(run.segments) for one in segment.kept]
    for (here, one), (there, then) in pairwise(kept):
        turn = None if one.turn is None else turns[one.turn]
        begin = None if turn is None else 0 if here == there else _behind(then.given, turn.said)
        if turn is None or begin is None:
            continue
        back = then.given[begin : begin + len(turn.observation)]
        if [each.role for each in back] == [each.role for each in turn.observation]:
            found[turn.index] = back
    return found


def _behind(given: Sequence[Message], said: Message) -> int | None:
    """Where in a whole history the answers to a message begin; None where it is not in there any more."""
    return next((at for at in range(len(given), 0, -1) if given[at - 1] == said), None)


def _flaw(episode: Episode, turn: Turn | None, generation: Generation | None, how: Shape) -> str:
    return how.quality.flaw(episode, turn, generation)


def _given(message: Message, why: str) -> Utterance:
    return Utterance(message, why=why if message.role == "assistant" else "")


def _answer(message: Message, why: str) -> Utterance:
    return Utterance(message, trained=not why, why=why)


def _trimmed(told: Sequence[Utterance]) -> Sequence[Utterance]:
    """Without what stands behind the last answer: nobody was asked about it."""
    end = max((at for at, one in enumerate(told, 1) if one.message.role == "assistant"), default=0)
    return told[:end]


def _stripped(one: Utterance, prefixes: Sequence[str]) -> Utterance:
    message = one.message
    if message.role != "user" or not message.content:
        return one
    text = strip_prefix(message.content, prefixes)
    return one if text == message.content else replace(one, message=replace(message, content=text))
