"""An episode that was written once, by the first writer. What is read and sealed of it stays the same, whatever later versions add."""

import json
from dataclasses import fields
from pathlib import Path

from cowork_gym.core.canonical import decode
from cowork_gym.core.episode import FIRST_VERSION, Ending
from cowork_gym.core.grade import Part
from cowork_gym.core.ledger import Effect, Entry, Ledger
from cowork_gym.core.messages import ToolCall
from cowork_gym.core.record import read_episode, seal, write_episode

GOLDEN = Path(__file__).parent / "golden" / f"episode-v{FIRST_VERSION}.jsonl"
SEAL = "cb094c07766240687a7e834639796e8a10d9230b17825b33dd89d38bfaa09b71"
ENTRY = "sequence time dispatch service tool effect arguments status outcome audit record refusal actor"
"""What later additions left out where they have nothing to say, the oldest files do not have: `stages`, `heard`, `actor`, `judge`."""
EVENTS = {
    "episode": "event schema_version task release_id seed agent start opening",
    "turn": "event index action observation dispatches invalid raw tokens", "ledger": "event body hash", "change": "event table key before after",
    "end": "event ending answer fault fingerprint ledger", "seal": "event sha256",
    "grade": "event task release_id grader_version spec reward completion safety robustness outcome rewards checks seal fault passed sha256",
}


def test_it_is_read_as_it_was_written() -> None:
    episode = read_episode(GOLDEN)
    assert seal(episode) == SEAL
    assert (episode.task, episode.seed, episode.agent, episode.ending) == ("M1100_at_risk_key_rotation", 7, "scripted:short", Ending.FINAL)
    assert episode.release_id == "M1100_at_risk_key_rotation@0:c536a9766b66e7f9"
    assert episode.answer == "The procedure is in ticket TCK-5802. ✓ 証" == episode.turns[-1].said.content
    assert [(one.id, one.status, one.sequence, one.replayed) for one in episode.dispatches] == [
        ("a", 200, 1, False), ("b", 200, 2, False), ("c", 200, 3, False), ("d", 422, None, False), ("e", 422, None, False), ("f", 200, 4, False),
        ("g", 200, 5, False), ("h", 200, 6, False), ("h", 200, 6, True),
    ]
    assert [turn.tokens for turn in episode.turns] == [0, 41, 0, 0, 0, 0, 0, 12]
    assert (episode.turns[1].action, episode.turns[1].raw) == (None, r"no message at all \ud800 …")
    assert episode.turns[2].said.tool_calls[2] == ToolCall("helpdesk_update_ticket", "{not JSON", "e")
    assert [(one.table, one.key, {*one.fields()}) for one in episode.changes] == [("helpdesk.tickets", "TCK-5802", {"resolution", "updated_at"})]


def test_its_ledger_is_whole() -> None:
    ledger = read_episode(GOLDEN).ledger
    assert ledger.verify() and [one.refusal for one in ledger] == [None, "not_found", None, None, None, None]
    assert (ledger[5].effect, ledger[5].audit, ledger[5].time) == (Effect.WRITE, "updated_tickets", "2026-03-10T09:00:06Z")
    again = Ledger()
    for entry in ledger:
        again = again.append(**{one.name: getattr(entry, one.name) for one in fields(Entry) if one.name != "sequence"})
    assert again == ledger  # entries are still written as they were


def test_its_grade_is_bound_to_it() -> None:
    grade = read_episode(GOLDEN).grade
    assert grade is not None
    assert (grade.seal, grade.spec, grade.reward, grade.robustness, grade.passed) == (SEAL, "cowork-v1", 0.836, 0.5, True)
    assert grade.rewards == {"claw-v1": 0.836, "cowork-v1": 0.836}
    assert [(one.id, one.part) for one in grade.checks if not one.passed] == [("customers_listed", Part.OBJECTIVE)]


def test_what_is_written_today_is_the_same(tmp_path: Path) -> None:
    assert write_episode(read_episode(GOLDEN), tmp_path).read_bytes() == GOLDEN.read_bytes()


def test_its_form_is_the_first_one() -> None:
    episode = read_episode(GOLDEN)
    assert (episode.schema_version, episode.runs, {turn.state for turn in episode.turns}) == (FIRST_VERSION, (), {""})
    events = [json.loads(line) for line in GOLDEN.read_bytes().splitlines()]
    assert {event["event"]: " ".join(event) for event in events} == EVENTS
    bodies = [decode(event["body"]) for event in events if event["event"] == "ledger"]
    assert all({*body, "actor"} == {*ENTRY.split()} for body in bodies)
