"""What a data set is made of, counted row by row: sizes by domain, lengths, and who wrote what."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cowork_gym.trainers.data.dialogue import Dialogue
from cowork_gym.trainers.data.sft.converter import size_of
from cowork_gym.trainers.data.sft.lengths import Lengths

__all__ = ["UNKNOWN", "Domain", "Statistics", "domain_of"]

UNKNOWN = "unknown"
"""The domain of tasks whose release is not installed."""
_MEASURES = ("messages", "turns", "learned", "tool_calls", "characters", "tokens", "learned_tokens")


def domain_of(dialogue: Dialogue) -> str:
    """The category of its task."""
    return dialogue.capabilities[0] if dialogue.capabilities else UNKNOWN


@dataclass(slots=True)
class Domain:
    """The part of a data set that is of one category."""

    samples: int = 0
    episodes: int = 0
    turns: int = 0
    tool_calls: int = 0
    characters: int = 0
    tokens: int = 0


@dataclass(slots=True)
class Statistics:
    """Counts that grow with every row. Rows of one episode come one behind the other."""

    counted: bool = False
    """Whether tokens are counted."""
    domains: dict[str, Domain] = field(default_factory=dict)
    lengths: dict[str, Lengths] = field(default_factory=lambda: {name: Lengths() for name in _MEASURES})
    agents: dict[str, Counter[str]] = field(default_factory=dict)
    tasks: set[str] = field(default_factory=set)
    """By release id."""
    masked: Counter[str] = field(default_factory=Counter)
    """Answers that are not learned, by reason."""
    unrendered: Counter[str] = field(default_factory=Counter)
    """Rows that the tokenizer could make no sample of, by reason."""
    rewards: float = 0.0
    episodes: int = 0
    _last: str = ""

    def add(self, dialogue: Dialogue, tokens: tuple[int, int] | str | None = None) -> None:
        """Count a row.

        Args:
            dialogue: The row.
            tokens: How many tokens it has and how many of them are learned, or why it is no sample.
        """
        size = size_of(dialogue.messages)
        answers = [one for one in dialogue.utterances if one.message.role == "assistant"]
        found = {
            "messages": size.messages, "turns": len(answers), "learned": dialogue.supervised, "tool_calls": size.tool_calls,
            "characters": size.characters,
        }
        if isinstance(tokens, tuple):
            found |= {"tokens": tokens[0], "learned_tokens": tokens[1]}
        elif tokens is not None:
            self.unrendered[tokens] += 1
        for name, value in found.items():
            self.lengths[name].add(value)
        self.masked.update(one.why for one in answers if not one.trained)
        self._place(dialogue, found)

    def _place(self, dialogue: Dialogue, found: Mapping[str, int]) -> None:
        source, fresh = dialogue.source, dialogue.source.seal != self._last
        domain = self.domains.setdefault(domain_of(dialogue), Domain())
        domain.samples += 1
        domain.episodes += fresh
        for name in ("turns", "tool_calls", "characters", "tokens"):
            setattr(domain, name, getattr(domain, name) + found.get(name, 0))
        agent = self.agents.setdefault(source.agent, Counter())
        agent.update({"samples": 1, "episodes": int(fresh), "answers": found["learned"], "tokens": found.get("learned_tokens", 0)})
        self.tasks.add(source.release_id)
        self.episodes += fresh
        self.rewards += (dialogue.reward or 0.0) if fresh else 0.0
        self._last = source.seal

    @property
    def samples(self) -> int:
        """How many rows there are."""
        return len(self.lengths["messages"])

    def summary(self) -> Mapping[str, Any]:
        """All of it as plain JSON values."""
        names = _MEASURES if self.counted else _MEASURES[:5]
        return {
            "samples": self.samples, "episodes": self.episodes, "tasks": len(self.tasks),
            "mean_reward": round(self.rewards / self.episodes, 6) if self.episodes else None,
            "lengths": {name: self.lengths[name].summary() for name in names},
            "domains": {name: self._domain(self.domains[name]) for name in sorted(self.domains)},
            "not_learned": dict(sorted(self.masked.items())),
            **({"unrendered": dict(sorted(self.unrendered.items()))} if self.counted else {}),
        }

    def _domain(self, one: Domain) -> Mapping[str, int]:
        told = {name: getattr(one, name) for name in ("samples", "episodes", "turns", "tool_calls", "characters")}
        return {**told, "tokens": one.tokens} if self.counted else told
