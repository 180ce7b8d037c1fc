"""History masking and empty thinking blocks, by role and by text."""

import pytest

from cowork_gym.trainers.data.sft.masks import ROLES, empty_think, span_mask


def test_the_published_case():
    spans = [("sys", 4), ("user", 3), ("asst", 5), ("tool", 6), ("summary_by_harness", 4), ("replayed_asst", 5), ("asst", 2)]
    found = span_mask(spans)
    assert found.runs == ((False, 4), (False, 3), (True, 5), (False, 6), (False, 4), (False, 5), (True, 2))
    assert found.supervised == 7


def test_only_what_the_policy_newly_wrote_is_learned():
    assert {role for role, learned in ROLES.items() if learned} == {"asst", "assistant", "summary_by_policy"}


@pytest.mark.parametrize(("spans", "told"), [([("assistent", 1)], "did you mean 'assistant'"), ([("asst", -1)], "has -1 tokens")])
def test_what_is_no_span_is_told(spans, told):
    with pytest.raises(ValueError, match=told):
        span_mask(spans)


@pytest.mark.parametrize(("answer", "block"), [
    ("<think>\n\n</think>\n\nYes", "<think>\n\n</think>\n\n"), ("<think></think>Yes", "<think></think>"),
    ("<think> \t</think> Yes", "<think> \t</think> "),
    ("\n<think>\n</think>\n", "\n<think>\n</think>\n"), ("\n</think>\n\nYes", "\n</think>\n\n"), ("[THINK] [/THINK]Yes", "[THINK] [/THINK]"),
    ("<think>x</think>Yes", ""), ("Yes <think></think>", ""), ("thought</think>Yes", ""), ("Yes", ""), ("", ""), ("  Yes", ""), ("<think>\n\n", ""),
])
def test_a_block_is_empty_whatever_white_space_is_in_it(answer, block):
    assert answer[: empty_think(answer)] == block
