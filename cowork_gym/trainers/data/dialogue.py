"""Training data for imitation, before any tokenizer: a conversation of which some answers are to be learned, and where it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cowork_gym.core.messages import Message

__all__ = ["Dialogue", "Source", "Utterance"]


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message of a dialogue."""

    message: Message
    trained: bool = False
    """Whether its text is to be learned; only an assistant's may be. The others condition."""
    why: str = ""
    """Of an assistant's message that is not learned: the reason, such as `replayed`, `summary by the harness`, `low quality`."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a dialogue comes from, so that whoever trains on it can be told whose words they are."""

    seal: str
    """Of the episode."""
    task: str
    release_id: str
    seed: int
    agent: str
    """Who wrote the answers."""
    run: int = 0
    """The run of the episode, child runs included."""
    segment: int | None = None
    """Its segment, where the dialogue is one; None where it is the whole run."""
    trial: str = ""
    """Which attempt, where a folder says so: the record's file name without its suffix."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation as a sample for supervised fine-tuning."""

    source: Source
    utterances: tuple[Utterance, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    """The offered tools, as OpenAI tool schemas."""
    completion: float | None = None
    """Of the episode, from 0 to 1."""
    reward: float | None = None
    capabilities: tuple[str, ...] = ()
    """Pools that it may be sampled from, such as the task's category."""
    scores: Mapping[str, Any] = field(default_factory=dict)
    """What judges said, kept for whoever selects; never shown to a model."""
    weight: float = 1.0
    """Of each of its supervised tokens."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, in order."""
        return tuple(one.message for one in self.utterances)

    @property
    def supervised(self) -> int:
        """How many answers are to be learned."""
        return sum(one.trained for one in self.utterances)
