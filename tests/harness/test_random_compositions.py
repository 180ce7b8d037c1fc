"""Five hundred random compositions of loops and middleware: the record is what the engine saw and drew, and the work is the same."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from run_checks import check_episode
from token_script import TokenScript

from cowork_gym.core.episode import Ending, Episode
from cowork_gym.core.messages import Message, call
from cowork_gym.core.record import seal
from cowork_gym.core.trajectory import RewriteKind
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import Harness, compose, play
from cowork_gym.harness.loops import PlanAct, React
from cowork_gym.harness.middleware import Budget, Middleware, Normalise, Prune, Retry, Slide, Summary, Trace, Window
from cowork_gym.harness.policies.scripted import ScriptedPolicy

TASKS = ("M1003", "M1100", "M1108", "M1117", "M1124", "M1201", "M1204", "M1301", "M1303", "M1305", "M133")
"""With later requests, a user who answers, a call that fails, and blanks that earlier results fill."""
BATCHES, BATCH = 10, 50


def _rule() -> ScriptedPolicy:
    return ScriptedPolicy("rule", [])


def _window(g: Random) -> Window:
    stride = g.randint(1, 4)
    return Window(stride * g.randint(2, 4), stride)


def _summary(g: Random) -> Summary:
    settings: dict[str, Any] = {"at": g.randint(50, 1500), "keep": g.randint(0, 3), "attempts": g.randint(1, 3), "most": g.choice([20, 400, 2000])}
    if g.random() < 0.3:  # what another writer summarises, this policy has to have seen
        settings |= {"by": _rule, "author": "rule", "keep": g.randint(1, 3)}
    return Summary(**settings)


def _budget(g: Random) -> Budget:
    limits: list[dict[str, Any]] = [
        {"turns": g.randint(3, 60)}, {"calls": g.randint(3, 60)}, {"tokens": g.randint(500, 9000)}, {"prompt_tokens": g.randint(20_000, 10**6)},
        {"seconds": 600}, {"cost": g.random(), "input_price": 0.5, "output_price": 3.0},
    ]
    return Budget(**g.choice(limits))


def _makers(folder: Path) -> Sequence[Callable[[Random], Middleware]]:
    return (
        _summary, _summary, _summary, _window, lambda g: Slide(g.randint(1, 6)),
        lambda g: Prune(g.randint(1, 4), g.randint(0, 1500), g.randint(1, 3)),
        lambda g: Retry(g.randint(2, 4), sleep=lambda seconds: None), _budget,
        lambda g: Normalise(g.randint(20, 300)), lambda g: Trace(folder / "trace"),
    )


def _composition(g: Random, folder: Path) -> Harness:
    chain = [g.choice(_makers(folder))(g) for _ in range(g.randint(0, 6))]
    loop = PlanAct(g.randint(0, 5)) if g.random() < 0.4 else React()
    return compose(loop, prompt=g.choice(["", "You are careful."]), middleware=chain)


@cache
def _env(name: str) -> CoworkEnv:
    task = load_task(name)
    return CoworkEnv(replace(task, budgets=replace(task.budgets, turns=100, calls=200)))


def _lines(g: Random, env: CoworkEnv) -> tuple[Message, ...]:
    """The reference, after some reading that changes nothing and that no blank counts."""
    actions = env.task.references[0].actions
    used = {one.name for each in actions for one in each.tool_calls}
    functions = [one["function"] for one in env.action_space.schemas]
    reads = sorted(one["name"] for one in functions if "_list_" in one["name"] and not one["parameters"].get("required") and one["name"] not in used)
    return (*(call(g.choice(reads)) for _ in range(g.choice([0, 3, 12, 25]) if reads else 0)), *actions)


def _play(seed: int, folder: Path, context: int | None = None) -> tuple[Episode, TokenScript, Harness]:
    g = Random(seed)
    env, harness = _env(g.choice(TASKS)), _composition(g, folder)
    retried = any(one.name == "retry" for one in harness.middleware)
    policy = TokenScript(
        _lines(g, env), g, context=g.choice([None, None, 800, 1500, 3000]) if context is None else context, flaky=0.2 if retried else 0.0,
        spoiled=g.choice([0.0, 0.3, 0.9]), garbled=g.choice([0.0, 0.0, 0.1]),
    )
    return play(env, policy, harness=harness, seed=0), policy, harness


def _check(seed: int, episode: Episode, policy: TokenScript, harness: Harness) -> None:
    assert episode.fault is None, (seed, episode.fault)
    check_episode(episode, policy.log, policy.prompts)
    assert episode.grade is not None
    if episode.ending is Ending.FINAL:
        assert episode.grade.reward == 1.0, seed
    elif episode.ending is Ending.CONTEXT:
        assert policy.context is not None, seed
    else:  # the task's own budgets are wide enough for anything
        assert any(isinstance(one, Budget) for one in harness.middleware), (seed, episode.ending)
    assert policy.context is None or all(len(asked.prompt) <= policy.context for asked in policy.log), seed


@pytest.mark.parametrize("batch", range(BATCHES))
def test_whatever_is_composed_the_record_is_exact(batch: int, tmp_path: Path) -> None:
    met: Counter[str] = Counter()
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        episode, policy, harness = _play(seed, tmp_path)
        _check(seed, episode, policy, harness)
        met[episode.ending] += 1
        (run,) = episode.runs
        rewrites = [one.rewrite for one in run.segments if one.rewrite]
        met.update(one.kind for one in rewrites)
        met["discarded"] += sum(not one.kept for one in run.generations)
        met["cut off"] += sum(one.finish == "length" for one in run.generations)
        met["written"] += sum(one.summary.author == "policy" for one in rewrites if one.summary)
    assert met[Ending.FINAL] >= BATCH // 3, met
    assert min(met[one] for one in ("summary", "window", "prune", "discarded", "cut off", "written")) > 0, met
    assert not met.keys() & (set(RewriteKind) - {"summary", "window", "prune"}), met


@pytest.mark.parametrize("seed", range(0, 120, 3))
def test_a_full_context_is_shortened_or_ends_the_episode(seed: int, tmp_path: Path) -> None:
    _check(seed, *_play(seed, tmp_path, context=900))


def test_the_same_composition_gives_the_same_record(tmp_path: Path) -> None:
    assert [seal(_play(seed, tmp_path)[0]) for seed in (3, 8, 21)] == [seal(_play(seed, tmp_path)[0]) for seed in (3, 8, 21)]


def test_swapping_one_component_changes_only_its_entry() -> None:
    chain: list[Middleware] = [Summary(), Window(), Slide(), Prune(), Retry(), Budget(turns=9), Normalise()]
    others: list[Middleware] = [Summary(at=9), Window(20), Slide(3), Prune(keep=1), Retry(tries=2), Budget(turns=8), Normalise(most=99)]
    before = compose(middleware=chain).composition
    for at, other in enumerate(others):
        after = compose(middleware=[*chain[:at], other, *chain[at + 1 :]]).composition
        entries = [*zip(before.manifest["middleware"], after.manifest["middleware"], strict=True)]
        assert [place for place, (old, new) in enumerate(entries) if old != new] == [at]
        assert {**before.manifest, "middleware": None} == {**after.manifest, "middleware": None}
        assert before.sha256 != after.sha256
