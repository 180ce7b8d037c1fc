"""A conversation on the terminal: the request, the agent's turns, what the user replies, and the days on which parts of the task begin."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from cowork_gym.cli.display import show_turn
from cowork_gym.core.episode import Turn
from cowork_gym.core.wording import counted
from cowork_gym.envs.dialogue import Counterpart
from cowork_gym.harness.users import ModelUser, Source

if TYPE_CHECKING:
    from cowork_gym.envs.env import CoworkEnv

__all__ = ["count_sources", "show_exchange", "show_sources", "show_user"]


def show_user(screen: Console, text: str) -> None:
    """What the user says, whole, without what could move the cursor."""
    said = "".join(c if c.isprintable() or c == "\n" else " " for c in text.strip())
    screen.print(Text(f"user: {said}", "dim"), soft_wrap=True)


def show_exchange(screen: Console, env: "CoworkEnv", turn: Turn) -> None:
    """A turn of the agent, and what the user says to it: a reply, or the request of the next part after its day."""
    show_turn(screen, turn)
    if turn.action is None or turn.action.tool_calls:
        return
    for stage, end in zip(env.task.stages, env.progress.stages, strict=False):
        if end.turns == turn.index + 1:
            _show_day(screen, stage.day)
    for one in turn.observation:
        show_user(screen, one.content or "")


def _show_day(screen: Console, day: date) -> None:
    dash = "-" if screen.options.ascii_only else "—"
    screen.print(Text(f"\n{dash} {day.isoformat()} {dash}\n", "bold"))


def count_sources(users: Sequence[Counterpart | None]) -> Mapping[str, int]:
    """How many replies of an episode's user were worded by the model, by the rules alone, and by the rules in the model's place, and why."""
    sources = sum((one.sources for one in users if isinstance(one, ModelUser)), Counter[Source]())
    return {
        "model": sources[Source.MODEL] + sources[Source.RETRY], "rules": sources[Source.RULES], "refused": sources[Source.REFUSED],
        "unreachable": sources[Source.UNREACHABLE],
    }


def show_sources(screen: Console, counts: Mapping[str, int]) -> None:
    """One line about the words of the user's replies."""
    model, rules, refused, unreachable = (counts[name] for name in ("model", "rules", "refused", "unreachable"))
    replies = counted(sum(counts.values()), "reply", "replies")
    text = f"{replies} of the user: {model} worded by the model, {rules} by the rules, {refused} refused, {unreachable} unreachable"
    screen.print(Text(text, "yellow" if refused or unreachable else ""), soft_wrap=True)
