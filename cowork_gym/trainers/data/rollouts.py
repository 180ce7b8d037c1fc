"""The neutral training record: what one rollout gives a trainer, whichever that is. `recorded` makes it, `exports` write it for others.

A rollout is one trajectory with one reward, however many token sequences it has: statistics are over rollouts, losses over the tokens of its
segments. Occamy-1.0, section 2, and Navalia, section 3.3, have the words.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from cowork_gym.core.episode import Ending
from cowork_gym.core.trajectory import Purpose

__all__ = ["Boundary", "Rollout", "Segment", "Step", "same_tokenizer"]


class Boundary(StrEnum):
    """Why a segment ends where it does. Those between `END` and `STRIDE` are the rewrites that records know."""

    END = "end"
    """The run is over."""
    SUMMARY = "summary"
    WINDOW = "window"
    PRUNE = "prune"
    TEMPLATE = "template"
    UNEXPLAINED = "unexplained"
    STRIDE = "stride"
    """Nothing was rewritten: a sample has no more new turns than this."""


@dataclass(frozen=True, slots=True)
class Step:
    """What was sampled in one call of the policy, half open in the coordinates of its segment's response.

    Raises:
        ValueError: It ends before it starts.
    """

    start: int
    end: int
    turn: int | None
    """The turn of the episode that it led to; None for plans and summaries."""
    purpose: Purpose
    anchor: str
    """Fingerprint of the world before it; empty where no record tells it."""
    information: str
    """Hash of the information that its run was shown until then; see `anchors`."""
    generation: int = 0
    """Which generation of its run it is."""

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"a step from token {self.start} to token {self.end}")


@dataclass(frozen=True, slots=True)
class Segment:
    """One token sequence: `prompt_ids` condition, `response_ids` begins and ends with what was sampled.

    Raises:
        ValueError: Response, mask, log-probabilities and versions differ in length; a log-probability or the weight is not finite; a step is
            not in the response; or a segment that is dropped has tokens that are trained.
    """

    rollout: str
    """The rollout that it belongs to, by its id."""
    run: int
    """The run of the episode; 0 is the root."""
    index: int
    """Among the segments of the rollout, those that are dropped included."""
    count: int
    """How many the rollout has."""
    prompt_ids: tuple[int, ...]
    response_ids: tuple[int, ...]
    mask: tuple[bool, ...]
    """Which tokens of the response are trained."""
    logprobs: tuple[float, ...]
    """Of the tokens of the response under the policy that sampled them; 0 where nothing was sampled."""
    versions: tuple[str, ...]
    """Of the weights that sampled each token of the response; empty where nothing was sampled."""
    steps: tuple[Step, ...]
    boundary: Boundary = Boundary.END
    weight: float = 1.0
    """Of each of its tokens' loss."""
    drop_reason: str = ""
    """Why none of its tokens is trained, though the rollout counts; empty when some are."""

    def __post_init__(self) -> None:
        size = len(self.response_ids)
        if not size == len(self.mask) == len(self.logprobs) == len(self.versions):
            raise ValueError(
                f"segment {self.index} of {self.rollout}: {size} tokens in the response, a mask of {len(self.mask)}, {len(self.logprobs)} "
                f"log-probabilities and {len(self.versions)} versions"
            )
        if not (all(map(math.isfinite, self.logprobs)) and math.isfinite(self.weight)):
            raise ValueError(f"segment {self.index} of {self.rollout}: a log-probability or the weight is not finite")
        if any(one.end > size for one in self.steps):
            raise ValueError(f"segment {self.index} of {self.rollout}: a step ends behind its {size} tokens")
        if self.drop_reason and any(self.mask):
            raise ValueError(f"segment {self.index} of {self.rollout} is dropped ({self.drop_reason}), and has tokens that are trained")

    @property
    def ids(self) -> tuple[int, ...]:
        """The whole sequence, as the engine had it."""
        return (*self.prompt_ids, *self.response_ids)

    @property
    def trained(self) -> int:
        """How many of its tokens are trained."""
        return sum(self.mask)

    def without_loss(self, reason: str) -> "Segment":
        """The segment with nothing to train, for a reason."""
        return replace(self, mask=(False,) * len(self.mask), drop_reason=reason)


@dataclass(frozen=True, slots=True)
class Rollout:
    """One trajectory: an episode as a trainer sees it.

    Raises:
        ValueError: The reward, the accuracy or a component is not a finite number, a valid one has no reward, or the segments are not numbered.
    """

    id: str
    """The seal of the episode."""
    group: str
    """Of the attempts that are compared with each other; see `group_of`."""
    task: str
    release_id: str
    seed: int
    """Of the world."""
    sampling: int | None
    """The policy's seed."""
    tokenizer: str
    """Fingerprint of tokenizer and chat template; empty where it is unknown."""
    reward: float | None
    """None where there is none, which is not 0: such a rollout enters no statistic."""
    components: Mapping[str, float]
    """Of the grade, by name: completion, safety, robustness, outcome. What the grade does not have is left out."""
    accuracy: float | None
    """1 where the episode passed, else 0; None without a reward."""
    interaction_steps: int
    """Turns that it took, those of child runs included and those of the episode that it was branched from not."""
    ending: Ending
    truncated: bool
    """Whether an answer that was kept was cut off at its token limit. A spent budget of turns is no truncation, but an `ending`."""
    segments: tuple[Segment, ...]
    """Child runs first, by number, then the root run: the last segment is where the trajectory ends."""
    children: Mapping[int, str] = field(default_factory=dict)
    """The policy that played each child run, by its name."""
    trial: str = ""
    """Which attempt it is, where a folder says so."""
    drop_reason: str = ""
    """Why it enters neither statistics nor loss; empty when it is valid."""

    def __post_init__(self) -> None:
        numbers = {"reward": self.reward, "accuracy": self.accuracy, **self.components}
        for name, value in numbers.items():
            if value is not None and not math.isfinite(value):
                raise ValueError(f"rollout {self.id}: {name} is {value}, and no finite number; what is missing is None")
        if self.reward is None and not self.drop_reason:
            raise ValueError(f"rollout {self.id} has no reward and no reason to be dropped")
        if [(one.index, one.count, one.rollout) for one in self.segments] != [(at, len(self.segments), self.id) for at in range(len(self.segments))]:
            raise ValueError(f"rollout {self.id}: its segments are not numbered from 0 to {len(self.segments) - 1}, or are another rollout's")

    @property
    def valid(self) -> bool:
        """Whether it counts in statistics."""
        return not self.drop_reason

    @property
    def live(self) -> tuple[Segment, ...]:
        """The segments with something to train."""
        return tuple(one for one in self.segments if not one.drop_reason) if self.valid else ()

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions of the weights that sampled the tokens that are trained, each once, in the order of the segments."""
        met = (version for one in self.live for version, trained in zip(one.versions, one.mask, strict=True) if trained)
        return tuple(dict.fromkeys(met))

    @property
    def trained(self) -> int:
        """How many tokens are trained, of all segments together: the length that length-adaptive estimators take."""
        return sum(one.trained for one in self.live)

    def without_loss(self, reason: str) -> "Rollout":
        """The rollout with nothing to train: its reward stays in the statistics, as that of an attempt which was cut off does in Navalia."""
        return replace(self, segments=tuple(one if one.drop_reason else one.without_loss(reason) for one in self.segments))

    def dropped(self, reason: str) -> "Rollout":
        """The rollout as one that enters neither statistics nor loss."""
        return replace(self, drop_reason=reason)


def same_tokenizer(rollouts: Iterable[Rollout]) -> Iterator[Rollout]:
    """The rollouts, as long as all have token ids of one tokenizer.

    Raises:
        ValueError: One has another tokenizer than those before it; the text names both. Ids of one mean nothing to the other.
    """
    first: Rollout | None = None
    for one in rollouts:
        first = first or one
        if one.tokenizer != first.tokenizer:
            mine, others = (each.tokenizer or "unknown" for each in (one, first))
            raise ValueError(f"rollout {one.id} has the tokenizer {mine}, and rollout {first.id} the tokenizer {others}")
        yield one
