"""What a task is made of, in words that can be counted: capabilities and how they depend on each other, topology, deliverables, hazards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Capability", "Deliverable", "Hazard", "Structure", "Topology"]


class Capability(StrEnum):
    """What an agent must be able to do."""

    DISCOVER = "discover"
    """Find the records that matter."""
    EXTRACT = "extract"
    """Read facts out of them."""
    RECONCILE = "reconcile"
    """Bring facts of several places together that disagree or name things differently."""
    REASON = "reason"
    """Apply rules and their exceptions."""
    DECIDE = "decide"
    """Choose one of several ways, refusing included."""
    EXECUTE = "execute"
    """Act through tools."""
    BUILD = "build"
    """Write an artifact: a file, a mail, a form."""
    VERIFY = "verify"
    """See that what was done holds."""
    CLARIFY = "clarify"
    """Ask for what only the user knows."""


class Topology(StrEnum):
    """How the steps of a task hang together."""

    CHAIN = "chain"
    """Each step needs the one before it."""
    JOIN = "join"
    """Facts of several branches come together in one act."""
    FAN_OUT = "fan-out"
    """One finding leads to several acts."""
    DIAMOND = "diamond"
    """Branches part and come together again."""
    LOOP = "loop"
    """The same steps for each of several records."""
    BRANCH = "branch"
    """What is read decides which of several ways is right."""
    STAGED = "staged"
    """The world moves on between two requests."""


class Deliverable(StrEnum):
    """What remains when the work is done."""

    RECORD = "record"
    MAIL = "mail"
    MESSAGE = "message"
    EVENT = "event"
    FILE = "file"
    ORDER = "order"
    PAYMENT = "payment"
    TASK = "task"
    """An item on a list of things to do."""
    ANSWER = "answer"
    REFUSAL = "refusal"


class Hazard(StrEnum):
    """What the world holds against a careless agent."""

    LOOK_ALIKE = "look-alike"
    DUPLICATE = "duplicate"
    STALE = "stale"
    CONFLICT = "conflict"
    """Sources that contradict each other."""
    AUTHORITY = "authority"
    """Who says it decides whether it counts."""
    DEADLINE = "deadline"
    CAPACITY = "capacity"
    POLICY = "policy"
    INJECTION = "injection"
    SPOOF = "spoof"
    SECRET = "secret"
    FAULT = "fault"
    """A call fails, and may have done its work."""
    NOISE = "noise"
    SILENT_CHANGE = "silent-change"
    MISSING_FACT = "missing-fact"
    IRREVERSIBLE = "irreversible"


@dataclass(frozen=True, slots=True)
class Structure:
    """What a task declares about itself, for coverage."""

    capabilities: Mapping[Capability, Sequence[Capability]] = field(default_factory=dict)
    """The capability graph: each capability with those that it builds on."""
    topology: Topology = Topology.CHAIN
    deliverables: tuple[Deliverable, ...] = ()
    hazards: tuple[Hazard, ...] = ()
