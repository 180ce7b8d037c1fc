"""Files that are no episodes, or no longer the ones that were written: each is refused in one line."""

import json
from hashlib import sha256

import pytest
from episode_samples import EPISODE, SEAL, UNGRADED, lines_of, resealed, rewritten
from hypothesis import given, settings
from hypothesis import strategies as st
from run_samples import UNSEEN

from cowork_gym.core.canonical import decode
from cowork_gym.core.errors import PackageError
from cowork_gym.core.record import read_episode, seal, write_episode


def _refused(path):
    with pytest.raises(PackageError) as found:
        read_episode(path)
    told = str(found.value)
    assert told.startswith(f"{path}: ") and "\n" not in told
    return told


@pytest.mark.parametrize("at", range(SEAL))
def test_a_changed_byte_is_detected(tmp_path, at):
    path = write_episode(EPISODE, tmp_path)

    def change(lines):
        return [*lines[:at], lines[at].replace(b'"event":', b'"event": '), *lines[at + 1 :]]

    assert "line 10: the seal does not match" in _refused(rewritten(path, change))


@pytest.mark.parametrize(("change", "said"), [
    (lambda lines: lines[:5], "the seal is missing: the file is cut off"),
    (lambda lines: [*lines[:5], lines[5][:20]], "not an episode file"),
    (lambda lines: [*lines[:4], *lines[5:]], "the seal does not match"),
    (lambda lines: [*lines[:4], lines[4], *lines[4:]], "the seal does not match"),
    (lambda lines: [lines[1], lines[0], *lines[2:]], "line 1: not an episode file"),
    (lambda lines: [lines[0].replace(b'"schema_version":1', b'"schema_version":2'), *lines[1:]],
     "schema_version: this reader knows versions 0 to 1, the file has 2"),
    (lambda lines: [lines[0].replace(b'"schema_version":1', b'"schema_version":"0\\n' + b"9" * 500 + b'"'), *lines[1:]], "the file has '0\\n9"),
    (lambda lines: [lines[0].replace(b'"schema_version":1,', b""), *lines[1:]], "the file has None"),
    (lambda _: [b""], "not an episode file"), (lambda _: [b"[]"], "not an episode file"), (lambda lines: [b"3", *lines], "not an episode file"),
    (lambda lines: ["é".encode("latin-1"), *lines], "not an episode file"), (lambda lines: [b"[" * 100_000, *lines], "not an episode file"),
    (lambda lines: [*lines, b"{}"], "not an episode file"), (lambda lines: [*lines, b'{"event":[]}'], "not an episode file"),
    (lambda lines: [*lines[:SEAL], lines[SEAL].replace(b"}", b',"by":"me"}'), *lines[10:]], "line 10: the seal does not match"),
    (lambda lines: [*lines, lines[1]], "line 12: after the seal, only a grade may stand"),
    (lambda lines: [*lines, lines[SEAL]], "line 12: after the seal, only a grade may stand"),
    (lambda lines: lines * 2, "line 12: after the seal, only a grade may stand"),
    (lambda lines: lines[: SEAL + 1] * 2, "line 11: after the seal, only a grade may stand"),
])
def test_a_bad_file_is_told_in_one_line(tmp_path, change, said):
    assert said in _refused(rewritten(write_episode(EPISODE, tmp_path), change))


def test_what_cannot_be_opened_is_told(tmp_path):
    assert _refused(tmp_path / "none.jsonl").endswith("not an episode file: No such file or directory")
    assert _refused(str(tmp_path)).endswith("not an episode file: Is a directory")
    assert "File name too long" in _refused(tmp_path / ("x" * 300))
    assert "null byte" in _refused(f"{tmp_path}/\0")


@pytest.mark.parametrize(("old", "new", "said"), [
    (b'"reward":0.5', b'"reward":0.9', "line 11: the grade does not match its sha256: it was changed"),
    (b'"passed":false', b'"passed":true', "the grade does not match its sha256"),
    (b'"It was called."', b'"It was not."', "the grade does not match its sha256"),
    (b'"event":"grade",', b'"event":"grade", ', "the grade does not match its sha256"),
    (b'"reward":0.5,', b'"reward":0.5,"reward":0.5,', "the grade does not match its sha256"),
    (b'"reward"', b'"award"', "line 11: not a grade of version 1: expected the fields"),
    (b'"reward":0.5', b'"reward":1' + b"0" * 400, "not a grade of version 1: not a number from 0 to 1"),
    (b'"reward":0.5', b'"reward":1e999999999', "not a number from 0 to 1: 1E+999999999"),
    (b'"reward":0.5', b'"reward":"x"', "not a number from 0 to 1: x"), (b'"reward":0.5', b'"reward":[1]', "not a number from 0 to 1"),
    (b'"reward":0.5', b'"reward":true', "not a number from 0 to 1"), (b'"weight":0.3', b'"weight":-0.3', "not a number from 0 to 1"),
    (b'"rewards":{"cowork-v1":0.5,"claw-v1":1.0}', b'"rewards":[1]', "rewards cannot be of type list"),
    (b'"claw-v1":1.0', b'"claw-v1":"1"', "not a number from 0 to 1"), (b'"objective"', b'"none"', "'none' is not a valid Part"),
    (b'["ledger:1"]', b"[1]", "evidence is a list of texts"), (b'"fault":null', b'"fault":{"blame":"x"}', "expected the fields blame"),
    (b'"passed":false', b'"passed":0', "passed cannot be of type int"),
])
def test_a_grade_that_was_changed_is_refused(tmp_path, old, new, said):
    def change(lines):
        assert old in lines[10]
        return [*lines[:10], lines[10].replace(old, new)]

    assert said in _refused(rewritten(write_episode(EPISODE, tmp_path), change))


def test_a_grade_of_another_episode_is_refused(tmp_path):
    other = resealed(write_episode(EPISODE, tmp_path), lambda events: events[0].update(seed=8))
    grade = lines_of(write_episode(EPISODE, tmp_path / "first"))[10]
    assert _refused(rewritten(other, lambda lines: [*lines, grade])).endswith("line 11: the grade is of another episode")


def _last(events, **fields):
    events[-1].update(fields)


@pytest.mark.parametrize(("change", "said"), [
    (lambda events: events[0].update(schema_version=False), "versions 0 to 1, the file has False"),
    (lambda events: events[0].update(schema_version=1.0), "versions 0 to 1, the file has Decimal('1.0')"),
    (lambda events: events[0].update(seed="7"), "seed cannot be of type str"),
    (lambda events: events[0].update(seed=True), "seed cannot be of type bool"),
    (lambda events: events[0].update(by="me"), "expected the fields event, schema_version"),
    (lambda events: events[0].pop("agent"), "expected the fields event, schema_version"),
    (lambda events: events[0].update(opening=[{"role": "boss", "content": "x"}]), "no role 'boss'"),
    (lambda events: events[0].update(opening=[3]), "expected the fields role"),
    (lambda events: events[0].update(opening=[{"role": "user", "content": "x", "name": None}]), "line 1: not as version 1 has it"),
    (lambda events: events.insert(1, {"event": "note", "text": "x"}), "line 2: not as version 1 has it"),
    (lambda events: events.insert(4, events.pop(5)), "line 5: not as version 1 has it"),
    (lambda events: events.append({"event": "change", "table": "a", "key": "b", "before": None, "after": None}), "expected the fields event, ending"),
    (lambda events: events.pop(), "expected the fields event, ending"), (lambda events: events.__delitem__(slice(1, None)), "expected the fields"),
    (lambda events: events.pop(1), "a turn is missing, or comes twice"), (lambda events: events.pop(2), "a turn is missing, or comes twice"),
    (lambda events: events.insert(2, events[1]), "a turn is missing, or comes twice"),
    (lambda events: events.pop(3), "the answer is not what the last turn says"),
    (lambda events: _last(events, answer="x"), "the answer is not what"),
    (lambda events: events[1].update(tokens=None), "tokens cannot be of type NoneType"),
    (lambda events: events[1].update(action={}), "expected the fields"),
    (lambda events: events[1]["action"]["tool_calls"][0].update(function=None), "function cannot be of type NoneType"),
    (lambda events: events[1]["dispatches"][0].update(status="200"), "status cannot be of type str"),
    (lambda events: events[4].update(body=None), "body cannot be of type NoneType"),
    (lambda events: events[4].update(body="[]"), "expected the fields"),
    (lambda events: events[4].update(body=events[4]["body"].replace("C-1", "C-2")), "the ledger's chain is broken"),
    (lambda events: events[4].update(body=events[4]["body"].replace('"read"', '"look"')), "'look' is not a valid Effect"),
    (lambda events: events[4].update(body=events[4]["body"].replace("0.1234567890123456789", "1e999999999")), "chain is broken"),
    (lambda events: _ledger_from_2(events), "the ledger's chain is broken"), (lambda events: events.pop(4), "the ledger's chain is broken"),
    (lambda events: events[5].update(before=[]), "before cannot be of type list"),
    (lambda events: events[5].update(key=1), "key cannot be of type int"),
    (lambda events: _last(events, ending="over"), "'over' is not a valid Ending"),
    (lambda events: _last(events, fault=[]), "fault cannot be of type list"),
    (lambda events: _last(events, fault={"blame": "me", "where": "", "message": ""}), "'me' is not a valid Blame"),
])
def test_who_seals_again_cannot_write_what_is_no_episode(tmp_path, change, said):
    assert said in _refused(resealed(write_episode(EPISODE, tmp_path), change))


def _ledger_from_2(events):
    body = events[4]["body"].replace('"sequence":1', '"sequence":2')
    events[4].update(body=body, hash=sha256(body.encode()).hexdigest())
    _last(events, ledger=events[4]["hash"])


def test_the_test_seals_as_the_writer_does(tmp_path):
    path = resealed(write_episode(EPISODE, tmp_path), lambda events: None)
    assert path.read_bytes() == write_episode(UNGRADED, tmp_path / "other").read_bytes()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["event", "id", "role", "\ud800"]), inner, max_size=2), max_leaves=4,
)


def _places(value, path=()):
    """The paths of all that is in a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*path, key)
        yield from _places(item, (*path, key))


@pytest.mark.parametrize("episode", [EPISODE, UNSEEN], ids=["bare", "with runs"])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_value_anywhere_breaks_the_reader(tmp_path_factory, episode, data):
    path = write_episode(episode, tmp_path_factory.mktemp("fuzz"))

    def change(events):
        *way, last = data.draw(st.sampled_from([*_places(events)]))
        inside = events
        for step in way:
            inside = inside[step]
        if data.draw(st.booleans()):
            inside[last] = data.draw(_JSON)
        else:
            del inside[last]

    try:
        found = read_episode(resealed(path, change))
    except PackageError as error:
        assert "\n" not in str(error)
    else:
        assert seal(found) == decode(lines_of(path)[-1])["sha256"]
        json.dumps([message.wire() for message in found.messages])
