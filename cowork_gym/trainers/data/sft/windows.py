"""FIFO windows: a long trajectory as samples of bounded history, in which each answer is learned exactly once (Navalia, section 3.2)."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from cowork_gym.trainers.data.dialogue import Dialogue, Utterance

__all__ = ["Packaging", "Window", "context_start", "windowed", "windows"]

Packaging: TypeAlias = Literal["literal", "merged_first"]


class Window(NamedTuple):
    """One sample of a trajectory, in turns counted from 0; its end is the end of what is supervised."""

    context_start: int
    """The first turn that is visible."""
    supervised_from: int
    supervised_to: int
    """The first turn after the supervised ones."""


def context_start(turn: int, window: int = 30, stride: int = 10) -> int:
    """The first turn that is visible when a turn is asked for: `stride * max(0, turn // stride - window // stride + 1)`.

    Args:
        turn: Counted from 0.
        window: The most turns that are visible, the one that is asked for included.
        stride: How many turns are dropped at once.

    Raises:
        ValueError: The turn is negative, or the window is no multiple of the stride.
    """
    _check(window, stride)
    if turn < 0:
        raise ValueError(f"turns are counted from 0, not from {turn}")
    return stride * max(0, turn // stride - window // stride + 1)


def windows(turns: int, window: int = 30, stride: int = 10, packaging: Packaging = "literal") -> tuple[Window, ...]:
    """The samples of a trajectory. Every turn is supervised in one of them, and has the same visible turns under both packagings.

    Args:
        turns: How many the trajectory has.
        window: The most turns of a sample.
        stride: The most new turns of a sample.
        packaging: `literal`: at most `stride` new turns in each sample. `merged_first`: the first sample supervises all turns for which nothing
            was dropped yet, since their contexts are prefixes of one another.

    Raises:
        ValueError: The number of turns is negative, the window is no multiple of the stride, or the packaging is unknown.
    """
    _check(window, stride)
    if turns < 0:
        raise ValueError(f"a trajectory cannot have {turns} turns")
    if packaging not in ("literal", "merged_first"):
        raise ValueError(f"unknown packaging {packaging!r}: choose literal or merged_first")
    first = window if packaging == "merged_first" else stride
    starts = [] if turns == 0 else [0, *range(first, turns, stride)]
    return tuple(Window(context_start(start, window, stride), start, end) for start, end in pairwise([*starts, turns]))


def windowed(dialogue: Dialogue, window: int = 30, stride: int = 10, packaging: Packaging = "literal") -> list[Dialogue]:
    """A dialogue as dialogues of bounded history.

    A turn is an answer with all that came back before the next one; turns are kept or dropped as wholes, so no call is parted from its result.
    What stands before the first turn stays, and so do turns in which the user answered a message without calls, as in the harness's own
    window: they have the user's word. An answer that is not to be learned stays as context.

    Args:
        dialogue: It may be the whole run, whatever its length.
        window: The most turns of a sample, those with the user's word apart.
        stride: The most new turns of a sample.
        packaging: See `windows`.

    Returns:
        Those that have something to learn, in order. Together they supervise every answer of the dialogue that is to be learned, once.

    Raises:
        ValueError: As `windows` says.
    """
    starts = [at for at, one in enumerate(dialogue.utterances) if one.message.role == "assistant"]
    turns = [dialogue.utterances[start:end] for start, end in pairwise([*starts, len(dialogue.utterances)])]
    head = dialogue.utterances[: starts[0]] if starts else dialogue.utterances
    found = []
    for one in windows(len(turns), window, stride, packaging):
        dropped, shown = turns[: one.context_start], turns[one.context_start : one.supervised_from]
        history = (utterance for turn in (*filter(_has_the_users_word, dropped), *shown) for utterance in turn)
        new = (utterance for turn in turns[one.supervised_from : one.supervised_to] for utterance in turn)
        found.append(replace(dialogue, utterances=(*head, *map(_as_context, history), *new)))
    return [one for one in found if one.supervised]


def _check(window: int, stride: int) -> None:
    if stride < 1 or window < stride or window % stride:
        raise ValueError(f"a window is a multiple of its stride: {window} is none of {stride}")


def _has_the_users_word(turn: Sequence[Utterance]) -> bool:
    said, *back = turn
    return not said.message.tool_calls and any(one.message.role == "user" for one in back)


def _as_context(utterance: Utterance) -> Utterance:
    return replace(utterance, trained=False, why="history") if utterance.trained else utterance
