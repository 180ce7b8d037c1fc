"""What the policy saw and sampled: runs of segments of generations, as values. `episode` holds them beside what the world saw.

The words are those of Occamy-1.0, section 2: an episode has one root run and may have child runs; a run is cut into segments wherever its
history was rewritten; within a segment, the visible history only grows. A generation is one call of the policy: the prompt P, the sampled
output Y, and D, what was put behind it before the next call, which stands here as the next generation's `given`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal

from cowork_gym.core.canonical import digest
from cowork_gym.core.messages import Message

__all__ = [
    "ROOT", "Composition", "Generation", "Lineage", "Origin", "PolicyCard", "Prefix", "Provenance", "Purpose",
    "Rewrite", "RewriteKind", "Run", "Segment", "Tokens",
]

ROOT = 0
"""The number of the root run."""
_LARGEST = 2**31 - 1


class Purpose(StrEnum):
    """What the policy was asked for."""

    ACT = "act"
    PLAN = "plan"
    SUMMARY = "summary"


class RewriteKind(StrEnum):
    """How a visible history came to be another one than the last with something added."""

    SUMMARY = "summary"
    """Its older part gave way to a summary."""
    WINDOW = "window"
    """Its oldest turns were dropped."""
    PRUNE = "prune"
    """Old tool results gave way to a note."""
    TEMPLATE = "template"
    """Nothing was rewritten, but the chat template renders earlier messages anew."""
    UNEXPLAINED = "unexplained"
    """Nobody declared it."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one generation, as the engine saw and drew them.

    Raises:
        ValueError: They cannot be kept, or are not as many as they should be.
    """

    context: tuple[int, ...]
    """What was put before it since the last kept token of its segment; for a segment's first generation, the whole prompt."""
    ids: tuple[int, ...]
    """Sampled ids, the token that ended the answer included."""
    logprobs: tuple[float, ...]
    """Natural logarithms under the policy that sampled them, at the temperature used; as many as `ids`."""
    mask: tuple[bool, ...]
    """Which of them may be trained; as many as `ids`."""

    def __post_init__(self) -> None:
        if not len(self.ids) == len(self.logprobs) == len(self.mask):
            raise ValueError(f"{len(self.ids)} sampled ids, {len(self.logprobs)} log-probabilities and a mask of {len(self.mask)}")
        kinds = (self.context, int), (self.ids, int), (self.logprobs, float), (self.mask, bool)
        if not all(type(values) is tuple and {*map(type, values)} <= {kind} for values, kind in kinds):
            raise ValueError("token data are tuples of int, int, float and bool, and of nothing else")
        for ids, what in ((self.context, "of its context"), (self.ids, "that was sampled")):
            if ids and not 0 <= min(ids) <= max(ids) <= _LARGEST:
                raise ValueError(f"an id {what} is no number from 0 to {_LARGEST}")
        if not all(map(math.isfinite, self.logprobs)):
            raise ValueError("a log-probability is not finite")


@dataclass(frozen=True, slots=True)
class Generation:
    """One call of the policy."""

    index: int
    """In its run, over all segments."""
    purpose: Purpose
    given: tuple[Message, ...]
    """The messages that were put before it since the last kept one of its segment; for a segment's first generation, all that was visible."""
    said: Message
    """What it wrote, as a message; of what was no message, its text."""
    turn: int | None = None
    """The turn of the episode that it led to; None for plans, summaries and what was discarded."""
    finish: str = ""
    """Why it ended: `stop`, `length`, or what else the engine said; empty when the policy does not know."""
    version: str = ""
    """Of the policy's weights."""
    kept: bool = True
    """Whether the history went on from it. Of a discarded attempt nothing is trained."""
    reason: str = ""
    """Why it was discarded."""
    tokens: Tokens | None = None
    """None when the policy does not know its tokens."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """A visible history, by its length and hash."""

    messages: int
    sha256: str

    @classmethod
    def of(cls, messages: Sequence[Message]) -> "Prefix":
        """That of a history."""
        return cls(len(messages), digest([one.wire() for one in messages]))


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where an inserted summary comes from."""

    author: Literal["policy", "model", "rule"]
    """The policy that plays, another model, or a rule without a model."""
    name: str
    """The author's name."""
    message: int
    """Where it stands in the new history."""
    generation: int | None = None
    """The generation that wrote it, where the policy did."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What closed one segment and opened the next."""

    kind: RewriteKind
    by: str
    """The component that did it."""
    before: Prefix
    """All that the policy had seen and said in the segment that was closed."""
    after: Prefix
    """All that is visible when the new segment begins; its first generation may be given more behind it, such as the request for a plan."""
    summary: Provenance | None = None
    """Of the summary that was put in, for a rewrite by summary."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a run in which the visible history only grew."""

    generations: tuple[Generation, ...]
    rewrite: Rewrite | None = None
    """The rewrite that opened it; None for a run's first segment."""
    audit: str = ""
    """Why its tokens are for audit only; empty when they may be trained."""

    @property
    def kept(self) -> tuple[Generation, ...]:
        """The generations that the history went on from."""
        return tuple(one for one in self.generations if one.kept)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All that was visible at its end, except what came back after its last generation."""
        return tuple(message for one in self.kept for message in (*one.given, one.said))

    @property
    def ids(self) -> tuple[int, ...]:
        """Its token sequence: context and sampled ids of the kept generations. Empty where tokens are unknown."""
        return tuple(id for one in self.kept if one.tokens for id in (*one.tokens.context, *one.tokens.ids))


@dataclass(frozen=True, slots=True)
class Run:
    """One policy loop with a history of its own."""

    id: int
    """`ROOT`, or the child's number in the order of their beginnings."""
    segments: tuple[Segment, ...]
    tools: tuple[str, ...] = ()
    """The tools that it was offered, by name."""
    parent: int | None = None
    """The run that it was spawned by; None for the root."""
    fork: int | None = None
    """The parent's generation that asked for it."""
    call: str = ""
    """The dispatch id of the call that asked for it."""
    handoff: str = ""
    """What it was asked to do."""
    result: str | None = None
    """What it handed back; None when it was cut off before that."""
    ending: str = ""
    """Why a child ended: `final`, or the budget that was spent. The root's is the episode's."""

    @property
    def generations(self) -> tuple[Generation, ...]:
        """All generations, in order."""
        return tuple(one for segment in self.segments for one in segment.generations)


@dataclass(frozen=True, slots=True)
class PolicyCard:
    """Which policy played, as far as a trainer has to know."""

    name: str
    version: str = ""
    """Of its weights, when the episode began."""
    tokenizer: str = ""
    """Fingerprint of tokenizer and chat template; empty when tokens are unknown."""
    seed: int | None = None
    """The one that the policy was reset with."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a branched episode comes from."""

    seal: str
    """Of the episode that it was branched from."""
    turn: int
    """How many of its turns were taken over. They are conditioning here, whoever sampled them."""


@dataclass(frozen=True)
class Composition:
    """The harness that was used: its manifest, and the manifest's hash."""

    manifest: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def sha256(self) -> str:
        """The identity of the composition: how a sampler came to choose it, which stands under `sampled`, is no part of it."""
        return digest({name: value for name, value in self.manifest.items() if name != "sampled"})


@dataclass(frozen=True, slots=True)
class Lineage:
    """What a harness knows of an episode beside what the world saw: joined with it when it is sealed."""

    policy: PolicyCard | None = None
    composition: Composition | None = None
    runs: tuple[Run, ...] = ()
    origin: Origin | None = None
