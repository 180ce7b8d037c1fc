"""A tokenised training sample: one token sequence, which of its tokens are learned, and with what weight."""

from dataclasses import dataclass

from cowork_gym.trainers.data.dialogue import Source

__all__ = ["Sample", "Span"]


@dataclass(frozen=True, slots=True)
class Span:
    """The tokens of one message of the dialogue, half open."""

    start: int
    end: int
    role: str
    trained: bool
    """Whether any of its tokens is supervised."""
    message: int
    """Which message of the dialogue it is; -1 for what the template puts between messages."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One sequence.

    Raises:
        ValueError: `ids`, `mask` and `weights` differ in length.
    """

    ids: tuple[int, ...]
    mask: tuple[bool, ...]
    """True where the token is a target; the loss of predicting it counts."""
    weights: tuple[float, ...]
    """Of each token's loss; 0 where `mask` is False."""
    source: Source
    spans: tuple[Span, ...] = ()
    """In order; together they cover the whole sequence."""
    tokenizer: str = ""
    """Fingerprint of tokenizer and chat template."""

    def __post_init__(self) -> None:
        if not len(self.ids) == len(self.mask) == len(self.weights):
            raise ValueError(f"{len(self.ids)} ids, a mask of {len(self.mask)} and {len(self.weights)} weights")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def supervised(self) -> int:
        """How many tokens are targets."""
        return sum(self.mask)
