"""Tasks of several days: the world moves on between two requests, and the agent is not blamed for it."""

from datetime import date
from pathlib import Path

import pytest

from cowork_gym.core.episode import Ending, Episode
from cowork_gym.core.errors import PackageError
from cowork_gym.core.messages import call, final
from cowork_gym.core.record import read_episode, write_episode
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.evidence import evidence_of, grade_episode
from cowork_gym.envs.registration import load_task

FILES = {
    "task.yaml": """
schema_version: 1
id: Two_days
version: 0
title: Two days
request: Put Ada's ticket on high and tell me its id.
mock_today: 2026-03-10
services: [helpdesk]
tools: [helpdesk_list_tickets, helpdesk_get_ticket, helpdesk_update_ticket]
""",
    "stages.yaml": """
schema_version: 1
stages:
  - day: 2026-03-12
    request: Good morning. Give Ada's ticket to whoever it names now.
    changes:
      - {update: helpdesk.tickets, key: T-1, fields: {description: Now for team-b., department: ops}}
      - {insert: helpdesk.tickets, record: {ticket_id: T-3, title: Overnight, description: New.}}
      - {delete: helpdesk.tickets, key: T-2}
""",
    "world/helpdesk.yaml": """
tickets:
  - {ticket_id: T-1, title: Ada, description: For team-a., priority: low}
  - {ticket_id: T-2, title: Bob, description: Something.}
""",
    "private/grading.yaml": """
schema_version: 1
checks:
  - {id: first_day, kind: row_state, weight: 0.4, table: helpdesk.tickets, key: T-1, fields: {priority: high}, stage: 1}
  - {id: told, kind: answer, weight: 0.1, matches: {labelled: {Ticket: {text: T-1}}}, stage: 1}
  - {id: second_day, kind: row_state, weight: 0.5, table: helpdesk.tickets, key: T-1, fields: {assigned_to: {text: team-b}}}
  - {id: overnight_kept, kind: row_state, table: helpdesk.tickets, key: T-3}
  - {id: rest, kind: unchanged, allow: [{table: helpdesk.tickets, key: T-1, fields: [priority, assigned_to]}]}
outcomes:
  - {id: routed, kind: row_state, table: helpdesk.tickets, key: T-1, fields: {assigned_to: {text: team-b}}, stage: 2}
""",
    "private/reference.yaml": """
schema_version: 1
executions:
  - name: both
    turns:
      - helpdesk_list_tickets: {}
      - helpdesk_update_ticket: {ticket_id: T-1, priority: high}
      - "Ticket: T-1"
      - helpdesk_get_ticket: {ticket_id: T-1}
      - helpdesk_update_ticket: {ticket_id: T-1, assigned_to: team-b}
    final: Done.
""",
    "private/negatives.yaml": """
schema_version: 1
executions:
  - name: stale
    max_reward: 0.2
    why: The ticket was not read again.
    like: both
    edits: [{change: "helpdesk_update_ticket#2", arguments: {assigned_to: team-a}}]
""",
}


MOVED = "fields: {description: Now for team-b., department: ops}"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "Two_days" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "Two_days"


def _play(env: CoworkEnv, *actions: object) -> Episode:
    env.reset(seed=0)
    for action in actions:
        env.step(action)
    return env.episode()


FIRST = (call("helpdesk_update_ticket", ticket_id="T-1", priority="high"), final("Ticket: T-1"))
SECOND = (call("helpdesk_update_ticket", ticket_id="T-1", assigned_to="team-b"), final("Done."))


def test_the_world_moves_on_and_the_next_request_comes(package: Path) -> None:
    env = CoworkEnv(package)
    env.reset(seed=0)
    env.step(FIRST[0])
    observation, reward, terminated, truncated, _ = env.step(FIRST[1])
    assert (str(observation), reward, terminated, truncated) == ("[user] Good morning. Give Ada's ticket to whoever it names now.", 0.0, False, False)
    assert env.world.now == "2026-03-12T09:00:03Z"  # three changes, a tick each
    assert env.world.rows("helpdesk.tickets").keys() == {"T-1", "T-3"}
    assert [(one.actor, one.tool) for one in env.world.ledger][1:] == [
        ("environment", "environment_update"), ("environment", "environment_insert"), ("environment", "environment_delete"),
    ]
    assert env.world.ledger.verify()


def test_each_part_is_graded_as_it_stood(package: Path) -> None:
    episode = _play(CoworkEnv(package), *FIRST, *SECOND)
    assert episode.grade is not None and episode.grade.rewards == {"claw-v1": 1.0, "cowork-v1": 1.0}, episode.grade
    assert (episode.ending, episode.answer, len(episode.stages), episode.stages[0].answer) == (Ending.FINAL, "Done.", 1, "Ticket: T-1")
    late = _play(CoworkEnv(package), FIRST[1], FIRST[0], *SECOND)
    assert late.grade is not None and {one.id for one in late.grade.checks if not one.passed} == {"first_day"}


def test_what_the_world_does_is_not_held_against_the_agent(package: Path) -> None:
    env = CoworkEnv(package)
    nothing = _play(env, final(""), final(""))
    assert nothing.grade is not None and nothing.grade.reward == 0 and nothing.grade.fault is None
    assert {one.id for one in nothing.grade.checks if one.passed} == {"overnight_kept", "rest"}
    evidence = evidence_of(nothing, env.blueprint)
    assert len(nothing.changes) == 3 and evidence.own == ()


def test_what_the_agent_does_to_a_row_that_moved_is_its_own(package: Path) -> None:
    env = CoworkEnv(package)
    changed = _play(env, final("x"), call("helpdesk_update_ticket", ticket_id="T-1", category="x"), final("y"))
    assert [(one.key, {*one.fields()}) for one in evidence_of(changed, env.blueprint).own] == [("T-1", {"category", "updated_at"})]
    other = _play(env, final("x"), call("helpdesk_update_ticket", ticket_id="T-3", category="x"), final("y"))
    assert other.grade is not None and "rest" in {one.id for one in other.grade.checks if not one.passed}


def test_a_part_that_was_never_reached_earns_nothing(package: Path) -> None:
    env = CoworkEnv(package)
    env.reset(seed=0)
    env.step(FIRST[0])
    grade = env.finish().grade
    assert grade is not None and grade.fault is None
    reasons = {one.id: one.reason for one in grade.checks}
    assert reasons["routed"].startswith("Part 2 of the task was never reached") and grade.completion == 0.4


def test_the_record_is_read_and_graded_again(package: Path, tmp_path: Path) -> None:
    env = CoworkEnv(package)
    episode = _play(env, *FIRST, *SECOND)
    again = read_episode(write_episode(episode, tmp_path))
    assert again.stages == episode.stages and again.grade == episode.grade
    assert grade_episode(env.task, env.blueprint, again) == episode.grade


def test_forks_and_restores_keep_the_day(package: Path) -> None:
    env = CoworkEnv(package)
    env.reset(seed=0)
    env.step(FIRST[0])
    before = env.snapshot()
    env.step(FIRST[1])
    (fork,) = env.fork()
    assert fork.world.now == env.world.now
    after = env.snapshot()
    env.restore(before)
    assert env.world.now == "2026-03-10T09:00:01Z"
    env.step(FIRST[1])
    for action in SECOND:
        fork.step(action)
        env.step(action)
    assert fork.episode().ledger == env.episode().ledger and fork.episode().grade == env.episode().grade
    env.restore(after)
    assert env.world.now == "2026-03-12T09:00:03Z"


def test_doors_have_the_same_days(package: Path) -> None:
    pytest.importorskip("fastapi")
    direct, asgi = (_play(CoworkEnv(package, door=door), *FIRST, *SECOND) for door in ("direct", "asgi"))
    assert direct.ledger == asgi.ledger and direct.grade == asgi.grade


def test_the_form_is_read(package: Path) -> None:
    (stage,) = load_task(package).stages
    assert (stage.day, [one.op for one in stage.changes]) == (date(2026, 3, 12), ["update", "insert", "delete"])


@pytest.mark.parametrize(("old", "new", "problem"), [
    ("day: 2026-03-12", "day: 2026-03-09", "stages[0].day: 2026-03-09 is before 2026-03-10"),
    ("{delete: helpdesk.tickets", "{delete: helpdesk.ticket", "stages[0].changes[2]: no table 'helpdesk.ticket', did you mean 'helpdesk.tickets'?"),
    ("key: T-2}", "key: T-9}", "stages[0].changes[2]: cannot delete helpdesk.tickets/T-9"),
    ("ticket_id: T-3,", "ticket_id: T-1,", "stages[0].changes[1]: cannot insert helpdesk.tickets/T-1, there is one already"),
    ("title: Overnight, ", "", "stages[0].changes[1]: title: Field required"),
    (MOVED, "fields: {priority: low}", "stages[0].changes[0]: changes nothing"),
    (MOVED, "record: {priority: low}", "stages[0].changes[0]: update takes fields and key, not key and record"),
])
def test_a_mistake_is_told_with_its_place(package: Path, old: str, new: str, problem: str) -> None:
    path = package / "stages.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(PackageError) as caught:
        load_task(package)
    assert problem in str(caught.value) and "stages.yaml" in str(caught.value)


def test_a_check_of_a_part_that_there_is_not_is_refused(package: Path) -> None:
    path = package / "private" / "grading.yaml"
    path.write_text(path.read_text().replace("stage: 2", "stage: 3"))
    with pytest.raises(PackageError, match=r"outcomes\[0\] \(routed\)\.stage: the task has 2 parts, not 3"):
        load_task(package)
