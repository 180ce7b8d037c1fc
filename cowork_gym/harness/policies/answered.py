"""What a policy of anybody's making gives, held against the protocol: a mistake there is the harness's fault, never bad play."""

from typing import Any

from cowork_gym.core.messages import InvalidAction, Message
from cowork_gym.core.trajectory import PolicyCard, Tokens
from cowork_gym.harness.policies.policy import Action, Draw, Policy, Usage

__all__ = ["card_of", "check_answer"]


_ROUNDING = 1e-3
"""How far above 0 a log-probability may be rounded."""
_NONE, _UNCOUNTED = Policy.draw, Policy.usage


def check_answer(policy: Policy, action: Action, last: Draw | None) -> None:
    """See that an answer, its usage and its draw are what the protocol promises.

    Args:
        policy: Who answered.
        action: The answer.
        last: The draw of its answer before.

    Raises:
        TypeError: One of them is of another type.
        ValueError: Tokens are counted below 0, more likely than certain, or those of an earlier answer.
    """
    draw, usage = policy.draw, policy.usage
    _check(action, Message | InvalidAction, "the answer")
    if isinstance(action, Message):
        _check(action.content, str | None, "the answer's content")
        for one in action.tool_calls:
            _check(one.name, str, "the name of a call")
    if draw is _NONE and usage is _UNCOUNTED:
        return  # what a policy inherits is right
    _check(usage, Usage, "usage")
    _check(draw, Draw, "draw")
    _check(draw.tokens, Tokens | None, "draw.tokens")
    if draw.tokens is not None and draw is last:
        raise ValueError("draw is that of the answer before")
    if draw.tokens is not None and max(draw.tokens.logprobs, default=0.0) > _ROUNDING:
        raise ValueError(f"draw.tokens has the log-probability {max(draw.tokens.logprobs)}, above 0")
    for name in ("finish", "version", "flaw"):
        _check(getattr(draw, name), str, f"draw.{name}")
    for name in ("prompt_tokens", "completion_tokens"):
        _check(count := getattr(usage, name), int, f"usage.{name}")
        if count < 0:
            raise ValueError(f"usage.{name} is {count}, below 0")


def card_of(policy: Policy, seed: int) -> PolicyCard:
    """The card of a policy.

    Args:
        policy: Who plays.
        seed: The one that it was reset with.

    Raises:
        TypeError: Its name, version or tokenizer is no text.
    """
    for name in ("name", "version", "tokenizer"):
        _check(getattr(policy, name), str, name)
    return PolicyCard(policy.name, policy.version, policy.tokenizer, seed)


def _check(value: Any, kind: Any, what: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{what} is of type {type(value).__name__}")
