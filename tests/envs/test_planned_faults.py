"""Calls that fail by plan: what the agent reads, what was done, and how it is graded."""

from dataclasses import replace
from typing import Any

import pytest
from desk_samples import desk_task

from cowork_gym.core.canonical import decode
from cowork_gym.core.messages import call, final
from cowork_gym.core.task import PlannedFault, Task
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.evidence import evidence_of

UPDATE = "helpdesk_update_ticket"
LOST = {"error": f"{UPDATE}: no answer in time; the request may or may not have been carried out", "type": "timeout"}


def _task(*faults: PlannedFault) -> Task:
    return replace(desk_task(), faults=faults)


def _update(env: CoworkEnv, priority: str = "high") -> Any:
    observation, *_ = env.step(call(UPDATE, ticket_id="T-1", priority=priority))
    return decode(observation[0].content or "")


@pytest.mark.parametrize(("kind", "status", "text"), [
    ("timeout_before", 504, LOST),
    ("transient", 503, {"error": f"{UPDATE}: the service is unavailable for a moment; nothing was done", "type": "transient"}),
    ("rate_limit", 429, {"error": f"{UPDATE}: too many requests; nothing was done, try again", "type": "rate_limit"}),
])
def test_nothing_is_done_and_the_next_call_works(kind: Any, status: int, text: dict[str, str]) -> None:
    env = CoworkEnv(_task(PlannedFault(UPDATE, 1, kind)))
    env.reset(seed=0)
    assert _update(env) == text and env.world.diff() == ()
    assert (env.world.ledger[0].status, env.world.ledger[0].done) == (status, False)
    assert _update(env)["status"] == "updated"
    env.step(final("Done."))
    assert [one.status for one in env.episode().dispatches] == [status, 200]


def test_the_work_is_done_and_its_answer_is_lost() -> None:
    env = CoworkEnv(_task(PlannedFault(UPDATE, 2, "timeout_after")))
    env.reset(seed=0)
    assert _update(env, "low")["status"] == "updated"
    assert _update(env) == LOST
    assert env.world.rows("helpdesk.tickets")["T-1"]["priority"] == "high"
    entry = env.world.ledger[1]
    assert (entry.failed, entry.done, entry.refusal, entry.audit) == (True, True, "timeout", "updated_tickets")
    assert _update(env, "medium")["status"] == "updated"
    env.step(final("Done."))
    evidence = evidence_of(env.episode(), env.blueprint)
    assert len(evidence.audited("helpdesk.updated_tickets")) == 3 and len(evidence.calls(UPDATE)) == 3
    grade = env.progress.grade
    assert grade is not None and grade.fault is None


def test_a_refused_call_is_counted_and_one_at_the_door_is_not() -> None:
    env = CoworkEnv(_task(PlannedFault(UPDATE, 2, "transient")))
    env.reset(seed=0)
    env.step(call(UPDATE, ticket_id="T-1", priority="no such"))
    env.step(call(UPDATE, ticket_id="T-9", priority="high"))
    assert _update(env)["type"] == "transient"


def test_forks_meet_the_same_faults() -> None:
    env = CoworkEnv(_task(PlannedFault(UPDATE, 2, "transient")))
    env.reset(seed=0)
    _update(env)
    (fork,) = env.fork()
    assert _update(fork)["type"] == _update(env)["type"] == "transient"


def test_every_door_has_them() -> None:
    pytest.importorskip("fastapi")
    env = CoworkEnv(_task(PlannedFault(UPDATE, 1, "timeout_after")), door="asgi")
    env.reset(seed=0)
    assert _update(env) == LOST and env.world.rows("helpdesk.tickets")["T-1"]["priority"] == "high"
