"""The verb `run`: an agent plays a task; its turns and its grade are shown, and the episode may be kept."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cowork_gym.cli.apart import apart
from cowork_gym.cli.document import print_document
from cowork_gym.cli.given import folder
from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import UserError
from cowork_gym.core.grade import Grade
from cowork_gym.core.task import Task
from cowork_gym.core.wording import counted
from cowork_gym.harness.agents import AGENTS
from cowork_gym.harness.spec import HARNESSES

if TYPE_CHECKING:
    from rich.console import Console

    from cowork_gym.envs.dialogue import Counterpart
    from cowork_gym.envs.env import CoworkEnv
    from cowork_gym.harness import Harness, Policy
    from cowork_gym.harness.loop import Watch

__all__ = ["add_to", "run"]

_WIDEST = max(map(len, [*AGENTS, *HARNESSES]))


def _listed(names: Mapping[str, str]) -> list[str]:
    return [f"  {name:<{_WIDEST}}  {what}" for name, what in names.items()]


_PARTS = "A harness is a loop and other parts, with + between them, such as plan-act:every=5+summary:at=2000+retry. Its parts:"
_EXAMPLE = "Example: cowork run M1100 --agent reference --harness react+window --out episodes"
_EPILOG = "\n".join(["\b", "Agents:", *_listed(AGENTS), "", "\b", _PARTS, *_listed(HARNESSES), "", _EXAMPLE])


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command."""
    app.command("run", epilog=_EPILOG)(run)


def _share(given: float | None) -> float | None:
    if given is not None and not 0 <= given <= 1:
        raise UserError(f"--min-reward is a number from 0 to 1, not {given:g}")
    return given


def run(
    id: Annotated[str, typer.Argument(metavar="ID", help="An environment id, the part of it that says enough, or a package's folder.")],
    agent: Annotated[str, typer.Option("--agent", metavar="AGENT", help="Who plays; see below.")],
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the world and of the agent.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", parser=folder, help="Write the sealed episode there, as JSON lines.")] = None,
    door: Annotated[str, typer.Option("--door", metavar="DOOR", help="How calls reach the services: direct, or asgi.")] = "direct",
    spec: Annotated[str | None, typer.Option("--reward", metavar="SPEC", help="The reward spec, where it is not to be the task's own.")] = None,
    tool_format: Annotated[Literal["native", "prompted"], typer.Option("--format", help="How an openai: agent is told of its tools.")] = "native",
    judge: Annotated[str | None, typer.Option("--judge", metavar="JUDGE", help="Who judges by rubrics: openai:MODEL@BASE_URL.")] = None,
    user: Annotated[str, typer.Option("--user", metavar="USER", help="Who answers questions: rules, or openai:MODEL@BASE_URL.")] = "rules",
    harness: Annotated[str, typer.Option("--harness", metavar="SPEC", help="What stands between agent and task; see below.")] = "react",
    min_reward: Annotated[float | None, typer.Option("--min-reward", metavar="X", callback=_share, help="Exit 1 when the reward is less.")] = None,
) -> None:
    """Let an agent play a task, and show the conversation and its grade.

    Exit code 1 says that the reward is under --min-reward, or that there is none because a fault quarantined the episode; 130 that
    Ctrl-C stopped it, after which it is graded and kept as it stands.
    """
    from cowork_gym.cli.conversation import count_sources, show_exchange
    from cowork_gym.cli.display import open_screen
    from cowork_gym.envs.variation import instance

    screen = None if as_json else open_screen()
    with apart(as_json):
        env, users = _open_env(id, door, spec, judge, user)
        try:
            form = instance(env.task, seed)
            policy, composed = _players(env, form, agent, tool_format, harness)
            folder = None if out is None else _open_folder(out)
            _show_start(screen, form, policy.name, seed)
            episode, interrupted = _play(env, policy, composed, seed, partial(show_exchange, screen, env) if screen else None)
        finally:
            env.close()
    grade = _graded(episode)
    file = None if folder is None else _write(episode, folder)
    _tell(screen, episode, composed, file, None if user == "rules" else count_sources(users))
    if interrupted or grade.reward is None or grade.reward < (min_reward or 0):
        raise typer.Exit(130 if interrupted else 1)


def _open_env(id: str, door: str, spec: str | None, judge: str | None, user: str) -> "tuple[CoworkEnv, list[Counterpart | None]]":
    """The environment, and the users of the forms that it takes, the later ones included."""
    from cowork_gym.envs.env import CoworkEnv
    from cowork_gym.harness.judges import make_judge
    from cowork_gym.harness.users import make_user

    users: list[Counterpart | None] = []

    def found(task: Task) -> "Counterpart | None":
        users.append(make_user(user, task))
        return users[-1]

    return CoworkEnv(id, door=door, reward=spec, judge=None if judge is None else make_judge(judge), user=found), users


def _players(env: "CoworkEnv", form: Task, agent: str, tool_format: Literal["native", "prompted"], spec: str) -> "tuple[Policy, Harness]":
    """Who plays, and under which harness. Both fit together."""
    from cowork_gym.harness import make_agent
    from cowork_gym.harness.spec import make_harness_source

    policy, harness = make_agent(agent, form, tool_format=tool_format), make_harness_source(spec)(form.id, 0)
    harness.check(policy, env.action_space.schemas)
    return policy, harness


def _play(env: "CoworkEnv", policy: "Policy", harness: "Harness", seed: int, watch: "Watch | None") -> tuple[Episode, bool]:
    """The episode, and whether the person cut it short."""
    from cowork_gym.harness import play

    try:
        return play(env, policy, harness=harness, seed=seed, watch=watch), False
    except KeyboardInterrupt:
        return env.finish(), True


def _graded(episode: Episode) -> Grade:
    assert episode.grade is not None  # what has ended is graded
    return episode.grade


def _tell(screen: "Console | None", episode: Episode, harness: "Harness", file: Path | None, sources: Mapping[str, int] | None) -> None:
    if screen is None:
        print_document({**_report(episode, _graded(episode), file, sources), **_of_harness(episode, harness)})
    else:
        _show_end(screen, episode, _graded(episode), file, sources)


def _report(episode: Episode, grade: Grade, file: Path | None, sources: Mapping[str, int] | None) -> dict[str, Any]:
    told = grade.to_dict()
    return {
        "task": episode.task, "release_id": episode.release_id, "agent": episode.agent, "seed": episode.seed, "ending": episode.ending,
        "turns": len(episode.turns), "calls": len(episode.dispatches), "answer": episode.answer, "grade": told, "checks": told["checks"],
        "fingerprint": episode.end, "ledger": episode.ledger.hash, "episode": None if file is None else str(file),
        "replies": sources, "messages": [one.wire() for one in episode.messages],
    }


def _of_harness(episode: Episode, harness: "Harness") -> dict[str, Any]:
    composition = harness.composition
    return {
        "harness": {"name": harness.name, "sha256": composition.sha256}, "runs": len(episode.runs),
        "segments": sum(len(run.segments) for run in episode.runs),
    }


def _show_start(screen: "Console | None", task: Task, agent: str, seed: int) -> None:
    from rich.text import Text

    from cowork_gym.cli.conversation import show_user

    if screen is not None:
        screen.print(Text(f"{task.id}: {task.title}", "bold").append(f"\n{agent} plays, seed {seed}\n", "not bold"), soft_wrap=True)
        show_user(screen, task.request)
        screen.print()


def _show_end(screen: "Console", episode: Episode, grade: Grade, file: Path | None, sources: Mapping[str, int] | None) -> None:
    from rich.text import Text

    from cowork_gym.cli.conversation import show_sources
    from cowork_gym.cli.display import show_grade, show_rewrites

    turns, calls = counted(len(episode.turns), "turn"), counted(len(episode.dispatches), "call")
    screen.print(Text(f"\nended by {episode.ending} after {turns} and {calls}"), soft_wrap=True)
    show_rewrites(screen, episode.runs)
    show_grade(screen, grade)
    if sources is not None:
        show_sources(screen, sources)
    if file is not None:
        screen.print(Text(f"episode: {file}"), soft_wrap=True)


def _open_folder(path: Path) -> Path:
    """The folder for episodes, made before anything is played.

    Raises:
        UserError: It cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{path}: no folder to write to: {error.strerror}") from None
    return path


def _write(episode: Episode, folder: Path) -> Path:
    from cowork_gym.core.record import write_episode

    try:
        return write_episode(episode, folder)
    except OSError as error:
        raise UserError(f"{folder}: the episode cannot be written: {error.strerror}") from None
