"""The verb `rollout`: an agent plays many episodes at once, into a directory that can be gone on with."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cowork_gym.cli.apart import apart
from cowork_gym.cli.complaint import complain
from cowork_gym.cli.document import print_document
from cowork_gym.cli.given import finite, folder, named
from cowork_gym.core.errors import UserError
from cowork_gym.core.wording import counted

if TYPE_CHECKING:
    from cowork_gym.core.task import Task
    from cowork_gym.harness import Policy
    from cowork_gym.harness.rollout import Plan, Played, Rollout, Settings

__all__ = ["add_to", "rollout"]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command."""
    app.command("rollout", epilog="Example: cowork rollout --suite smoke --agent reference --n 4 --concurrency 8 --out runs/first")(rollout)


def rollout(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", parser=folder, help="The rollout's directory.")],
    agent: Annotated[str, typer.Option("--agent", metavar="AGENT", help="Who plays; `cowork run --help` lists them.")],
    tasks: Annotated[list[str] | None, typer.Argument(metavar="TASK", help="Environment ids, or folders of packages.")] = None,
    suite: Annotated[str | None, typer.Option("--suite", metavar="NAME", callback=named, help="All tasks of a suite.")] = None,
    n: Annotated[int, typer.Option("--n", min=1, help="Trials of each form of a task.")] = 1,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many forms of each task.")] = 1,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The first form's; the others count on from it.")] = 0,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="The most episodes that are open at once.")] = 4,
    harness: Annotated[str, typer.Option("--harness", metavar="SPEC", help="What stands around the agent, such as react+summary+retry.")] = "react",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the rollout in DIR: play what is missing or was quarantined.")] = False,
    spec: Annotated[str | None, typer.Option("--reward", metavar="SPEC", help="The reward spec, where it is not to be the tasks' own.")] = None,
    judge: Annotated[str | None, typer.Option("--judge", metavar="JUDGE", help="Who judges by rubrics: openai:MODEL@BASE_URL.")] = None,
    user: Annotated[str, typer.Option("--user", metavar="USER", help="Who answers questions: rules, or openai:MODEL@BASE_URL.")] = "rules",
    tool_format: Annotated[Literal["native", "prompted"], typer.Option("--format", help="How an openai: agent is told of its tools.")] = "native",
    temperature: Annotated[float, typer.Option("--temperature", callback=finite, help="Of local:, sglang: and vllm: agents.")] = 1.0,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="The most that one answer of theirs may have.")] = 512,
    official: Annotated[bool, typer.Option("--official", help="Grade in a process of its own.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="End with one JSON object on standard output.")] = False,
) -> None:
    """Let an agent play every task many times, and keep the sealed episodes.

    Exit code 1 says that an episode is quarantined, 130 that Ctrl-C stopped it; --resume goes on in both cases.
    """
    from cowork_gym.harness import rollout as rollouts

    loaded, make = _load(tasks or (), suite), _maker(agent, tool_format, max_tokens, temperature)
    others = {"format": tool_format, "temperature": temperature, "max_tokens": max_tokens, "user": user, "judge": judge, "official": official}
    with apart(as_json), _settings(concurrency, harness, spec, judge, user, official) as settings:
        player = make(loaded[0]).name  # what is wrong with the agent is told before anything is begun
        plan = rollouts.Plan.of(
            loaded, seeds=range(seed, seed + seeds), n=n, agent=agent, harness=harness, reward=spec, player=player,
            settings={**others, "agent_sha256": _content(agent)},
        )
        with _progress(plan) as tell:
            result = rollouts.rollout(loaded, make, plan=plan, settings=settings, out=out, resume=resume, tell=tell)
    _tell(result, out, as_json)
    if result.sealed < result.planned:
        raise typer.Exit(1)


def _load(names: Sequence[str], suite: str | None) -> "list[Task]":
    from cowork_gym.benchmarks.suite import load_suite
    from cowork_gym.envs.registration import load_task

    if not names and suite is None:
        raise UserError("name a task, a package's folder, or a --suite")
    listed = list(load_suite(suite).load().values()) if suite else []
    return [*(load_task(one) for one in names), *listed]


def _maker(agent: str, tool_format: Literal["native", "prompted"], max_tokens: int, temperature: float) -> "Callable[[Task], Policy]":
    from cowork_gym.harness import make_agent
    from cowork_gym.harness.engines import Sampling

    return partial(make_agent, agent, tool_format=tool_format, sampling=Sampling(max_tokens, temperature))


def _content(agent: str) -> str | None:
    """The sha256 of an agent's script; None for an agent that has none."""
    kind, _, file = agent.partition(":")
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest() if kind == "script" else None
    except OSError:  # the agent itself says so, in better words
        return None


@contextmanager
def _settings(concurrency: int, harness: str, spec: str | None, judge: str | None, user: str, official: bool) -> "Iterator[Settings]":
    """How it is played; a grading process is ended with it."""
    from cowork_gym.envs.session import Grading
    from cowork_gym.harness.grading_worker import GradingWorker
    from cowork_gym.harness.judges import make_judge
    from cowork_gym.harness.rollout import Settings
    from cowork_gym.harness.spec import make_harness_source
    from cowork_gym.harness.users import make_user

    how = Grading(spec, None if judge is None else make_judge(judge))
    settings = Settings(concurrency, make_harness_source(harness), partial(make_user, user), how)
    if not official:
        yield settings
        return
    with GradingWorker(None if judge is None else partial(make_judge, judge)) as worker:
        yield replace(settings, grading=replace(how, judge=None, grader=worker))


@contextmanager
def _progress(plan: "Plan") -> "Iterator[Any]":
    """A bar on standard error; a way to tell of each episode."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    rewards: list[float] = []
    faults = 0
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("episodes", total=len(plan.slots))

        def tell(one: "Played") -> None:
            nonlocal faults
            reward = one.episode.grade.reward if one.episode.grade else None
            if reward is None:
                faults += 1
                fault = one.episode.grade and one.episode.grade.fault
                complain(f"{one.slot.name}: quarantined: {fault.blame}: {fault.message}" if fault else f"{one.slot.name}: quarantined")
            else:
                rewards.append(reward)
            mean = f"reward {sum(rewards) / len(rewards):.2f}" if rewards else "episodes"
            progress.update(bar, advance=1, description=f"{mean}, {counted(faults, 'fault')}" if faults else mean)

        yield tell


def _tell(result: "Rollout", out: Path, as_json: bool) -> None:
    if as_json:
        print_document({**result.to_dict(), "out": str(out)})
        return
    mean = "" if result.reward is None else f", mean reward {result.reward:.3f}"
    print(f"{result.sealed} of {counted(result.planned, 'episode')} sealed, {result.quarantined} quarantined{mean}: {out}")
