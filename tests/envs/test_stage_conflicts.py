"""What an agent does before the world moves on can neither stop it nor be mistaken for it."""

from pathlib import Path

import pytest

from cowork_gym.core.errors import PackageError
from cowork_gym.core.messages import Message, ToolCall, call, final
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.evidence import evidence_of
from cowork_gym.envs.registration import load_task

FILES = {
    "task.yaml": """
schema_version: 1
id: Overnight
version: 0
title: Overnight
request: Move the board meeting.
mock_today: 2026-03-10
services: [calendar]
tools: [calendar_list_events, calendar_update_event, calendar_delete_event]
""",
    "stages.yaml": """
schema_version: 1
stages:
  - day: 2026-03-12
    request: Good morning. And the review?
    changes:
      - {update: calendar.events, key: EV-1, fields: {end_time: 2026-03-20T12:00:00Z}}
      - {insert: workspace.files, record: {path: notes/new.md, content: New.}}
""",
    "world/calendar.yaml": """
events:
  - {event_id: EV-1, title: Board, start_time: 2026-03-20T10:00:00Z, end_time: 2026-03-20T11:00:00Z}
""",
    "private/grading.yaml": """
schema_version: 1
checks:
  - {id: moved, kind: row_state, weight: 1, table: calendar.events, key: EV-1, fields: {start_time: 2026-03-20T14:00:00Z}}
  - {id: rest, kind: unchanged, allow: [{table: calendar.events, key: EV-1}]}
outcomes:
  - {id: moved_by_then, kind: row_state, table: calendar.events, key: EV-1, fields: {start_time: 2026-03-20T14:00:00Z}}
""",
    "private/reference.yaml": """
schema_version: 1
executions:
  - name: moves
    turns:
      - calendar_update_event: {event_id: EV-1, start_time: 2026-03-20T14:00:00Z, end_time: 2026-03-20T15:00:00Z}
      - Moved.
    final: It stays.
""",
    "private/negatives.yaml": """
schema_version: 1
executions:
  - {name: says_so, why: No call is no work., max_reward: 0, final: Moved.}
""",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "Overnight" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "Overnight"


def test_a_change_that_no_longer_fits_does_nothing(package: Path) -> None:
    env = CoworkEnv(package)
    env.reset(seed=0)
    for action in env.task.references[0].actions:
        env.step(action)
    episode = env.episode()
    assert episode.grade is not None and (episode.grade.fault, episode.grade.reward) == (None, 1.0)
    event = env.world.row("calendar.events", "EV-1")
    assert event is not None and event["end_time"] == "2026-03-20T15:00:00Z"
    assert [(one.table, one.key) for one in evidence_of(episode, env.blueprint).own] == [("calendar.events", "EV-1")]


def test_what_the_agent_deleted_stays_deleted(package: Path) -> None:
    env = CoworkEnv(package)
    env.reset(seed=0)
    for action in (call("calendar_delete_event", event_id="EV-1"), final("Gone."), final("Still gone.")):
        env.step(action)
    grade = env.episode().grade
    assert env.world.row("calendar.events", "EV-1") is None and grade is not None and (grade.fault, grade.reward) == (None, 0.0)


def test_the_worlds_own_entries_take_no_id_from_the_agent(package: Path) -> None:
    env = CoworkEnv(package)
    env.reset(seed=0)
    env.step(final("Later."))
    assert [one.dispatch for one in env.world.ledger] == ["", ""]
    for id in ("environment_1", "dispatch_1", ""):
        *_, info = env.step(Message("assistant", None, (ToolCall("calendar_list_events", {"date": "2026-03-20"}, id),)))
        assert info["dispatches"][0].status == 200, info["dispatches"]
    restored = CoworkEnv(package)
    restored.restore(env.snapshot())
    *_, info = restored.step(Message("assistant", None, (ToolCall("calendar_list_events", {"date": "2026-03-20"}, ""),)))
    assert info["dispatches"][0].status == 200 and restored.finish().grade.fault is None  # type: ignore[union-attr]


@pytest.mark.parametrize(("old", "new", "problem"), [
    ("{end_time: 2026-03-20T12:00:00Z}", "{event_id: EV-2}", "stages[0].changes[0].fields.event_id: is what the record is told by"),
    ("path: notes/new.md", "path: ../new.md", "stages[0].changes[1].record.path: expected a path inside the workspace"),
    ("path: notes/new.md", "path: /new.md", "stages[0].changes[1].record.path: expected a path inside the workspace"),
    ("path: notes/new.md", "path: notes//new.md", "stages[0].changes[1].record.path: expected a path inside the workspace"),
    ("path: notes/new.md", 'path: ""', "stages[0].changes[1].record.path: expected a path inside the workspace"),
])
def test_a_change_that_moves_a_key_or_leaves_the_workspace_is_refused(package: Path, old: str, new: str, problem: str) -> None:
    path = package / "stages.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(PackageError) as caught:
        load_task(package)
    assert problem in str(caught.value)


def test_forms_with_equal_records_are_told_apart_on_restore(package: Path) -> None:
    path = package / "private" / "variation.yaml"
    path.write_text("schema_version: 1\nwordings: [Please move the board meeting., The board has to meet later.]\n")
    env, other = CoworkEnv(package), CoworkEnv(package)
    seeds = {str(env.reset(seed=seed)[0]): seed for seed in range(1, 9)}
    first, second = [*seeds.values()][:2]
    env.reset(seed=first)
    other.reset(seed=second)
    assert env.blueprint.origin == other.blueprint.origin and env.opening != other.opening
    other.restore(env.snapshot())
    assert (other.opening, other.seed) == (env.opening, first)
    assert other.finish().grade.fault is None  # type: ignore[union-attr]
