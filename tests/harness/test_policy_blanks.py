"""Blanks in scripts are filled in from earlier results."""

import pytest

from cowork_gym.core.messages import Message, call, final
from cowork_gym.harness.policies.blanks import fill

HISTORY = (
    Message("user", "Do it."), call("make", x=1),
    Message("tool", '{"item": {"id": "N-1", "rows": [{"k": "v"}]}}', (), "1", "make"),
    Message("tool", '{"error": "no", "type": "conflict"}', (), "2", "make"),
    Message("tool", '{"item": {"id": "N-2"}, "price": 1.50}', (), "3", "make"), Message("tool", "no json", (), "4", "other"),
)


@pytest.mark.parametrize(("written", "filled"), [
    ("${make.item.id}", "N-2"), ("a ${make#1.item.id} b ${make#2.item.id}", "a N-1 b N-2"), ("${make#1.item.rows.0.k}", "v"),
    ("${make.price}", "1.50"), ("${make#3.item.id}", "${make#3.item.id}"), ("${other.x}", "${other.x}"),
    ("${make.item.name}", "${make.item.name}"), ("$make {x}", "$make {x}"),
    ("${make#1.item.rows}", '[{"k":"v"}]'), (f"${{make#{'9' * 5000}.item}}", f"${{make#{'9' * 5000}.item}}"),
    (f"${{make#1.item.rows.{'9' * 5000}}}", f"${{make#1.item.rows.{'9' * 5000}}}"),
])
def test_a_blank(written: str, filled: str) -> None:
    assert fill(final(written), HISTORY).content == filled
    action = fill(call("use", id=written, deep=[{"k": written}]), HISTORY)
    assert action.tool_calls[0].decoded() == {"id": filled, "deep": [{"k": filled}]}
