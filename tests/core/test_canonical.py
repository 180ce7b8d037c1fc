import json
import math
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.core.canonical import MAX_DEPTH, MAX_SIZE, canonical, check_value, decode, digest, encode
from cowork_gym.core.errors import ErrorKind, ToolError

FLOATS = st.floats(allow_nan=False, width=32, min_value=-1e9, max_value=1e9)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.decimals(allow_nan=False, allow_infinity=False, places=6) | FLOATS
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=4), part, max_size=4), max_leaves=10,
)


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize("group", [
    (33, 33.0, Decimal("33"), Decimal("33.00"), Decimal("3.3e1")), (0, -0.0, 0.0, Decimal("-0"), Decimal("0E+5")),
    (0.1, Decimal("0.1"), Decimal("0.100")),
    (1e3, 1000, Decimal("1E+3")), (-2.5, Decimal("-2.50")), ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}), ([1, [2]], (1, (2.0,))),
    ({3, 1}, frozenset({1, 3})),
])
def test_equal_values_have_one_spelling(group):
    assert len({canonical(value) for value in group}) == 1 == len({digest(value) for value in group})


def test_different_values_have_different_spellings():
    different = [
        None, False, 0, "", [], {}, "0", True, 1, "1", [1], [[1]], {"1": 1}, "null", 0.1, Decimal("0.10000000000000001"), b"", b"0", "é",
        "e\u0301", 10, 100,
    ]
    assert len({canonical(value) for value in different}) == len(different)


@pytest.mark.parametrize("text", ["0.12345678901234567890", "12345678901234567890123", "-0.1", "12345678901234.1234567891", "100000000000000000000"])
def test_no_digit_is_lost(text):
    value = decode(f"[{text}]")
    assert canonical(value) == encode(value) == f"[{text.rstrip('0') if '.' in text else text}]"


@settings(max_examples=80)
@given(VALUES)
def test_canonical_text_is_json_with_sorted_keys_and_stable(value):
    text = canonical(value)
    assert canonical(decode(text)) == text
    assert decode(encode(value)) == decode(text)
    assert canonical(json.loads(encode(value), parse_float=Decimal)) == text


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("Infinity")])
def test_numbers_that_cannot_be_kept(bad):
    with pytest.raises(ValueError, match="not a number that can be kept"):
        canonical([bad])


def test_what_has_no_form_is_refused():
    for bad in (object(), 1j, print, nested):
        with pytest.raises(TypeError):
            canonical({"a": bad})
        with pytest.raises(TypeError):
            encode({"a": bad})
    with pytest.raises(ValueError):
        encode(math.nan)


def test_encode_keeps_text_and_order():
    assert encode({"b": "é证", "a": Decimal("2.50"), "c": Decimal("3.00")}) == '{"b":"é证","a":2.5,"c":3}'
    assert encode({"b": 1, "a": 2}, sort_keys=True) == '{"a":2,"b":1}'


@pytest.mark.parametrize("bad", ["1e99999999999999999999", "NaN", "[Infinity]", "-Infinity", "{", "", "[1,]", "[" * 100_000])
def test_decode_refuses_what_is_not_json(bad):
    with pytest.raises(ValueError):
        decode(bad)


@pytest.mark.parametrize(("bad", "said"), [
    ("\ud800", "lone surrogate"), ({"a": ["x\udfff"]}, "lone surrogate"), ({"\ud800": 1}, "lone surrogate"), ("a\0b", "NUL"), ({"\0": 1}, "NUL"),
    (math.nan, "nan, which is not a number"), ([math.inf], "inf, which is not a number"), (Decimal("sNaN"), "not a number"),
    (2**63, "more than 64 bits"), (-(2**64), "more than 64 bits"),
    (1e99, "cannot be kept exactly"), (Decimal("1e-60"), "cannot be kept exactly"), ({1: 2}, "a key that is not a string"),
    ({None: 2}, "a key that is not a string"),
    (b"x", "bytes, which is not JSON"), ({1, 2}, "set, which is not JSON"), (object(), "object, which is not JSON"), ([print], "not JSON"),
    (nested(MAX_DEPTH + 1), "nested more than 32"), (nested(10_000), "nested more than 32"), ("x" * 1_000_000, "too large"),
    ([0] * (MAX_SIZE + 1), "too large"),
    ([["x" * 1000] * 300], "too large"), ({"k" * MAX_SIZE: 1}, "too large"),
])
def test_the_door_refuses(bad, said):
    with pytest.raises(ToolError, match=said) as found:
        check_value(bad, what="it")
    assert found.value.kind is ErrorKind.VALIDATION and str(found.value).startswith("it ") and len(str(found.value)) < 120


def test_the_door_refuses_a_value_that_contains_itself():
    loop = []
    loop.append(loop)
    with pytest.raises(ToolError, match="nested"):
        check_value(loop)
    wide = {}
    wide |= {"a": wide, "b": wide}
    with pytest.raises(ToolError, match=r"nested|too large"):
        check_value(wide)


@pytest.mark.parametrize("good", [
    None, True, "", "emoji 😀 é 证书", "\u2028\x85\t\n", -(2**63), 2**63 - 1, 0.0, -0.0, 5e-40, Decimal("0.12345678901234567890"),
    nested(MAX_DEPTH - 1), (1, (2,)),
    {"a": [{"b": None}]}, "x" * (MAX_SIZE - 1), [0] * (MAX_SIZE - 2),
])
def test_the_door_lets_pass(good):
    check_value(good)
    canonical(good)


@settings(max_examples=80)
@given(VALUES)
def test_what_passes_the_door_can_be_hashed_and_stored(value):
    try:
        check_value(value)
    except ToolError:  # a NUL, which does not pass
        assert "\\u0000" in encode(value)
        return
    assert len(digest(value)) == 64
    canonical(value).encode()
