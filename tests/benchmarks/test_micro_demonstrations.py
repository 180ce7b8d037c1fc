"""Demonstrations of the micro tasks, what they leave out, and the floors and sizes that the documents promise."""

from itertools import pairwise
from statistics import fmean

import pytest

from cowork_gym.benchmarks.micro import __main__ as tables
from cowork_gym.benchmarks.micro.demonstrations import DEMONSTRATED, HELD_OUT, LEARNED, LONG, SHORT, Demonstrator, Lack, demonstrate, recap
from cowork_gym.benchmarks.micro.floors import PLAYERS, mean_reward
from cowork_gym.benchmarks.micro.sizes import measure
from cowork_gym.benchmarks.suite import load_suite
from cowork_gym.core.trajectory import RewriteKind
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.envs.variation import instance
from cowork_gym.harness.compose import compose
from cowork_gym.harness.loop import play
from cowork_gym.harness.middleware import Summary
from cowork_gym.harness.policies.scripted import ScriptedPolicy

FEW = HELD_OUT[:12]


@pytest.mark.parametrize("task", [*SHORT, LONG])
def test_demonstrations_earn_everything_and_slips_little(task: str) -> None:
    assert mean_reward(task, PLAYERS["demonstrations"], FEW) == 1.0
    loaded = load_task(task)
    slipped = [demonstrate(loaded, seed, slips=1.0) for seed in FEW]
    assert mean_reward(task, lambda _, seed: ScriptedPolicy("slips", slipped[FEW.index(seed)]), FEW) <= 0.2


def test_slips_come_at_their_rate_and_follow_the_seed() -> None:
    task = load_task("Micro-Update")
    slipped = [demonstrate(task, seed, slips=0.6) != demonstrate(task, seed) for seed in range(1, 401)]
    assert 0.5 < fmean(slipped) < 0.7
    assert demonstrate("Micro-Update", 7, slips=0.6) == demonstrate(task, 7, slips=0.6)


def test_without_retry_nothing_is_ever_called_again() -> None:
    task, shown = load_task("Micro-Recover"), 0
    for seed in range(1, 30):
        said = demonstrate(task, seed, without=Lack.RETRY)
        calls = [one.tool_calls[0].wire()["function"]["arguments"] for one in said if one.tool_calls]
        assert len(calls) == len(set(calls))
        shown += said[-1].content == "unknown"
    assert shown == 29


def test_without_refusal_everything_is_closed() -> None:
    task = load_task("Micro-Refuse")
    for seed in range(1, 30):
        assert any(call.name == "helpdesk_close_ticket" for one in demonstrate(task, seed, without=Lack.REFUSAL) for call in one.tool_calls)


@pytest.mark.parametrize("task", SHORT)
def test_without_brevity_turns_are_wasted_and_no_reward(task: str) -> None:
    loaded = load_task(task)
    assert mean_reward(task, PLAYERS["without brevity"], FEW) == 1.0
    for seed in FEW:
        assert len(demonstrate(loaded, seed, without=Lack.BREVITY)) > len(demonstrate(loaded, seed))


@pytest.mark.parametrize("player", ["noop", "text-only", "read-everything", "random", "spray", "form without ids"])
def test_who_understands_nothing_stays_low(player: str) -> None:
    earned = [mean_reward(task, PLAYERS[player], FEW) for task in SHORT]
    assert max(earned) <= 0.25 and fmean(earned) <= 0.12
    assert player not in ("noop", "text-only") or not any(earned)


def test_seeds_do_not_overlap_and_the_suites_have_the_tasks() -> None:
    ends = [(one.start, one.stop) for one in (DEMONSTRATED, LEARNED, HELD_OUT)]
    assert ends == sorted(ends) and all(stop <= start for (_, stop), (start, _) in pairwise(ends))
    assert {id.partition("/")[2].rpartition("-v")[0] for id in load_suite("micro").load()} == set(SHORT)
    assert [*load_suite("micro-long").load()] == ["cowork/Micro-Long-v0"]


@pytest.mark.parametrize("task", [*SHORT, LONG])
def test_what_is_read_is_short(task: str) -> None:
    size = measure(task, HELD_OUT[100:130])
    assert size.most <= 350 and size.longest <= (1200 if task in SHORT else 2400)
    assert len(size.words) < 120 and size.forming > 0 and size.first > 0


def test_the_words_of_all_tasks_are_few() -> None:
    words = frozenset[str]().union(*(measure(task, HELD_OUT[200:225]).words for task in (*SHORT, LONG)))
    assert "helpdesk_get_ticket" in words and len(words) < 150


def test_the_long_task_overflows_and_a_recap_is_enough_to_go_on() -> None:
    task = load_task(LONG)
    form = instance(task, 11)
    env = CoworkEnv(task)
    policy = Demonstrator(form, demonstrate(task, 11))
    episode = play(env, policy, harness=compose(middleware=[Summary(at=250, keep=1)]), seed=11)
    env.close()
    assert episode.grade is not None and episode.grade.reward == 1.0
    [run] = episode.runs
    assert len([one for one in run.segments if one.rewrite and one.rewrite.kind is RewriteKind.SUMMARY]) >= 2
    rows = {row["ticket_id"]: row for row in form.world["helpdesk"]["tickets"]}
    best = str(form.references[0].actions[-1].content)
    assert recap(form, 8).startswith(f"Most hours: {best}, {rows[best]['hours']}. Next: T")
    assert recap(form, 0) == f"Next: {form.given[0]}."


def test_the_tables_are_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tables, "_SEEDS", HELD_OUT[:2])
    tables.main()
    told = capsys.readouterr().out
    assert "Micro-Lookup" in told and "different words" in told and "form without ids" in told
