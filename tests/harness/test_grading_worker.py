"""Grading in a process of its own: the same grades, and faults of the process that never become rewards."""

import os
import signal
from dataclasses import replace

import pytest

from cowork_gym.core.errors import Blame
from cowork_gym.core.messages import call, final
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.session import Grading
from cowork_gym.harness import play
from cowork_gym.harness.agents import make_agent
from cowork_gym.harness.grading_worker import GradingWorker
from cowork_gym.harness.policies.scripted import ScriptedPolicy

IDS = ("M1100", "M133", "M1003", "M1201", "M1301", "M141")


@pytest.fixture(scope="module")
def worker():
    with GradingWorker() as made:
        yield made


def _played(id, grading, seed, make=lambda form: make_agent("reference", form)):
    from cowork_gym.envs.variation import instance

    env = CoworkEnv(id)
    env.grading = grading
    try:
        return play(env, make(instance(env.task, seed)), seed=seed)
    finally:
        env.close()


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("seed", [0, 5])
def test_both_ways_give_the_same_grade(worker, id, seed):
    here, there = _played(id, Grading(), seed), _played(id, Grading(grader=worker), seed)
    assert there.grade == here.grade
    assert there.grade.reward == 1.0


def test_bad_work_has_the_same_grade_as_well_and_so_has_a_fault(worker):
    def bad(form):
        return ScriptedPolicy("bad", [call("crm_export_report"), call("nope"), final("x")])

    here, there = _played("M1100", Grading(), 1, bad), _played("M1100", Grading("claw-v1", grader=worker), 1, bad)
    assert (there.grade.spec, there.grade.rewards, there.grade.checks) == ("claw-v1", here.grade.rewards, here.grade.checks)


def test_a_process_that_is_ended_is_the_graders_fault_and_the_next_one_grades(worker):
    assert _played("M1003", Grading(grader=worker), 0).grade.reward == 1.0
    (process,) = worker._pool._processes
    os.kill(process, signal.SIGKILL)
    lost = _played("M1003", Grading(grader=worker), 0).grade
    assert (lost.reward, lost.fault.blame) == (None, Blame.GRADER)
    assert _played("M1003", Grading(grader=worker), 0).grade.reward == 1.0


def test_a_grade_that_does_not_come_in_time_is_a_fault():
    with GradingWorker(timeout=0.001) as slow:
        grade = _played("M1003", Grading(grader=slow), 0).grade
    assert grade.reward is None
    assert "no grade within" in grade.fault.message


def test_a_grade_of_another_record_is_a_fault(monkeypatch):
    good = _played("M1003", Grading(), 0).grade
    worker = GradingWorker()
    monkeypatch.setattr(worker, "_submit", lambda request: replace(good, seal="0" * 64))
    grade = _played("M1003", Grading(grader=worker), 0).grade
    assert (grade.reward, grade.fault.blame) == (None, Blame.GRADER)
