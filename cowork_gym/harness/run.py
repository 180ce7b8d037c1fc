"""One run while it lives: its view, its policy, and the record of what the policy saw and sampled. Loops drive it, middleware looks into it."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from cowork_gym.core.episode import Ending, Turn
from cowork_gym.core.errors import Blame, Fault, UserError, told
from cowork_gym.core.messages import Message
from cowork_gym.core.trajectory import ROOT, Generation, Prefix, Purpose, Rewrite, RewriteKind, Run, Segment, Tokens
from cowork_gym.envs.session import Session
from cowork_gym.envs.turns import spoken
from cowork_gym.harness.engines.engine import ContextFull
from cowork_gym.harness.policies.answered import check_answer
from cowork_gym.harness.policies.policy import Action, Draw, Policy, Usage
from cowork_gym.harness.view import Block, Rewritten, View, check_rewritten

if TYPE_CHECKING:
    from cowork_gym.harness.middleware.middleware import Middleware

__all__ = ["Asker", "LiveRun", "Spent", "Watch", "blamed", "estimate"]

Watch: TypeAlias = Callable[[Turn], None]
"""Is shown each turn as it happens."""
_LOG = logging.getLogger(__name__)
_STOPS = frozenset(Ending) - {Ending.FINAL, Ending.FAULT}
"""How a component may end a run."""
_CHARACTERS = 4
"""That a token has on average, for views whose tokens nobody counts."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asked for a child run."""

    run: int
    generation: int
    call: str
    """The dispatch id."""
    handoff: str


@dataclass(slots=True)
class Spent:
    """What a run has used so far."""

    turns: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class LiveRun:
    """One policy loop with a history of its own, on a session that it may share with other runs.

    Args:
        session: The episode.
        policy: Who plays it. It was reset.
        view: What is visible at the beginning.
        tools: The schemas of the tools that are offered.
        middleware: In order.
        crew: All runs of the episode, to which this one adds itself.
        asker: For a child: who asked for it.
        known: Token ids of the view, where the policy goes on from a recorded prefix.
        watch: Is shown each turn as it happens.
        seed: The one that the policy was reset with.
        audit: Why none of its tokens may be trained; empty when they may.
    """

    def __init__(
        self, session: Session, policy: Policy, view: View, tools: Sequence[Mapping[str, Any]], middleware: "Sequence[Middleware]" = (), *,
        crew: "list[LiveRun] | None" = None, asker: Asker | None = None, known: tuple[int, ...] = (), watch: Watch | None = None,
        seed: int = 0, audit: str = "",
    ) -> None:
        self.session, self.policy, self.view, self.tools, self.middleware = session, policy, view, [*tools], tuple(middleware)
        self.crew = [] if crew is None else crew
        self.number, self.asker, self.watch, self.seed = len(self.crew), asker, watch, seed
        self.crew.append(self)
        session.offered[self.number] = frozenset(one["function"]["name"] for one in tools)
        self.spent = Spent()
        self.full = False
        """Whether the last prompt did not fit into the model's context."""
        self.size = len(known) + estimate(view.messages[len(view.answered) :] if known else view.messages)
        """Tokens of the view, as the policy counts them and estimated where it does not."""
        self.ending: str = ""
        """Of a child: why it ended."""
        self.result: str | None = None
        self._known = known
        self._segments: list[Segment] = []
        self._rewrite: Rewrite | None = None
        self._generations: list[Generation] = []
        self._barred = self._audit = audit
        self._count = 0
        self._pending: Action | None = None  # what was sampled and not taken yet
        self._draw: Draw | None = None
        self._foreign = False  # whether the last answer is not the policy's, so that it has to render anew
        self._seen: tuple[Message, ...] = ()
        self._characters = 0  # of what was seen, counted as it grows

    @property
    def open(self) -> bool:
        """Whether it goes on."""
        return self.session.progress.ending is None and not self.ending

    @property
    def last(self) -> int:
        """The number of the last generation."""
        return self._count - 1

    def turn(self) -> bool:
        """Take one turn: let the middleware rewrite the view, ask for an action, take it.

        Returns:
            Whether the run goes on.
        """
        while self.open and self._prepare():
            try:
                action = self.ask()
            except ContextFull:
                self._drop("the prompt did not fit")  # a component had an answer already
                self.full = True
                continue
            self.step(action)
            return self.open
        return False

    def _prepare(self) -> bool:
        """See whether the run has to end, then let one component rewrite the view."""
        for one in self.middleware:
            if (ending := one.stop(self)) is not None:
                if ending not in _STOPS:
                    raise Fault(Blame.HARNESS, one.name, f"a component ends a run by one of {', '.join(sorted(_STOPS))}, not by {ending!r:.40}")
                self.end(ending)
                return False
        for one in self.middleware:
            if (rewritten := one.rewrite(self)) is not None and not (self.full and estimate(rewritten.view.messages) >= estimate(self.view.messages)):
                self._become(rewritten, one.name)
                return True
        if self.full:
            self.end(Ending.CONTEXT)
        return not self.full

    def ask(self, purpose: Purpose = Purpose.ACT, *extra: Message) -> Action:
        """Let the policy answer what is visible, and `extra` behind it. The answer is recorded as kept until `discard` says otherwise.

        Each call of the policy is recorded. Where a component asks twice, the first answer is discarded; where it answers itself or changes the
        answer, what it says opens a segment that no trainer may use.

        Raises:
            ContextFull: The prompt does not fit. Nothing was sampled.
            Fault: The policy failed, or the harness around it.
        """
        purpose, history = Purpose(purpose), (*self.view.messages, *extra)
        self._drop("asked again before it was taken")
        asked = list[Message]()

        def answer() -> Action:
            action = self.policy.act(history) if purpose is Purpose.ACT else self.policy.write(history)
            check_answer(self.policy, action, self._draw)
            self._draw = self.policy.draw
            if asked:
                self.discard("asked again")
            asked.append(spoken(action))
            self._record(purpose, history, asked[-1], self.policy.draw, self.policy.usage)
            return action

        for one in reversed(self.middleware):
            answer = _around(one, self, purpose, answer)
        with blamed(self.policy.name, exits=True):
            action = answer()
            if not asked or (self.middleware and spoken(action) != asked[-1]):
                self._replace(purpose, history, spoken(action), asked=bool(asked))
            if self._generations[-1].purpose is not purpose:
                raise RuntimeError("a component let the policy write while it was asked for something else")
        self._pending = action if purpose is Purpose.ACT else None
        self.note("generation", generation=self._generations[-1])
        return action

    def _replace(self, purpose: Purpose, history: tuple[Message, ...], said: Message, *, asked: bool) -> None:
        """Record an answer that a component gave in place of the policy."""
        if asked:
            self.discard("a component changed it")
        why = "a component of the harness answered, not the policy"
        if self._generations:
            self._cut(RewriteKind.UNEXPLAINED, why, history)
        self._audit = self._audit or why
        self._record(purpose, history, said, Draw(), Usage())
        self._foreign = True

    def write(self, purpose: Purpose, *extra: Message) -> Action | None:
        """Let the policy write a text that the last of `extra` asks for; None where the prompt does not fit.

        Raises:
            Fault: The policy failed, or the harness around it.
        """
        try:
            return self.ask(purpose, *extra)
        except ContextFull:
            return None

    def discard(self, reason: str) -> None:
        """Let the last generation be one that the history did not go on from."""
        if not isinstance(reason, str):
            raise TypeError(f"the reason of a discarded answer is a text, not {reason!r:.40}")
        one, self._pending = self._generations[-1], None
        tokens = one.tokens and replace(one.tokens, mask=(False,) * len(one.tokens.ids))
        self._generations[-1] = replace(one, kept=False, reason=reason, tokens=tokens)
        kept = [each for each in self._generations if each.kept]
        self._seen = tuple(message for each in kept for message in (*each.given, each.said))
        self._characters = _characters(self._seen)

    def keep(self, *extra: Message, then: Message) -> None:
        """Make a text that was just written a part of the view, between what asked for it and what leads on: a prompt never ends with an answer."""
        self.view = replace(self.view, blocks=(*self.view.blocks, Block((*extra, self._generations[-1].said, then))))

    def step(self, action: Action) -> Turn:
        """Take the action that was just sampled, and show what came back.

        Raises:
            Fault: It is not what the policy was just asked for, or a component shows something else than came back.
        """
        if action is not self._pending:
            raise Fault(Blame.HARNESS, "loop", "a turn takes the answer that the policy was just asked for, and each one once")
        self._pending = None
        try:
            self.session.take(action, self.number)
        finally:  # an interrupted turn is in the record as well
            turn = self.session.progress.turns[-1]
            self._generations[-1] = _taken(self._generations[-1], turn)
            self._seen = (*self._seen[:-1], turn.said)
            if turn.action is None:
                self._characters = _characters(self._seen)
        self.spent.turns += 1
        self.spent.calls += len(turn.dispatches)
        shown = turn.observation
        for one in self.middleware:
            before, shown = shown, one.show(self, turn, shown)
            if [(message.role, message.tool_call_id) for message in shown] != [(message.role, message.tool_call_id) for message in before]:
                raise Fault(Blame.HARNESS, one.name, "a component shows as many messages as came back, in the same roles, to the same calls")
        answered = turn.action is not None and not turn.action.tool_calls
        if self.number != ROOT and answered:
            self.ending, self.result = Ending.FINAL, turn.said.content or ""
        self.view = View(self.view.head, (*self.view.blocks, Block((turn.said, *shown), turn.index, pinned=answered and bool(shown))))
        self.size += estimate(shown)
        self.note("turn", turn=turn)
        if self.watch is not None:
            self.watch(turn)
        return turn

    def end(self, ending: Ending) -> None:
        """End it here: the root run ends the episode, a child only itself."""
        ending = Ending(ending)
        if self.number == ROOT:
            self.session.stop(ending)
        else:
            self.ending = self.ending or ending

    def finish(self) -> None:
        """See that an ended child says why it ended."""
        self.ending = self.ending or self.session.progress.ending or Ending.STOPPED

    def note(self, event: str, **what: Any) -> None:
        """Tell all middleware of something that happened."""
        for one in self.middleware:
            one.note(self, event, **what)

    def record(self) -> Run:
        """The run as it stands."""
        self._drop("interrupted before it was taken")
        segments = (*self._segments, *([self._segment()] if self._generations else []))
        names, who = tuple(one["function"]["name"] for one in self.tools), self.asker
        if who is None:
            return Run(self.number, segments, names)
        return Run(self.number, segments, names, who.run, who.generation, who.call, who.handoff, self.result, self.ending)

    def _drop(self, reason: str) -> None:
        """Discard an action that was sampled and led to nothing."""
        if self._generations and _unfinished(self._generations[-1]):
            self.discard(reason)

    def _segment(self) -> Segment:
        return Segment(tuple(self._generations), self._rewrite, self._audit)

    def _become(self, rewritten: Rewritten, by: str) -> None:
        """Take over a rewritten view. One that only adds to what was visible is no rewrite."""
        before, after = self.view.messages, rewritten.view.messages
        check_rewritten(rewritten)
        self.view, self.size = rewritten.view, estimate(after)
        if self._generations:
            if not self._seen or after[: len(self._seen)] != self._seen:
                self._close(Rewrite(rewritten.kind, by, Prefix.of(self._seen), Prefix.of(after), rewritten.summary))
                self.policy.restart()
        elif self._rewrite is not None:  # nothing was sampled since the last rewrite: the two are one
            self._rewrite = replace(
                self._rewrite, kind=rewritten.kind, by=f"{self._rewrite.by}, {by}", after=Prefix.of(after), summary=rewritten.summary,
            )
        self.note("rewrite", kind=rewritten.kind, by=by, before=before, after=after)

    def _close(self, rewrite: Rewrite) -> None:
        """Close the segment and open the next."""
        self._segments.append(self._segment())
        self._generations, self._rewrite, self._audit, self._seen, self._known = [], rewrite, self._barred, (), ()
        self._characters = 0

    def _record(self, purpose: Purpose, history: tuple[Message, ...], said: Message, draw: Draw, usage: Usage) -> None:
        """Put the answer into the record: into this segment, if the prompt goes on where it stood."""
        seen = self._seen
        if seen and history[: len(seen)] != seen:
            self._cut(RewriteKind.UNEXPLAINED, "what is visible changed and nobody declared it", history)
        elif seen and draw.tokens is not None and draw.fresh:
            why = draw.flaw or "the prompt was rendered anew, though what is visible only grew"
            self._cut(RewriteKind.TEMPLATE, "" if self._foreign else why, history)
        self._audit = self._audit or draw.flaw
        given = history[len(self._seen) :]
        tokens = self._whole(draw)
        self._generations.append(Generation(self._count, purpose, given, said, None, draw.finish, draw.version, tokens=tokens))
        self._count += 1
        self._seen = (*history, said)
        self._characters += _characters((*given, said))
        self.spent.prompt_tokens += usage.prompt_tokens
        self.spent.completion_tokens += usage.completion_tokens
        self.session.spend(usage.completion_tokens)
        self.size = usage.prompt_tokens + usage.completion_tokens or self._characters // _CHARACTERS
        self.full = False

    def _whole(self, draw: Draw) -> Tokens | None:
        """The tokens of a generation; the first of a branch has the recorded prefix before what was added to it."""
        if draw.tokens is None or draw.fresh or self._seen:
            return draw.tokens
        if not self._known:
            self._audit = self._audit or "the beginning of the prompt is not known"
        return replace(draw.tokens, context=(*self._known, *draw.tokens.context))

    def _cut(self, kind: RewriteKind, why: str, history: tuple[Message, ...]) -> None:
        """Begin a segment that was not declared. No trainer may use it, if it is said why."""
        self._close(Rewrite(kind, "recorder", Prefix.of(self._seen), Prefix.of(history)))
        self._audit, self._foreign = self._barred or why, False


def _around(one: "Middleware", run: LiveRun, purpose: Purpose, ask: Any) -> Any:
    return lambda: one.ask(run, purpose, ask)


def _unfinished(one: Generation) -> bool:
    return one.kept and one.purpose is Purpose.ACT and one.turn is None


def _taken(one: Generation, turn: Turn) -> Generation:
    """A generation that led to a turn: as `replace` would make it, in a third of the time."""
    return Generation(one.index, one.purpose, one.given, turn.said, turn.index, one.finish, one.version, one.kept, one.reason, one.tokens)


def estimate(messages: Sequence[Message]) -> int:
    """About how many tokens messages have, where nobody counts them."""
    return _characters(messages) // _CHARACTERS


def _characters(messages: Sequence[Message]) -> int:
    count = 0
    for one in messages:
        count += len(one.content or "")
        for call in one.tool_calls:
            count += len(call.name) + len(str(call.arguments))
    return count


class blamed:
    """Whatever a policy raises, or a part of the harness, as a fault with the harness's blame.

    Args:
        name: Whose fault it is.
        exits: Whether an exit is one too. Around what a person watches with, it means that nobody looks any more.
    """

    def __init__(self, name: str, *, exits: bool = False) -> None:
        self._name, self._caught = name, (Exception, SystemExit) if exits else (Exception,)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, self._caught) and not isinstance(error, Fault | UserError | ContextFull):
            _LOG.error("%s failed", self._name, exc_info=error)
            raise Fault(Blame.HARNESS, self._name, told(error)[:300]) from error
