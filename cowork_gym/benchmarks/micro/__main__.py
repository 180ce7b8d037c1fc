"""The tables of docs/micro.md: `python -m cowork_gym.benchmarks.micro`, about a minute."""

from rich.console import Console
from rich.table import Table

from cowork_gym.benchmarks.micro.demonstrations import HELD_OUT, LONG, SHORT
from cowork_gym.benchmarks.micro.floors import PLAYERS, mean_reward
from cowork_gym.benchmarks.micro.sizes import measure

__all__ = ["main"]

_SEEDS = HELD_OUT[:100]


def main() -> None:
    """Print what is read and said, the time that it takes, and what players earn."""
    console = Console(width=130)
    sizes = {task: measure(task, _SEEDS) for task in (*SHORT, LONG)}
    table = Table("task", "turns", "said", "read", "longest observation", "longest episode", "form, ms", "first episode, ms", "again, ms")
    for task, one in sizes.items():
        numbers = (f"{one.turns:.1f}", f"{one.said:.0f}", f"{one.read:.0f}", str(one.most), str(one.longest))
        table.add_row(task, *numbers, f"{one.forming:.2f}", f"{one.first:.1f}", f"{one.again:.1f}")
    console.print(table)
    console.print(f"{len(frozenset().union(*(one.words for one in sizes.values())))} different words")
    rewards = Table("player", *SHORT, "mean of these", LONG)
    for name, player in PLAYERS.items():
        short = [mean_reward(task, player, _SEEDS) for task in SHORT]
        rewards.add_row(name, *(f"{one:.3f}" for one in (*short, sum(short) / len(short), mean_reward(LONG, player, _SEEDS))))
    console.print(rewards)


if __name__ == "__main__":
    main()
