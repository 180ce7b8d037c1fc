"""Whatever a harness may record, as long as it agrees with itself, comes back as it was."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from episode_samples import UNGRADED
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cowork_gym.core.episode import Ending, Episode, Turn
from cowork_gym.core.ledger import Ledger
from cowork_gym.core.lineage import contradiction_of_runs
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.core.record import read_episode, seal, write_episode
from cowork_gym.core.trajectory import Generation, Prefix, Provenance, Purpose, Rewrite, RewriteKind, Run, Segment, Tokens

pytest.importorskip("pyarrow")

TEXTS = st.text(max_size=4) | st.just("\udfff x")
CALLS = st.lists(st.builds(ToolCall, TEXTS, TEXTS, st.none() | TEXTS), max_size=2).map(tuple)
SAID = st.builds(Message, st.just("assistant"), st.none() | TEXTS, CALLS)
SHOWN = st.lists(st.builds(Message, st.sampled_from(["user", "tool"]), TEXTS, st.just(()), st.none() | TEXTS), max_size=2).map(tuple)
STATES = st.sampled_from(["", "0" * 64, "9af" + "0" * 61])
IDS = st.lists(st.integers(0, 2**31 - 1), max_size=3).map(tuple)


@st.composite
def tokens(draw: Any, trained: bool) -> Tokens:
    """Tokens of a generation that may be trained, or may not."""
    ids = draw(IDS)
    numbers = st.floats(max_value=0, allow_nan=False, allow_infinity=False)
    flags = st.booleans() if trained else st.just(False)
    return Tokens(draw(IDS), ids, tuple(draw(numbers) for _ in ids), tuple(draw(flags) for _ in ids))


@dataclass
class Play:
    """A harness that does anything."""

    draw: Any
    turns: list[Turn] = field(default_factory=list)
    runs: dict[int, Run] = field(default_factory=dict)

    def run(self, depth: int, **lineage: Any) -> None:
        """A run, and all that it asks for."""
        number, segments = len(self.runs), list[Segment]()
        self.runs[number] = Run(number, ())
        count = 0
        for _ in range(self.draw(st.integers(0, 2))):
            generations = self.stretch(number, count, depth)
            count += len(generations)
            segments.append(Segment(generations, self.rewrite(segments, generations), self.draw(TEXTS)))
        tools = self.draw(st.lists(TEXTS, max_size=2).map(tuple))
        self.runs[number] = Run(number, tuple(segments), tools, **lineage, result=self.draw(st.none() | TEXTS), ending=self.draw(TEXTS))

    def stretch(self, run: int, first: int, depth: int) -> tuple[Generation, ...]:
        """The generations of a segment."""
        found, back = list[Generation](), self.draw(SHOWN)
        known = self.draw(st.booleans())
        for index in range(first, first + self.draw(st.integers(1, 3))):
            kept, purpose, said = self.draw(st.booleans()), self.draw(st.sampled_from(Purpose)), self.draw(SAID)
            shown = self.draw(st.just(back) | SHOWN)
            turn = self.turn(run, index, depth, said) if kept and purpose is Purpose.ACT else None
            drawn = self.draw(tokens(kept)) if known else None
            found.append(Generation(index, purpose, shown, said, turn, self.draw(TEXTS), self.draw(TEXTS), kept, self.draw(TEXTS), drawn))
            back = self.turns[turn].observation if turn is not None else back
        return tuple(found)

    def turn(self, run: int, generation: int, depth: int, said: Message) -> int:
        """A turn, which ends after the runs that it asks for."""
        if depth and self.draw(st.booleans()):
            self.run(depth - 1, parent=run, fork=generation, call=self.draw(TEXTS), handoff=self.draw(TEXTS))
        at, garbled = len(self.turns), self.draw(st.booleans())
        action = None if garbled else self.draw(st.just(said) | SAID)
        raw = self.draw(st.none() | TEXTS) if garbled else None
        self.turns.append(Turn(at, action, self.draw(SHOWN), raw=raw, run=run, state=self.draw(STATES)))
        return at

    def rewrite(self, before: list[Segment], after: tuple[Generation, ...]) -> Rewrite | None:
        """What opens a segment with these generations."""
        if not before:
            return None
        new, kept = Prefix.of(after[0].given), [one.index for segment in before for one in segment.kept]
        summary = None
        if new.messages and self.draw(st.booleans()):
            by = self.draw(st.sampled_from(kept)) if kept else None
            summary = Provenance("rule" if by is None else "policy", self.draw(TEXTS), new.messages - 1, by)
        return Rewrite(self.draw(st.sampled_from(RewriteKind)), self.draw(TEXTS), Prefix.of(before[-1].messages), new, summary)


@st.composite
def episodes(draw: Any) -> Episode:
    """Any episode of any runs that agree with each other."""
    play = Play(draw)
    play.run(2)
    runs = tuple(play.runs[number] for number in sorted(play.runs))
    return replace(UNGRADED, turns=tuple(play.turns), runs=runs, ledger=Ledger(), changes=(), ending=Ending.STOPPED, answer=None)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(episode=episodes())
def test_what_agrees_with_itself_comes_back(tmp_path_factory: pytest.TempPathFactory, episode: Episode) -> None:
    assert contradiction_of_runs(episode) is None
    path = write_episode(episode, tmp_path_factory.mktemp("tree"))
    again = read_episode(path)
    assert again == episode and seal(again) == seal(episode)
    assert write_episode(again, path.parent / "copy").read_bytes() == path.read_bytes()
