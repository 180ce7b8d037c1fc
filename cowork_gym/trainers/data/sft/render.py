"""Dialogues as token sequences: the answers, their calls and their stop tokens are learned; prompts, results and template text condition."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cowork_gym.core.errors import Fault
from cowork_gym.core.messages import Message
from cowork_gym.core.trajectory import Segment
from cowork_gym.harness.tokens import ChatFormat
from cowork_gym.trainers.data.dialogue import Dialogue
from cowork_gym.trainers.data.sample import Sample
from cowork_gym.trainers.data.sft.answers import Unwritable, answers_of, check_answer
from cowork_gym.trainers.data.sft.draft import Draft
from cowork_gym.trainers.data.sft.dropped import Dropped, Reason
from cowork_gym.trainers.data.sft.masks import empty_think
from cowork_gym.trainers.data.sft.spans import Place, locate

__all__ = ["Rules", "recorded", "render", "samples"]


@dataclass(frozen=True, slots=True)
class Rules:
    """How dialogues become samples."""

    limit: int | None = None
    """The most tokens of a sample; a longer one is dropped, never cut."""
    ignore_empty_think: bool = True
    """Whether an empty thinking block at the head of an answer is context. A block with thoughts in it is always learned."""
    preserve_thinking: bool = True
    """Whether earlier answers stay as they were written, thoughts included, as they do within a segment of an episode. Otherwise each answer is
    given what the template makes of all that came before it."""
    each_answer: bool = False
    """Where one sequence cannot show what each answer was given: whether each becomes a sample of its own, or the dialogue is dropped."""
    spans: bool = True
    """Whether the messages that are context are found among the template's text. It is half of the work, and only for those who look at samples."""


class _NoSample(Exception):
    """Carries the reason to where the result is made."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(detail)
        self.dropped = Dropped(reason, detail)


def samples(dialogue: Dialogue, format: ChatFormat, rules: Rules = Rules()) -> tuple[Sample | Dropped, ...]:
    """The samples of a dialogue: one, or one for each answer where its history is rendered anew and the rules say so.

    Args:
        dialogue: What is to be learned, and from what.
        format: Tokenizer and chat template.
        rules: How.

    Returns:
        Samples, and the reason for each that there is not.

    Raises:
        ValueError: The dialogue's weight is no positive number.
        UserError: The format cannot write answers.
    """
    whole = render(dialogue, format, rules)
    if not rules.each_answer or not isinstance(whole, Dropped) or whole.reason is not Reason.RERENDERED:
        return (whole,)
    return tuple(render(_only(dialogue, at), format, rules) for at, one in enumerate(dialogue.utterances) if one.trained)


def render(dialogue: Dialogue, format: ChatFormat, rules: Rules = Rules()) -> Sample | Dropped:
    """A dialogue as one sequence.

    Each prompt is the last one, the answer, and what a policy's tape would have put behind it, so a sample is what the policy will see. With a
    format that cannot be extended, or where thoughts are not preserved, the prompt of each answer that is learned is rendered whole, and must
    begin with all that came before it. What stands behind the last answer that is learned conditions nothing and is left out.

    Args:
        dialogue: What is to be learned, and from what.
        format: Tokenizer and chat template.
        rules: How.

    Returns:
        The sample, or the reason why there is none: the history is rendered anew (`samples` helps), the template refuses the messages, an answer
        that is to be learned would read otherwise than it was meant, nothing is to be learned, or it is too long.

    Raises:
        ValueError: The dialogue's weight is no positive number.
        UserError: The format cannot write answers.
    """
    _check_weight(dialogue)
    learned = [at for at, one in enumerate(dialogue.utterances) if one.trained]
    if not learned:
        return Dropped(Reason.UNSUPERVISED)
    shows = _render_whole if format.flaw or not rules.preserve_thinking else _grow
    try:
        return _within(shows(_Writer(dialogue, format, rules), learned), dialogue, format.fingerprint, rules)
    except Fault as fault:
        return Dropped(Reason.REFUSED, fault.record.message)
    except _NoSample as stop:
        return stop.dropped


def recorded(segment: Segment, dialogue: Dialogue, tokenizer: str, *, format: ChatFormat | None = None, rules: Rules = Rules()) -> Sample | Dropped:
    """A segment of an episode as one sequence, of the ids that were sampled; nothing is rendered.

    Args:
        segment: The segment that the dialogue was made of. What its record masks is not learned.
        dialogue: Says which answers are learned.
        tokenizer: Fingerprint of the tokenizer that the policy had, as `PolicyCard.tokenizer` names it.
        format: The tokenizer and template that are trained with. Without it nobody can tell empty thinking blocks, and they stay learned.
        rules: How; thoughts are as they were sampled.

    Returns:
        The sample, or the reason why there is none. Where it is `DIFFERS`, `OTHER_TOKENIZER` or `UNKNOWN_TOKENS`, the dialogue can be rendered.

    Raises:
        ValueError: The dialogue's weight is no positive number.
    """
    _check_weight(dialogue)
    if segment.audit:
        return Dropped(Reason.AUDIT, segment.audit)
    if format is not None and format.fingerprint != tokenizer:
        return Dropped(Reason.OTHER_TOKENIZER, f"{tokenizer[:12] or 'unknown'}, not {format.fingerprint[:12]}")
    learned = [at for at, one in enumerate(dialogue.utterances) if one.trained]
    if not learned:
        return Dropped(Reason.UNSUPERVISED)
    end = learned[-1] + 1
    if dialogue.messages[:end] != segment.messages[:end]:
        return Dropped(Reason.DIFFERS)
    try:
        return _within(_replay(segment, dialogue, end, format, rules), dialogue, tokenizer, rules)
    except _NoSample as stop:
        return stop.dropped


class _Writer:
    """A dialogue's answers as ids, with which of them are learned."""

    def __init__(self, dialogue: Dialogue, format: ChatFormat, rules: Rules) -> None:
        self.dialogue, self.format, self.messages, self.rules = dialogue, format, dialogue.messages, rules
        self._answers = answers_of(format)

    def write(self, at: int) -> tuple[tuple[int, ...], tuple[bool, ...]]:
        """The answer at an index. One that is only context may say what no policy could have said."""
        utterance = self.dialogue.utterances[at]
        try:
            ids = self._answers.write(utterance.message)
            if utterance.trained:
                check_answer(self.format, utterance.message, ids, self.dialogue.tools)
        except Unwritable as error:
            raise _NoSample(Reason.UNWRITABLE, f"message {at}: {error}") from None
        return ids, _mask([utterance.trained] * len(ids), ids, self.format, self.rules)


def _grow(writer: _Writer, learned: Sequence[int]) -> Draft:
    """The prompt, then answers with what is put behind each, none of it rendered again."""
    format, messages, draft, behind = writer.format, writer.messages, Draft(), 0
    for at in (at for at in range(learned[-1] + 1) if messages[at].role == "assistant"):
        fresh = messages[behind:at]
        if not fresh:
            raise _NoSample(Reason.REFUSED, f"message {at}: an answer stands where it answers nothing")
        show = _extended(format) if behind else _opened(writer)
        ids = show(fresh)
        draft.condition(ids, locate(ids, fresh, show) if writer.rules.spans else (), writer.messages, behind)
        draft.answer(*writer.write(at), at)
        behind = at + 1
    return draft


def _render_whole(writer: _Writer, learned: Sequence[int]) -> Draft:
    """The prompt of each answer that is learned, rendered whole: each must begin with what there is already."""
    messages, draft, behind = writer.messages, Draft(), 0
    show = _opened(writer)
    for at in learned:
        if at == 0 or messages[at - 1].role == "assistant":
            raise _NoSample(Reason.REFUSED, f"message {at}: an answer stands where it answers nothing")
        prompt, known = show(messages[:at]), len(draft)
        if prompt[:known] != tuple(draft.ids):
            raise _NoSample(Reason.RERENDERED, f"before message {at}, what came earlier is no longer as it was")
        found = locate(prompt, messages[:at], show, behind) if writer.rules.spans else ()
        places = [Place(max(one.start, known) - known, one.end - known, one.message) for one in found]
        draft.condition(prompt[known:], [one for one in places if one.start < one.end], messages)
        draft.answer(*writer.write(at), at)
        behind = at + 1
    return draft


def _replay(segment: Segment, dialogue: Dialogue, end: int, format: ChatFormat | None, rules: Rules) -> Draft:
    draft, at = Draft(), 0
    for one in segment.kept:
        if one.tokens is None:
            raise _NoSample(Reason.UNKNOWN_TOKENS, f"generation {one.index}")
        places = [Place(0, len(one.tokens.context), 0)] if len(one.given) == 1 else []
        draft.condition(one.tokens.context, places, dialogue.messages, at)
        at += len(one.given)
        allowed = [known and dialogue.utterances[at].trained for known in one.tokens.mask]
        draft.answer(one.tokens.ids, _mask(allowed, one.tokens.ids, format, rules), at)
        at += 1
        if at >= end:
            break
    return draft


def _opened(writer: _Writer) -> Callable[[Sequence[Message]], tuple[int, ...]]:
    return lambda messages: writer.format.open(messages, writer.dialogue.tools)


def _extended(format: ChatFormat) -> Callable[[Sequence[Message]], tuple[int, ...]]:
    return lambda messages: format.extend(messages, closed=True)


def _mask(allowed: Sequence[bool], ids: Sequence[int], format: ChatFormat | None, rules: Rules) -> tuple[bool, ...]:
    """Which ids of an answer are learned: those that may be, but for an empty thinking block at its head."""
    if not rules.ignore_empty_think or format is None or not any(allowed):
        return tuple(allowed)
    answers = answers_of(format)
    length = empty_think(answers.text(ids))
    inside = next((count for count in range(len(ids)) if len(answers.text(ids[: count + 1])) > length), len(ids)) if length else 0
    return (*(False for _ in allowed[:inside]), *allowed[inside:])


def _within(draft: Draft, dialogue: Dialogue, tokenizer: str, rules: Rules) -> Sample | Dropped:
    if not any(draft.mask):
        return Dropped(Reason.UNSUPERVISED)
    if rules.limit is not None and len(draft) > rules.limit:
        return Dropped(Reason.OVERLONG, f"{len(draft)} tokens of {rules.limit}")
    return draft.sample(dialogue.source, dialogue.weight, tokenizer)


def _check_weight(dialogue: Dialogue) -> None:
    if not (math.isfinite(dialogue.weight) and dialogue.weight > 0):
        raise ValueError(f"a dialogue of {dialogue.source.task} has the weight {dialogue.weight}: a positive number is needed")


def _only(dialogue: Dialogue, learned: int) -> Dialogue:
    """A dialogue of which one answer is learned."""
    kept = (one if at == learned else replace(one, trained=False) for at, one in enumerate(dialogue.utterances))
    return replace(dialogue, utterances=tuple(kept))
