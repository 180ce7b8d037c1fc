"""An episode of two runs that was written once. Whoever changes the form of the file gives it a new version, and a file of its own."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

from cowork_gym.core.episode import SCHEMA_VERSION, Dispatch, Ending, Episode, StageEnd, Turn
from cowork_gym.core.errors import FaultRecord
from cowork_gym.core.grade import CheckResult, Grade
from cowork_gym.core.ledger import Entry
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.core.record import read_episode, seal, write_episode
from cowork_gym.core.snapshot import Change
from cowork_gym.core.task import Budgets
from cowork_gym.core.trajectory import (
    Composition,
    Generation,
    Origin,
    PolicyCard,
    Prefix,
    Provenance,
    Purpose,
    Rewrite,
    RewriteKind,
    Run,
    Segment,
    Tokens,
)

pytest.importorskip("pyarrow")

GOLDEN = Path(__file__).parent / "golden" / f"episode-v{SCHEMA_VERSION}.jsonl"
SEAL = "d110279bba44bc1c29deb8d93c13becd4d0cc0af1300c049c952baff51e85ae6"
FIELDS = {
    Episode: "task release_id seed agent opening turns ledger changes start end ending answer fault grade stages schema_version budgets policy "
    "composition runs origin",
    Turn: "index action observation dispatches invalid raw tokens heard run state",
    Dispatch: "id tool status result sequence replayed inner", StageEnd: "turns entries answer changes fingerprint",
    Message: "role content tool_calls tool_call_id name", ToolCall: "name arguments id", Change: "table key before after",
    Entry: "sequence time dispatch service tool effect arguments status outcome audit record refusal actor", FaultRecord: "blame where message",
    Budgets: "turns calls tokens seconds", PolicyCard: "name version tokenizer seed", Composition: "manifest", Origin: "seal turn",
    Run: "id segments tools parent fork call handoff result ending", Segment: "generations rewrite audit",
    Generation: "index purpose given said turn finish version kept reason tokens", Tokens: "context ids logprobs mask",
    Rewrite: "kind by before after summary", Prefix: "messages sha256", Provenance: "author name message generation",
    Grade: "task release_id grader_version spec reward completion safety robustness outcome rewards checks seal fault",
    CheckResult: "id kind part passed weight reason evidence judge",
}
EVENTS = {
    "episode": "event schema_version task release_id seed agent start opening budgets policy composition origin",
    "turn": "event index action observation dispatches invalid raw tokens run state",
    "run": "event id parent fork call handoff result ending tools", "segment": "event run index rewrite audit",
    "generation": "event run segment index purpose turn finish version kept reason tokens", "tokens": "event sha256 generations sampled context",
    "ledger": "event body hash", "change": "event table key before after", "end": "event ending answer fault fingerprint ledger",
    "seal": "event sha256",
    "grade": "event task release_id grader_version spec reward completion safety robustness outcome rewards checks seal fault passed sha256",
}
"""The last event of each kind; `heard`, `given` and `said` stand only where they say something."""


def test_it_is_read_as_it_was_written() -> None:
    episode = read_episode(GOLDEN)
    assert seal(episode) == SEAL == episode.grade.seal
    assert (episode.schema_version, episode.ending, episode.answer) == (1, Ending.FINAL, "done \ud800")
    assert (episode.budgets, episode.policy) == (Budgets(9, 90, 900, 60.5), PolicyCard("local", "step-3", "f" * 64))
    assert episode.composition == Composition({"loop": "react", "middleware": [{"name": "summary", "at": 0.1 + 0.2}], "temperature": 1.0})
    assert [(turn.run, turn.state[:1], [one.inner for one in turn.dispatches]) for turn in episode.turns] == [
        (0, "0", [False]), (1, "1", [False]), (1, "1", []), (0, "1", [True]), (0, "1", []),
    ]


def test_its_runs_are_whole() -> None:
    root, child = read_episode(GOLDEN).runs
    assert [(one.index, one.purpose, one.turn, one.kept, one.finish) for one in root.generations] == [
        (0, Purpose.ACT, 0, True, "stop"), (1, Purpose.SUMMARY, None, False, "length"), (2, Purpose.SUMMARY, None, True, "stop"),
        (3, Purpose.ACT, 3, True, "stop"), (4, Purpose.ACT, 4, True, "stop"),
    ]
    rewrite = root.segments[1].rewrite
    assert (rewrite.kind, rewrite.by, rewrite.before.messages, rewrite.after.messages) == (RewriteKind.SUMMARY, "summary", 6, 3)
    assert rewrite.summary == Provenance("policy", "local", 2, 2)
    assert (child.parent, child.fork, child.call, child.handoff, child.result, child.ending) == (0, 3, "d1", "Look.", "It is there.", "final")
    assert [len(one.given) for run in (root, child) for one in run.generations] == [2, 2, 2, 3, 1, 1, 1]
    assert child.segments[0].audit == "the template renders earlier messages anew"


def test_its_tokens_are_exact() -> None:
    root, child = read_episode(GOLDEN).runs
    assert [one.tokens for one in child.generations] == [None, None]
    assert [one.tokens.context for one in root.generations] == [tuple(range(count)) for count in (6, 4, 4, 9, 0)]
    assert [one.tokens.ids[-1] for one in root.generations] == [2**31 - 1] * 3 + [8, 2**31 - 1]
    found = [number for one in root.generations for number in one.tokens.logprobs]
    assert [number.hex() for number in found] == [
        number.hex() for number in (-0.1, -0.0, -5e-324, -1.5, -2.5, -1e-300, -0.30000000000000004, -0.5, -0.25, -3.0)
    ]
    assert [one.tokens.mask for one in root.generations] == [(True,) * 3, (False,) * 2, (True,) * 2, (False, True), (True,)]


def test_what_is_written_today_is_the_same(tmp_path: Path) -> None:
    path = write_episode(read_episode(GOLDEN), tmp_path)
    assert path.read_bytes() == GOLDEN.read_bytes()
    assert read_episode(path) == read_episode(GOLDEN)


def test_the_form_changes_with_its_version_only() -> None:
    assert {kind: " ".join(one.name for one in fields(kind)) for kind in FIELDS} == FIELDS
    events = [json.loads(line) for line in GOLDEN.read_bytes().splitlines()]
    assert {event["event"]: " ".join(event) for event in events} == EVENTS
