"""The play: one policy in one environment under one harness, from the request to the sealed episode."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import Blame, Fault, FaultRecord, UserError
from cowork_gym.core.messages import ToolCall
from cowork_gym.core.trajectory import ROOT, Lineage, Origin
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.progress import Checkpoint, Progress
from cowork_gym.envs.session import InnerTool, Session
from cowork_gym.harness.compose import PLAIN, Harness
from cowork_gym.harness.engines.engine import ContextFull
from cowork_gym.harness.inner.tool import HarnessTool
from cowork_gym.harness.policies.answered import card_of
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.run import LiveRun, Spent, Watch, blamed
from cowork_gym.harness.view import View

__all__ = ["Prefixed", "Watch", "play"]

_LOG = logging.getLogger(__name__)

_Schemas: TypeAlias = Sequence[Mapping[str, Any]]
"""Of the tools that a run is offered."""


@dataclass(frozen=True, slots=True)
class Prefixed:
    """A recorded beginning that is played on from."""

    origin: Origin
    view: View
    """What was visible at that point."""
    ids: tuple[int, ...] = ()
    """The exact tokens of it, up to the last sampled one; empty when they are not known."""


def play(
    env: CoworkEnv, policy: Policy, *, harness: Harness = PLAIN, seed: int | None = None, sampling: int | None = None,
    start: Checkpoint | None = None, prefix: Prefixed | None = None, watch: Watch | None = None,
) -> Episode:
    """Play one episode, or the rest of one.

    What a policy raises quarantines the episode, as the harness's fault unless it says otherwise: to fail is not to play badly.

    Args:
        env: The environment, unwrapped.
        policy: Who plays.
        harness: What stands between the two.
        seed: Of the world and of the policy; None lets the environment choose. A world that goes on from `start` keeps its own.
        sampling: The policy's seed, where it is not to be the world's.
        start: The moment to go on from, its turns being the policy's past; None begins anew.
        prefix: What the policy saw until `start`, where that is known from a record.
        watch: Is shown each turn as it happens.

    Returns:
        The episode with its grade. The environment stays open, at the episode's end.

    Raises:
        UserError: The person at the keyboard has to mend something first, the harness lacks something, or `start` is of another task.
    """
    crew, session = list[LiveRun](), _begin(env, policy, seed, start)
    drawn = next(one for one in (sampling, seed, env.seed) if one is not None)
    session.lineage = Lineage(origin=prefix.origin if prefix else None)
    try:
        offered = _prepared(session, policy, harness, crew, drawn, env.action_space.schemas)
        root = _root(env, policy, harness, prefix, crew, drawn, watch, offered)
        with blamed(harness.name):
            root.note("start", harness=harness)
            harness.loop.play(root)
    except Fault as fault:
        session.fail(fault.record)
    except ContextFull as full:
        session.fail(FaultRecord(Blame.HARNESS, harness.name, f"the model's context was full where nothing is sampled: {full}"))
    finally:  # an episode that was interrupted is sealed with what there is
        session.lineage = replace(session.lineage, runs=tuple([one.record() for one in crew]))
    return _told(crew, session.conclude())


def _told(crew: list[LiveRun], episode: Episode) -> Episode:
    """The episode, once the root's middleware was told that it is over. It is sealed and graded: what fails now changes nothing."""
    for one in crew[:1]:
        try:
            one.note("end", episode=episode)
        except Exception:
            _LOG.exception("middleware failed after the end")
    return episode


def _begin(env: CoworkEnv, policy: Policy, seed: int | None, start: Checkpoint | None) -> Session:
    """The session that is played, at its start or at the given moment."""
    if not isinstance(policy.name, str):
        raise UserError(f"a policy's name is a text, not {policy.name!r:.40}")
    if start is None:
        env.reset(seed=seed)
    else:
        env.restore(start)
    env.agent = policy.name
    env.session.states = True
    return env.session


def _prepared(session: Session, policy: Policy, harness: Harness, crew: list[LiveRun], seed: int, schemas: _Schemas) -> _Schemas:
    """Put harness and policy into the session, once it is clear that nothing is missing.

    Returns:
        The tools that the policy is offered.
    """
    with blamed(harness.name):
        offered = harness.check(policy, schemas)
        session.inner = {tool.name: _inner(tool, crew) for tool in harness.tools}
        session.lineage = replace(session.lineage, policy=card_of(policy, seed), composition=harness.composition)
    return offered


def _root(
    env: CoworkEnv, policy: Policy, harness: Harness, prefix: Prefixed | None, crew: list[LiveRun], seed: int, watch: Watch | None,
    offered: _Schemas,
) -> LiveRun:
    """The root run, its policy ready: with the request alone, with the turns that there are, or with what a record says was visible."""
    past = env.progress.messages
    view, known = (prefix.view, prefix.ids) if prefix else (View.parse((*harness.prompt.head(env.opening, harness.skills), *past)), ())
    with blamed(policy.name, exits=True):
        policy.reset(offered, seed)
        if known:
            policy.adopt(view.answered, known)
    root = LiveRun(env.session, policy, view, offered, harness.middleware, crew=crew, known=known, watch=watch, seed=seed)
    root.spent = _spent(env.progress)
    return root


def _spent(past: Progress) -> Spent:
    """What the root run has used of its budgets so far. Nobody knows the prompts of turns that were taken over."""
    own = [one for one in past.turns if one.run == ROOT]
    return Spent(len(own), sum(len(one.dispatches) for one in own), 0, sum(one.tokens for one in own))


def _inner(tool: HarnessTool, crew: list[LiveRun]) -> InnerTool:
    """A tool of the harness as the session calls it."""

    def answer(run: int, call: ToolCall, dispatch: str) -> str:
        text = tool.answer(crew[run], call.decoded(), dispatch)
        if not isinstance(text, str):
            raise Fault(Blame.HARNESS, tool.name, f"a tool of the harness answers with a text, not with {type(text).__name__}")
        return text

    return answer
