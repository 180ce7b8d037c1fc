"""An episode as a harness records it: two runs, three segments, a summary with a discarded attempt, and tokens."""

from dataclasses import replace

from episode_samples import UNGRADED

from cowork_gym.core.episode import Dispatch, Episode, Turn
from cowork_gym.core.ledger import Effect, Ledger
from cowork_gym.core.messages import Message, ToolCall, final
from cowork_gym.core.task import Budgets
from cowork_gym.core.trajectory import (
    Composition,
    Generation,
    PolicyCard,
    Prefix,
    Provenance,
    Purpose,
    Rewrite,
    RewriteKind,
    Run,
    Segment,
    Tokens,
)

OPENING = (Message("user", "Do it. 😀 证书"),)
PROMPT = (Message("system", "You help."), *OPENING)
ASK, SUMMARY, TOO_LONG = Message("user", "Sum up."), final("I saw C-1.\ud800"), final("I saw, I saw, I")
TOLD = Message("user", "Summary: I saw C-1.\ud800")
REWRITTEN = (*PROMPT, TOLD)


def _asks(id: str, tool: str = "crm_get", arguments: str = '{"id": "C-1"}') -> Message:
    return Message("assistant", None, (ToolCall(tool, arguments, id),))


def _back(id: str, text: str) -> tuple[Message, ...]:
    return (Message("tool", text, (), id, "crm_get"),)


def _ledger() -> Ledger:
    ledger = Ledger()
    for id in ("c1", "k1"):
        ledger = ledger.append(
            time="2026-03-02T09:00:01Z", dispatch=id, service="crm", tool="crm_get", effect=Effect.READ, arguments={"id": "C-1"}, status=200,
            outcome={"id": "C-1"}, audit=None, record=None,
        )
    return ledger


TURNS = (
    Turn(0, _asks("c1"), _back("c1", '{"id":"C-1"}'), (Dispatch("c1", "crm_get", 200, '{"id":"C-1"}', 1),), tokens=3, state="0" * 64),
    Turn(1, _asks("k1"), _back("k1", '{"id":"C-1"}'), (Dispatch("k1", "crm_get", 200, '{"id":"C-1"}', 2),), run=1, state="1" * 64),
    Turn(2, final("It is there."), (), run=1, state="1" * 64),
    Turn(3, _asks("d1", "delegate", "{not JSON"), _back("d1", "It is there."), (Dispatch("d1", "delegate", 200, "It is there.", inner=True),),
         tokens=2, state="1" * 64),
    Turn(4, final("done \ud800"), (), tokens=1, state="1" * 64),
)


def drawn(context: int, *logprobs: float, trained: bool = True) -> Tokens:
    """Tokens with these log-probabilities."""
    count = len(logprobs)
    return Tokens(tuple(range(context)), tuple(range(2**31 - count, 2**31)), logprobs, (trained,) * count)


def _generation(index: int, given: tuple[Message, ...], said: Message, turn: int | None, tokens: Tokens | None) -> Generation:
    purpose = Purpose.SUMMARY if turn is None else Purpose.ACT
    return Generation(index, purpose, given, said, turn, "stop", "step-3", tokens=tokens)


OLD = Segment((
    _generation(0, PROMPT, TURNS[0].said, 0, drawn(6, -0.1, -0.0, -5e-324)),
    replace(_generation(1, (*TURNS[0].observation, ASK), TOO_LONG, None, drawn(4, -1.5, -2.5, trained=False)), kept=False, finish="length",
            reason="cut off by the length limit"),
    _generation(2, (*TURNS[0].observation, ASK), SUMMARY, None, drawn(4, -1e-300, -0.30000000000000004)),
))
REWRITE = Rewrite(
    RewriteKind.SUMMARY, "summary", Prefix.of((*PROMPT, TURNS[0].said, *TURNS[0].observation, ASK, SUMMARY)), Prefix.of(REWRITTEN),
    Provenance("policy", "local", 2, 2),
)
NEW = Segment((
    _generation(3, REWRITTEN, TURNS[3].said, 3, Tokens(tuple(range(9)), (7, 8), (-0.5, -0.25), (False, True))),
    _generation(4, TURNS[3].observation, TURNS[4].said, 4, drawn(0, -3.0)),
), REWRITE)
CHILD = Segment((
    _generation(0, (Message("user", "Look."),), TURNS[1].said, 1, None), _generation(1, TURNS[1].observation, TURNS[2].said, 2, None),
), audit="the template renders earlier messages anew")
RUNS = (
    Run(0, (OLD, NEW), ("crm_get", "delegate")), Run(1, (CHILD,), ("crm_get",), 0, 3, "d1", "Look.", "It is there.", "final"),
)
PLAYED = replace(
    UNGRADED, opening=OPENING, turns=TURNS, ledger=_ledger(), budgets=Budgets(9, 90, 900, 60.5), policy=PolicyCard("local", "step-3", "f" * 64),
    composition=Composition({"loop": "react", "middleware": [{"name": "summary", "at": 0.1 + 0.2}], "temperature": 1.0}), runs=RUNS,
)


def with_runs(*runs: Run) -> Episode:
    """The episode with other runs."""
    return replace(PLAYED, runs=runs)


def with_segments(*segments: Segment) -> Episode:
    """The episode with other segments of its root run."""
    return with_runs(replace(RUNS[0], segments=segments), *RUNS[1:])


def with_generation(at: int, **fields: object) -> Episode:
    """The episode with another generation of its root run."""
    segments = [replace(one, generations=tuple(replace(it, **fields) if it.index == at else it for it in one.generations)) for one in (OLD, NEW)]
    return with_segments(*segments)


UNSEEN = with_runs(*(
    replace(run, segments=tuple(
        replace(segment, generations=tuple(replace(one, tokens=None) for one in segment.generations)) for segment in run.segments
    )) for run in RUNS
))
"""The episode of a policy that does not know its tokens."""
