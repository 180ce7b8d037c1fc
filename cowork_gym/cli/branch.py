"""The verb `branch`: a recorded episode is played on from one of its turns, in several ways."""

import re
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cowork_gym.cli.apart import apart
from cowork_gym.cli.document import print_document
from cowork_gym.cli.given import finite, folder
from cowork_gym.cli.replay import give_up
from cowork_gym.core.errors import UserError
from cowork_gym.core.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from cowork_gym.core.episode import Episode
    from cowork_gym.harness.mismatch import Mismatch

__all__ = ["add_to", "branch"]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command."""
    epilog = "Example: cowork branch episodes/M1003_ticket_kb_resolution-smol-0-1f0c2a9b.jsonl --turn 4 --n 8 --agent smol --out branches"
    app.command("branch", epilog=epilog)(branch)


def branch(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An episode file.")],
    turn: Annotated[int, typer.Option("--turn", metavar="N", min=0, help="How many turns are taken over; the next one is sampled anew.")],
    agent: Annotated[str, typer.Option("--agent", metavar="AGENT", help="Who plays on; `cowork run --help` lists them.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", parser=folder, help="Where the episodes are written, each as TASK-sSEED-bTURN-K.")],
    n: Annotated[int, typer.Option("--n", metavar="K", min=1, help="How many continuations.")] = 1,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The agent's seed in the first continuation; the others count on from it.")] = 0,
    harness: Annotated[str | None, typer.Option("--harness", metavar="SPEC", help="What stands around the agent, or @FILE, a sampler.")] = None,
    task: Annotated[str | None, typer.Option("--task", metavar="ID", help="The task or its folder, where the episode's is not registered.")] = None,
    judge: Annotated[str | None, typer.Option("--judge", metavar="JUDGE", help="Who judges by rubrics: openai:MODEL@BASE_URL.")] = None,
    user: Annotated[str, typer.Option("--user", metavar="USER", help="Who answers questions: rules, or openai:MODEL@BASE_URL.")] = "rules",
    tool_format: Annotated[Literal["native", "prompted"], typer.Option("--format", help="How an openai: agent is told of its tools.")] = "native",
    temperature: Annotated[float, typer.Option("--temperature", callback=finite, help="Of local:, sglang: and vllm: agents.")] = 1.0,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="The most that one answer of theirs may have.")] = 512,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Play an episode on from one of its turns: from the same state, and with what the agent saw then.

    Exit code 1 says that a fault quarantined a continuation, or that the replay came to another state than recorded.
    """
    from cowork_gym.core.record import read_episode
    from cowork_gym.harness import make_agent
    from cowork_gym.harness.branch import branch as play_on
    from cowork_gym.harness.engines import Sampling
    from cowork_gym.harness.judges import make_judge
    from cowork_gym.harness.recorded_harness import find_harness
    from cowork_gym.harness.users import make_user

    episode = read_episode(file)
    _make(out)
    around, asked = None if harness is None else find_harness(harness, episode), None if judge is None else make_judge(judge)
    make = partial(make_agent, agent, tool_format=tool_format, sampling=Sampling(max_tokens, temperature))
    play = partial(
        play_on, episode, turn, n, make, seeds=range(seed, seed + n), task=task, harness=around, user=partial(make_user, user), judge=asked,
    )
    with apart(as_json):
        played = _tried(play)
    if not isinstance(played, list):
        give_up(played, as_json)
    _tell(episode, played, turn, [_row(one, turn, seed + at, out) for at, one in enumerate(played)], as_json)


def _tried(play: "Callable[[], list[Episode]]") -> "list[Episode] | Mismatch":
    from cowork_gym.harness.mismatch import Mismatch

    try:
        return play()
    except Mismatch as error:
        return error


def _tell(episode: "Episode", played: "list[Episode]", turn: int, rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_document({"task": episode.task, "origin": played[0].origin and played[0].origin.seal, "turn": turn, "branches": rows})
    else:
        _show(rows, turn)
    if any(row["reward"] is None for row in rows):
        raise typer.Exit(1)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: no folder to write to: {error.strerror}") from None


def _row(episode: "Episode", turn: int, seed: int, out: Path) -> dict[str, Any]:
    """A continuation as it is told of, once it is written."""
    from cowork_gym.core.record import write_episode

    try:
        file = write_episode(episode, out, stem=_stem(episode, turn, out))
    except OSError as error:
        raise UserError(f"{out}: the episode cannot be written: {error.strerror}") from None
    reward = episode.grade.reward if episode.grade else None
    return {"seed": seed, "ending": episode.ending, "turns": len(episode.turns), "reward": reward, "episode": str(file)}


def _stem(episode: "Episode", turn: int, out: Path) -> str:
    """The first name in a folder that is free: continuations may be equal to the last byte, and each is a file of its own."""
    start = f"{re.sub('[^A-Za-z0-9_-]', '_', episode.task)[:100]}-s{episode.seed}-b{turn}"
    return next(stem for stem in (f"{start}-{at}" for at in count()) if not (out / f"{stem}.jsonl").exists())


def _show(rows: list[dict[str, Any]], turn: int) -> None:
    from cowork_gym.cli.display import open_screen, show_table

    shown = [
        [str(row["seed"]), row["ending"].value, str(row["turns"]), "none" if row["reward"] is None else f"{row['reward']:.3g}", row["episode"]]
        for row in rows
    ]
    screen = open_screen()
    show_table(screen, ["seed", "ending", "turns", "reward", "episode"], shown)
    known = [row["reward"] for row in rows if row["reward"] is not None]
    mean = f", mean reward {sum(known) / len(known):.3g}" if known else ""
    screen.print(f"{counted(len(rows), 'continuation')} after {counted(turn, 'turn')}{mean}", soft_wrap=True)
