"""Training samples for each trajectory: into how many segments rewrites of the history cut it. `python -m cowork_gym.benchmarks.samples`.

A segment is one training sample: within it the history only grows, so that its tokens are one sequence. What is counted is what the harness
recorded of scripted trajectories of a fixed length.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from cowork_gym.benchmarks.speed.desk import READ, make_task
from cowork_gym.core.messages import Message, ToolCall, final
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.harness.compose import compose
from cowork_gym.harness.loop import play
from cowork_gym.harness.middleware import Middleware, Slide, Summary, Window
from cowork_gym.harness.policies.scripted import ScriptedPolicy

__all__ = ["CHAINS", "LENGTHS", "Samples", "count_samples", "main"]

LENGTHS = (10, 30, 31, 35, 40, 41, 100)
"""Turns of a trajectory, the final answer included."""
CHAINS: Mapping[str, Sequence[Middleware]] = {
    "none": (),
    "FIFO, window 30, stride 10": (Window(30, 10),),
    "sliding, the last 30": (Slide(30),),
    "sliding, the last 10": (Slide(10),),
    "sliding, the last one": (Slide(1),),
    "summary at 2,000 tokens": (Summary(at=2000),),
}
"""Middleware under the name that the table gives it."""


class Samples(NamedTuple):
    """What one trajectory gives a trainer."""

    turns: int
    segments: int
    """Training samples."""
    supervised: int
    """Generations that the history went on from, each in one sample only: actions, and summaries of the policy's own."""


def count_samples(env: CoworkEnv, middleware: Sequence[Middleware], turns: int) -> Samples:
    """Play a trajectory and count what was recorded of it.

    Args:
        env: Whose task has the desk's services.
        middleware: What rewrites the history.
        turns: How many, the final answer included.
    """
    lines = [*([Message("assistant", None, (ToolCall(*READ),))] * (turns - 1)), final("It is done.")]
    [run] = play(env, ScriptedPolicy("script", lines), harness=compose(middleware=middleware), seed=1).runs
    return Samples(sum(one.turn is not None for one in run.generations), len(run.segments), sum(one.kept for one in run.generations))


def main() -> None:
    """Print the table of all chains and lengths: samples, and behind them supervised generations."""
    env, table = CoworkEnv(make_task()), Table("history", *(f"{turns} turns" for turns in LENGTHS), caption="samples / supervised generations")
    for name, middleware in CHAINS.items():
        counted = [count_samples(env, middleware, turns) for turns in LENGTHS]
        table.add_row(name, *(f"{one.segments} / {one.supervised}" for one in counted))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
