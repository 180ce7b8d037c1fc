"""Reading YAML and JSON: nothing is guessed, nothing dangerous is read, and every mistake has a place."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.core.errors import PackageError
from cowork_gym.envs.package_files import read_mapping


def _write(folder: Path, content: str | bytes, name: str = "x.yaml") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(("text", "value"), [
    ("yes", "yes"), ("no", "no"), ("on", "on"), ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
    ("2026-01-05", "2026-01-05"), ("2026-01-05T10:30:00Z", "2026-01-05T10:30:00Z"), ("10:30", "10:30"), ("190:20:30", "190:20:30"),
    ("007", "007"), ("0x1F", "0x1F"), ("0o17", "0o17"), ("1_000", "1_000"), ("12e4", "12e4"), (".inf", ".inf"), (".nan", ".nan"), ("<<", "<<"),
    ("0", 0), ("-12", -12), ("+7", 7), ("401", 401), ("'401'", "401"), ('"null"', "null"), ("=", "="),
    ("0.1", Decimal("0.1")), ("1.10", Decimal("1.10")), ("-.5", Decimal("-0.5")), ("1.5e3", Decimal("1500")), ("1.2.3", "1.2.3"), ("+", "+"),
    ("[1, a, 2.50]", [1, "a", Decimal("2.50")]), ("{a: {b: c}}", {"a": {"b": "c"}}), ("证书", "证书"),
])
def test_yaml_scalars_are_read_the_cautious_way(tmp_path: Path, text: str, value: object) -> None:
    found = read_mapping(_write(tmp_path, f"key: {text}\n"))["key"]
    assert found == value
    assert type(found) is type(value)


def test_fractions_keep_every_digit(tmp_path: Path) -> None:
    assert str(read_mapping(_write(tmp_path, "a: 9105.250000000000000001"))["a"]) == "9105.250000000000000001"
    assert str(read_mapping(_write(tmp_path, '{"a": 9105.250000000000000001}', "x.json"))["a"]) == "9105.250000000000000001"


def test_keys_are_texts(tmp_path: Path) -> None:
    assert read_mapping(_write(tmp_path, "1: a\ntrue: b\n2026-01-05: c\n")) == {"1": "a", "true": "b", "2026-01-05": "c"}


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    assert read_mapping(_write(tmp_path, b"\xef\xbb\xbfa: 1\n")) == {"a": 1}


@pytest.mark.parametrize(("text", "place", "problem"), [
    ("a: 1\nb: [1, 2\n", "line 3, column 1", "did not find"),
    ("a: 1\n  b: 2\n", "line 2, column 4", "mapping values are not allowed"),
    ("a: 1\nb: 2\na: 3\n", "line 3, column 1", "the key 'a' comes twice"),
    ("a: &x [1]\nb: *x\n", "line 2, column 4", "the alias *x is not read"),
    ("a: !!python/object/apply:os.system [ls]\n", "line 1, column 4", "the tag tag:yaml.org,2002:python/object/apply:os.system is not read"),
    ("a: !!str 1\n", "line 1, column 4", "is not read"),
    ("a: 1\n---\nb: 2\n", "line 2, column 1", "a second document"),
    ("? [a]\n: 1\n", "line 1, column 3", "a key must be a text"),
    ("- a\n", "", "expected a mapping"),
    ("", "", "expected a mapping, not nothing"),
    ("a: {b: [1, 'x\x01']}\n", "", "control characters are not allowed"),
    ('a: {b: [1, "x\\0"]}\n', "a.b[1]", "the text contains a NUL character"),
    ("a: 99999999999999999999\n", "a", "an integer of more than 64 bits"),
    ("a: 1.0e99\n", "a", "cannot be kept exactly"),
    (f"a: {'[' * 40}{']' * 40}\n", "a[0]", "nested more than 32 levels deep"),
    (f"a: {'[' * 5000}{']' * 5000}\n", "", "nest"),  # told by PyYAML's own limit where it has one, else by ours
    ("".join(f"{' ' * level}k:\n" for level in range(600)), "k.k.k", "nested more than 32 levels deep"),
])
def test_yaml_mistakes_have_a_place(tmp_path: Path, text: str, place: str, problem: str) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(PackageError) as caught:
        read_mapping(path)
    assert caught.value.path == str(path)
    assert caught.value.where.startswith(place)
    assert problem in caught.value.problem
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "place", "problem"), [
    ('{"a": 1,\n "b": }', "line 2, column 7", "Expecting value"),
    ('{"a": {"b": 1, "b": 2}}', "", "the key 'b' comes twice"),
    ('{"a": NaN}', "", "NaN is not JSON"),
    ('{"a": "\\ud800"}', "a", "lone surrogate"),
    ('{"\\u0000": 1}', "", "NUL"),
    ('{"a": ' + "9" * 6000 + "}", "", "digits"),
    ('{"a": ' + "[" * 200_000 + "]" * 200_000 + "}", "", "nested more than 32 levels deep"),
    ("[1]", "", "expected a mapping"),
])
def test_json_mistakes_have_a_place(tmp_path: Path, text: str, place: str, problem: str) -> None:
    with pytest.raises(PackageError) as caught:
        read_mapping(_write(tmp_path, text, "x.json"))
    assert caught.value.where == place
    assert problem in caught.value.problem


def test_what_is_not_utf8_is_told_with_its_line(tmp_path: Path) -> None:
    path = _write(tmp_path, "a: 1\nb: Zürich\n".encode("latin-1"))
    with pytest.raises(PackageError) as caught:
        read_mapping(path)
    assert str(caught.value) == f"{path}: line 2: not UTF-8: byte 0xfc; save the file as UTF-8"


@settings(max_examples=300)
@given(text=st.one_of(st.text(), st.text(alphabet="ab:-[]{}\"'&*!|>#%\n ?,1.0~<")))
def test_no_text_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = _write(tmp_path_factory.getbasetemp(), text.encode(errors="surrogatepass"), "fuzz.yaml")
    try:
        found = read_mapping(path)
    except PackageError as error:
        assert "\n" not in str(error)
    else:
        assert isinstance(found, dict)


_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@settings(max_examples=100)
@given(value=st.dictionaries(_TEXTS, st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4), max_leaves=12,
)))
def test_json_says_what_it_says(tmp_path_factory: pytest.TempPathFactory, value: dict[str, object]) -> None:
    assert read_mapping(_write(tmp_path_factory.getbasetemp(), json.dumps(value), "fuzz.json")) == value
