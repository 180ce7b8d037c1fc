"""Branching: other continuations of a recorded episode, from the same state, the same visible history and the same tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from cowork_gym.core.episode import Ending, Episode, Turn
from cowork_gym.core.errors import UserError
from cowork_gym.core.messages import Message
from cowork_gym.core.record import seal
from cowork_gym.core.task import Task
from cowork_gym.core.trajectory import ROOT, Generation, Origin, Purpose, Segment
from cowork_gym.core.wording import counted
from cowork_gym.envs.conversation import User, ruled
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.progress import Checkpoint
from cowork_gym.graders.judge import Judge
from cowork_gym.harness.arguments import demand, demand_played, whole, wholes
from cowork_gym.harness.compose import PLAIN, Harness
from cowork_gym.harness.loop import Prefixed, play
from cowork_gym.harness.mismatch import Mismatch
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.recorded_harness import advice_of, name_of
from cowork_gym.harness.replay import check_boundary, replay
from cowork_gym.harness.view import Block, View

__all__ = ["PolicySource", "branch"]

PolicySource: TypeAlias = Callable[[Task], Policy]
"""Gives the policy of a continuation, anew for each. Only scripted ones look into the private half of the task, which is in the form of its seed."""

_MOST = 100_000
"""Continuations at once."""


@dataclass(frozen=True, slots=True)
class _Prompt:
    """What the policy saw when it was asked for a turn."""

    messages: tuple[Message, ...]
    ids: tuple[int, ...] | None = ()
    """The tokens of it up to the last sampled one; None when they are not known, or cannot be gone on from."""
    asked: Generation | None = None
    """What came of it then; None where nobody recorded what the policy saw."""


def branch(
    episode: Episode, turn: int, n: int, policy: PolicySource, *, harness: Harness | None = None, seeds: Sequence[int] | None = None,
    task: str | Path | Task | None = None, user: User = ruled, judge: Judge | None = None,
) -> list[Episode]:
    """Play an episode on from one of its turns, in several ways.

    The world is rebuilt once, by replay. Each continuation begins there, with what the policy saw before it was asked for the next turn. Where
    the policy has the tokenizer of the record, its first prompt extends exactly the recorded tokens.

    Args:
        episode: The record.
        turn: How many turns are taken over. The next one of the root run is the first that is sampled anew.
        n: How many continuations.
        policy: Who plays them.
        harness: What stands around the policy; None for that of the record, where it is the plain one.
        seeds: The policy's seed in each continuation; None counts from 0.
        task: The task that was played; None finds it by the name in the record.
        user: Who answers questions that the record does not have.
        judge: Who judges by rubrics.

    Returns:
        The sealed and graded episodes. Their `origin` names the record, whose first turns they share.

    Raises:
        UserError: An argument is of another type, the episode is quarantined or has no such turn, the turn is inside of a child run or was itself
            taken over, or the harness of the record is to be named.
        Mismatch: The replay came to another state than recorded, or the first prompt to other tokens.
    """
    demand_played(episode, task, user, judge)
    _check_kinds(turn, n, policy, harness, seeds)
    _check(episode, turn, n)
    each = _each(n, seeds)
    prompt, origin = _prompt(episode, turn), Origin(seal(episode), turn)
    with replay(episode, task=task, until=turn, user=user, judge=judge) as env:
        here, first = env.snapshot(), _made(policy, env.task)  # what is wrong with user or policy is told before what is missing
        around = _around(episode, harness)
        policies = chain([first], (_made(policy, env.task) for _ in each[1:]))
        done = [_continued(env, here, one, around, origin, prompt, episode, seed) for one, seed in zip(policies, each, strict=True)]
    return done  # noqa: RET504 - the context above may swallow nothing, but its type says that it may


def _each(n: int, seeds: Sequence[int] | None) -> Sequence[int]:
    """The seed of each continuation."""
    each = range(n) if seeds is None else seeds
    if len(each) != n:
        raise UserError(f"{counted(n, 'continuation')} need as many seeds, not {len(each)}")
    if (wrong := next((one for one in each if not 0 <= one < 2**63), None)) is not None:
        raise UserError(f"a seed is a whole number from 0 to 2^63 - 1, not {wrong}")
    return each


def _check_kinds(turn: object, n: object, policy: object, harness: object, seeds: object) -> None:
    demand("turn", "a whole number", turn, whole(turn))
    demand("n", "a whole number", n, whole(n))
    demand("policy", "a function of a Task that gives a Policy", policy, callable(policy))
    demand("harness", "a Harness, such as make_harness gives, or None", harness, harness is None or isinstance(harness, Harness))
    demand("seeds", "a sequence of whole numbers or None", seeds, seeds is None or isinstance(seeds, range) or wholes(seeds))


def _made(policy: PolicySource, task: Task) -> Policy:
    made = policy(task)
    demand("policy", "a function of a Task that gives a Policy", made, hasattr(made, "act"))
    return made


def _check(episode: Episode, turn: int, n: int) -> None:
    if n < 1:
        raise UserError(f"at least one continuation is to be played, not {n}")
    if n > _MOST:
        raise UserError(f"at most {_MOST:,} continuations are played, not {n}")
    if episode.ending is Ending.FAULT or episode.fault is not None or (episode.grade is not None and episode.grade.fault is not None):
        raise UserError(f"the episode of {episode.task} is quarantined: nothing is branched from it")
    if check_boundary(episode, turn) == len(episode.turns):
        last = len(episode.turns) - 1
        raise UserError(f"no turn follows the first {turn} of the episode" + (f": choose a number from 0 to {last}" if last >= 0 else ""))
    if episode.origin is not None and turn <= episode.origin.turn:
        taken = counted(episode.origin.turn, "turn")
        raise UserError(f"the episode goes on from {taken} of another one, whose record has what was seen until then: branch that one")


def _around(episode: Episode, harness: Harness | None) -> Harness:
    """The harness of the continuations."""
    if harness is not None:
        return harness
    if episode.composition is not None and episode.composition.sha256 != PLAIN.composition.sha256:
        name, advice = name_of(episode.composition), advice_of(episode.composition)
        raise UserError(f"the episode was played under a harness of its own, {name}: name the one for its continuations, {advice}")
    return PLAIN


def _prompt(episode: Episode, turn: int) -> _Prompt:
    """What the policy saw before the first turn that is sampled anew."""
    asked = next(one.index for one in episode.turns[turn:] if one.run == ROOT)
    for segment in episode.runs[ROOT].segments if episode.runs else ():
        for at, one in enumerate(segment.kept):
            if one.turn == asked:
                past = segment.kept[:at]
                messages = (*(each for old in past for each in (*old.given, old.said)), *one.given)
                return _Prompt(messages, _ids(segment, past), one)
    own = [one for one in episode.turns[:turn] if one.run == ROOT]
    return _Prompt((*episode.opening, *(each for one in own for each in (one.said, *one.observation))))


def _ids(segment: Segment, past: Sequence[Generation]) -> tuple[int, ...] | None:
    """The tokens of generations, if all are known and can be gone on from."""
    if segment.audit or any(one.tokens is None for one in past):
        return None
    return tuple(id for one in past if one.tokens for id in (*one.tokens.context, *one.tokens.ids))


def _continued(
    env: CoworkEnv, here: Checkpoint, policy: Policy, harness: Harness, origin: Origin, prompt: _Prompt, episode: Episode, seed: int,
) -> Episode:
    """One continuation."""
    same = episode.policy is not None and policy.tokenizer != "" and policy.tokenizer == episode.policy.tokenizer
    head = () if prompt.asked else harness.prompt.head((), harness.skills)
    view = _view((*head, *prompt.messages), episode.opening, here.progress.turns)
    ids = prompt.ids if same else None
    played = play(env, policy, harness=harness, sampling=seed, start=here, prefix=Prefixed(origin, view, ids or ()))
    if ids is not None:
        _check_prompt(played, episode, prompt, ids)
    return played


def _view(messages: Sequence[Message], opening: Sequence[Message], turns: Sequence[Turn]) -> View:
    """A history in the blocks that middleware drops or keeps: summaries stand alone, and a turn's messages together."""
    begin = next((at for at, one in enumerate(messages, 1) if one in opening), 0)
    first = next((at for at, one in enumerate(messages) if one.role == "assistant"), len(messages))
    alone = tuple(Block((one,)) for one in messages[begin:first])
    own, blocks = [one for one in turns if one.run == ROOT], list[Block]()
    for block in reversed(View.parse(messages[first:]).blocks if first < len(messages) else ()):
        shown = own.pop() if own and own[-1].said == block.messages[0] else None
        blocks.insert(0, Block(block.messages, shown.index if shown else None, block.pinned))
    return View(tuple(messages[:begin]), (*alone, *blocks))


def _check_prompt(played: Episode, episode: Episode, prompt: _Prompt, ids: tuple[int, ...]) -> None:
    """Hold the tokens of the first prompt against those of the record, where both are of the same messages.

    Raises:
        Mismatch: They differ.
    """
    run, asked = played.runs[ROOT], prompt.asked
    first = next(iter(run.generations), None)
    if asked is None or first is None or first.tokens is None or asked.tokens is None or first.purpose is not Purpose.ACT:
        return
    comparable = first.given == prompt.messages and (ids or set(run.tools) == set(episode.runs[ROOT].tools))
    recorded, now = (*ids, *asked.tokens.context), first.tokens.context
    if comparable and recorded != now:
        at = next((at for at, (one, other) in enumerate(zip(recorded, now, strict=False)) if one != other), min(len(recorded), len(now)))
        text = f"the prompt of turn {asked.turn} is rendered to other tokens than recorded, from token {at} of {len(recorded)} on"
        raise Mismatch(asked.turn, "prompt", text)
