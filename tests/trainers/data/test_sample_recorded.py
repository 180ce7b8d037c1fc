"""Ids as they were sampled: nothing is rendered or encoded again where the record has them, and what is rendered is what a policy's tape has."""

from dataclasses import replace

import pytest
from sample_tools import SOURCE, Dictated, chat_format, learned, text_of

from cowork_gym.core.messages import Message, call, final, message
from cowork_gym.core.trajectory import Generation, Purpose, Segment, Tokens
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.harness import play
from cowork_gym.harness.policies.token_policy import TokenPolicy
from cowork_gym.trainers.data.dialogue import Dialogue, Utterance
from cowork_gym.trainers.data.sft.answers import answers_of
from cowork_gym.trainers.data.sft.dropped import Dropped, Reason
from cowork_gym.trainers.data.sft.render import Rules, recorded, render

LINES = (
    message("I look at the queue: 見ます.", call("helpdesk_list_tickets"), call("kb_search", query="« chaîne » 👩‍💻")),
    call("helpdesk_get_ticket", ticket_id="INC-3307"), final("Nothing is left <|im_end|> to do."),
)


class Noted(TokenPolicy):
    """Remembers the tools that it was offered."""

    def reset(self, tools, seed):
        super().reset(tools, seed)
        self.offered = tuple(tools)


@pytest.fixture(scope="module", params=["qwen2.5", "qwen3", "qwen3.6", "mistral13"])
def played(request):
    """A format, the segment of an episode that was played token by token, and the tools of it."""
    pytest.importorskip("transformers")
    format = chat_format(request.param)
    policy = Noted(Dictated(format, LINES), format)
    with CoworkEnv("M1003") as env:
        episode = play(env, policy, seed=0)
    (segment,) = episode.runs[0].segments
    assert not segment.audit and len(segment.generations) == 3
    return format, segment, policy.offered


def of(segment, tools=(), context=()):
    told = [each for one in segment.kept for each in (*map(Utterance, one.given), Utterance(one.said, one.index not in context))]
    return Dialogue(SOURCE, tuple(told), tuple(tools))


def test_what_is_rendered_is_what_the_policy_saw_token_for_token(played):
    format, segment, tools = played
    made, known = render(of(segment, tools), format), recorded(segment, of(segment), format.fingerprint, format=format)
    assert made.ids == known.ids == segment.ids
    assert made.mask == known.mask and made.tokenizer == known.tokenizer


def test_what_was_sampled_is_learned_and_nothing_else(played):
    format, segment, _ = played
    sample = recorded(segment, of(segment), format.fingerprint)
    assert sample.supervised == sum(len(one.tokens.ids) for one in segment.kept)
    assert [id for id, on in zip(sample.ids, sample.mask, strict=True) if on] == [id for one in segment.kept for id in one.tokens.ids]
    assert [(span.role, span.message) for span in sample.spans if span.trained] == [("assistant", 1), ("assistant", 4), ("assistant", 6)]


def test_an_answer_that_is_context_is_not_learned_but_there(played):
    format, segment, _ = played
    sample = recorded(segment, of(segment, context=(1,)), format.fingerprint, format=format)
    assert sample.ids == segment.ids and len(learned(format, sample)) == 2
    shorter = recorded(segment, of(segment, context=(2,)), format.fingerprint, format=format)
    assert shorter.ids == segment.ids[: len(shorter)] and text_of(format, shorter.ids).count("INC-3307") >= 1 and len(shorter) < len(sample)


def generation(index, given, said, context, ids, mask=None, kept=True):
    tokens = Tokens(tuple(context), tuple(ids), (-1.0,) * len(ids), tuple(mask or [True] * len(ids)))
    return Generation(index, Purpose.ACT, tuple(given), said, index, "stop", "1", kept=kept, tokens=tokens)


ASKED = (Message("system", "rules"), Message("user", "?"))
SEGMENT = Segment((
    generation(0, ASKED, final("bad"), [1, 2, 3], [10, 11], kept=False),
    generation(1, ASKED, final("good"), [1, 2, 3], [4, 1001, 5]),
    generation(2, [Message("user", "more")], final("better"), [6, 7], [220, 17, 5], [False, True, True]),
))


def test_the_ids_of_a_segment_are_never_encoded_again_and_discarded_attempts_are_left_out():
    sample = recorded(SEGMENT, of(SEGMENT), "f" * 64)
    assert sample.ids == SEGMENT.ids == (1, 2, 3, 4, 1001, 5, 6, 7, 220, 17, 5)
    assert [int(on) for on in sample.mask] == [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1]
    assert [(one.start, one.end, one.role, one.trained, one.message) for one in sample.spans] == [
        (0, 3, "template", False, -1), (3, 6, "assistant", True, 2), (6, 8, "user", False, 3), (8, 11, "assistant", True, 4),
    ]
    assert sample.tokenizer == "f" * 64


@pytest.mark.parametrize(("segment", "change", "reason"), [
    (replace(SEGMENT, audit="another policy played"), {}, Reason.AUDIT),
    (replace(SEGMENT, generations=(*SEGMENT.generations[:2], replace(SEGMENT.generations[2], tokens=None))), {}, Reason.UNKNOWN_TOKENS),
    (SEGMENT, {"utterances": (Utterance(ASKED[1]), Utterance(final("good"), True))}, Reason.DIFFERS),
    (SEGMENT, {"utterances": (*map(Utterance, ASKED), Utterance(final("good, repaired"), True))}, Reason.DIFFERS),
    (SEGMENT, {"utterances": (*map(Utterance, ASKED), Utterance(final("good")))}, Reason.UNSUPERVISED),
])
def test_what_cannot_be_taken_as_it_was_sampled_is_dropped_with_its_reason(segment, change, reason):
    found = recorded(segment, replace(of(SEGMENT), **change), "f" * 64)
    assert isinstance(found, Dropped) and found.reason is reason


def test_what_the_record_masks_is_not_learned_whatever_the_dialogue_says():
    masked = Segment((generation(0, ASKED, final("x"), [1], [2, 3], [False, False]),))
    assert recorded(masked, of(masked), "f").reason is Reason.UNSUPERVISED


def test_a_longer_segment_than_the_limit_is_dropped():
    assert recorded(SEGMENT, of(SEGMENT), "f", rules=Rules(limit=11)).ids == SEGMENT.ids
    assert recorded(SEGMENT, of(SEGMENT), "f", rules=Rules(limit=10)) == Dropped(Reason.OVERLONG, "11 tokens of 10")


def test_ids_of_another_tokenizer_are_refused_by_its_fingerprint():
    pytest.importorskip("transformers")
    found = recorded(SEGMENT, of(SEGMENT), "f" * 64, format=chat_format("qwen2.5"))
    assert found.reason is Reason.OTHER_TOKENIZER and found.detail.startswith("ffffffffffff, not ")


def test_an_empty_block_that_was_sampled_is_context_where_the_format_is_known():
    pytest.importorskip("transformers")
    format = chat_format("qwen2.5")
    ids = answers_of(format).write(final("<think>\n\n</think>\n\nYes."))
    segment = Segment((generation(0, ASKED, final("Yes."), format.open(ASKED, ()), ids),))
    found = recorded(segment, of(segment), format.fingerprint, format=format)
    assert learned(format, found) == ["Yes.<|im_end|>"] and found.ids == segment.ids
    assert recorded(segment, of(segment), format.fingerprint, format=format, rules=Rules(ignore_empty_think=False)).supervised == len(ids)
