"""Records whose lines of runs or whose token data are not as they are written: each is refused in one line that names the file."""

import json
from dataclasses import replace

import pytest
from episode_samples import lines_of, resealed
from hypothesis import given, settings
from hypothesis import strategies as st
from run_samples import NEW, OLD, PLAYED, RUNS, TURNS, with_generation

from cowork_gym.core.columns import content_digest, token_rows, write_columns
from cowork_gym.core.errors import PackageError
from cowork_gym.core.record import read_episode, write_episode
from cowork_gym.core.trajectory import Tokens

arrow = pytest.importorskip("pyarrow")


def _refused(path):
    with pytest.raises(PackageError) as found:
        read_episode(path)
    assert "\n" not in str(found.value)
    return str(found.value)


def _of(events, kind, at=0):
    return [event for event in events if event["event"] == kind][at]


LINES = [
    (lambda events: events[0].pop("budgets"), "expected the fields event, schema_version"),
    (lambda events: events[0].update(harness=None), "expected the fields event, schema_version"),
    (lambda events: events[0]["budgets"].update(cost=None), "expected the fields turns, calls"),
    (lambda events: events[0]["budgets"].update(turns=True), "turns cannot be of type bool"),
    (lambda events: events[0]["budgets"].update(tokens=True), "tokens cannot be of type bool"),
    (lambda events: events[0]["budgets"].update(seconds=True), "not a budget of seconds: True"),
    (lambda events: events[0]["budgets"].update(seconds="1"), "not a budget of seconds: 1"),
    (lambda events: events[0]["budgets"].update(seconds=10**400), "not a budget of seconds: 1000"),
    (lambda events: events[0]["budgets"].update(seconds=60.0), "line 1: not as version 1 has it"),
    (lambda events: events[0].update(policy={"name": "x"}), "expected the fields name, version, tokenizer"),
    (lambda events: events[0]["composition"].update(sha256="0" * 64), "line 1: not as version 1 has it"),
    (lambda events: events[0]["composition"]["manifest"].update(loop="plan-act"), "line 1: not as version 1 has it"),
    (lambda events: events[0].update(origin={"seal": "0" * 64, "turn": None}), "turn cannot be of type NoneType"),
    (lambda events: events[1].pop("run"), "expected the fields event, index"),
    (lambda events: events[1].pop("state"), "expected the fields event, index"),
    (lambda events: events[1].update(run=False), "run cannot be of type bool"),
    (lambda events: events[1]["dispatches"][0].pop("inner"), "expected the fields id, tool"),
    (lambda events: events[1]["dispatches"][0].update(inner=0), "inner cannot be of type int"),
    (lambda events: events[1]["dispatches"][0].update(sequence=True), "sequence cannot be of type bool"),
    (lambda events: _of(events, "run").update(why="x"), "expected the fields event, id, parent"),
    (lambda events: _of(events, "run", 1).update(tools=["a", None]), "tools is a list of texts"),
    (lambda events: _of(events, "run", 1).update(parent=False), "parent cannot be of type bool"),
    (lambda events: _of(events, "segment").update(index=1), "line 8: not as version 1 has it"),
    (lambda events: _of(events, "segment").update(run=1), "line 8: not as version 1 has it"),
    (lambda events: _of(events, "segment", 1)["rewrite"].update(kind="cut"), "'cut' is not a valid RewriteKind"),
    (lambda events: _of(events, "segment", 1)["rewrite"].pop("summary"), "expected the fields kind, by, before"),
    (lambda events: _of(events, "segment", 1)["rewrite"]["summary"].update(author="me"), "no author 'me' of summaries"),
    (lambda events: _of(events, "segment", 1)["rewrite"]["before"].update(messages="6"), "messages cannot be of type str"),
    (lambda events: _of(events, "generation").update(purpose="guess"), "'guess' is not a valid Purpose"),
    (lambda events: _of(events, "generation").update(turn=False), "turn cannot be of type bool"),
    (lambda events: _of(events, "generation").update(kept=1), "kept cannot be of type int"),
    (lambda events: _of(events, "generation").update(loss=0), "expected the fields event, run, segment"),
    (lambda events: _of(events, "generation").update(segment=1), "generation 0 of run 0 has other tokens than the file of tokens"),
    (lambda events: _of(events, "generation").update(tokens=None), "generation 0 of run 0 has other tokens than the file of tokens"),
    (lambda events: _of(events, "generation")["tokens"].update(ids=4), "generation 0 of run 0 has other tokens than the file of tokens"),
    (lambda events: _of(events, "generation").pop("given"), "generation 0 of run 0 leaves out what no turn has"),
    (lambda events: _of(events, "generation", 2).pop("given"), "run 0, segment 1: the rewrite began with another history"),
    (lambda events: _of(events, "generation", 2).pop("said"), "generation 2 of run 0 leaves out what no turn has"),
    (lambda events: _of(events, "generation").update(said=events[1]["action"]), "line 9: not as version 1 has it"),
    (lambda events: _of(events, "generation", 4).update(given=events[4]["observation"]), "line 14: not as version 1 has it"),
    (lambda events: events.insert(6, events.pop(8)), "a generation stands before what it belongs to"),
    (lambda events: events.insert(6, events.pop(7)), "a segment stands before what it belongs to"),
    (lambda events: events.insert(5, events.pop(6)), "line 6: not as version 1 has it"),
    (lambda events: events.insert(18, _of(events, "tokens")), "line 20: not as version 1 has it"),
    (lambda events: _of(events, "tokens").update(sampled=11), "line 19: not as version 1 has it"),
    (lambda events: _of(events, "tokens").update(generations=4), "line 19: not as version 1 has it"),
    (lambda events: _of(events, "tokens").update(context=None), "context cannot be of type NoneType"),
    (lambda events: _of(events, "tokens").update(bytes=1), "expected the fields event, sha256"),
    (lambda events: events.remove(_of(events, "tokens")), "generation 0 of run 0 has other tokens than the file of tokens"),
]


@pytest.mark.parametrize("at", range(len(LINES)))
def test_who_seals_again_cannot_write_other_lines(tmp_path, at):
    change, said = LINES[at]
    path = resealed(write_episode(PLAYED, tmp_path), change)
    told = _refused(path)
    assert told.startswith(f"{path}: ") and said in told


def _table(rows, **columns):
    data = {
        "run": [row.run for row in rows], "segment": [row.segment for row in rows], "generation": [row.generation for row in rows],
        **{name: [list(getattr(row.tokens, name)) for row in rows] for name in ("context", "ids", "logprobs", "mask")},
    }
    whole, many = arrow.int32(), arrow.list_
    kinds = {
        "run": whole, "segment": whole, "generation": whole, "context": many(whole), "ids": many(whole), "logprobs": many(arrow.float64()),
        "mask": many(arrow.bool_()),
    }
    return arrow.table({name: arrow.array(columns.get(name, data[name]), columns.get(f"{name}_kind", kind)) for name, kind in kinds.items()})


def _stored(path, table):
    with arrow.OSFile(str(path), "wb") as sink, arrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


ROWS = token_rows(RUNS)
GAP = [[None, *row.tokens.ids[1:]] for row in ROWS]
OTHER = [row._replace(tokens=replace(row.tokens, logprobs=(-9.0,) * len(row.tokens.ids))) for row in ROWS]
NOT_THE_DATA = "not the token data of the record beside it: "
CHANGED = "the token data are not those that the record beside it seals: the file was changed"
FILES = [
    (lambda path: path.unlink(), NOT_THE_DATA + "No such file or directory"), (lambda path: path.write_bytes(b""), NOT_THE_DATA),
    (lambda path: path.write_bytes(path.read_bytes()[:-40]), NOT_THE_DATA), (lambda path: path.write_bytes(path.read_bytes()[:100]), NOT_THE_DATA),
    (lambda path: path.write_bytes(b"no columns"), NOT_THE_DATA), (lambda path: (path.unlink(), path.mkdir()), NOT_THE_DATA + "Is a directory"),
    (lambda path: write_columns(path, ROWS[:-1]), CHANGED), (lambda path: write_columns(path, ROWS[::-1]), CHANGED),
    (lambda path: write_columns(path, [*ROWS, ROWS[0]]), CHANGED), (lambda path: write_columns(path, OTHER), CHANGED),
    (lambda path: write_columns(path, []), CHANGED), (lambda path: write_columns(path, [ROWS[0]._replace(run=1), *ROWS[1:]]), CHANGED),
    (lambda path: _stored(path, _table(ROWS).drop_columns(["mask"])), NOT_THE_DATA + "it has other columns"),
    (lambda path: _stored(path, _table(ROWS, run_kind=arrow.int64())), NOT_THE_DATA + "it has other columns"),
    (lambda path: _stored(path, _table(ROWS, ids_kind=arrow.list_(arrow.int64()))), NOT_THE_DATA + "it has other columns"),
    (lambda path: _stored(path, _table(ROWS, ids=GAP)), NOT_THE_DATA + "it has gaps"),
    (lambda path: _stored(path, _table(ROWS, run=[None] * 5)), NOT_THE_DATA + "it has gaps"),
    (lambda path: _stored(path, _table(ROWS, mask=[None] * 5)), NOT_THE_DATA + "it has gaps"),
    (lambda path: _stored(path, _table(ROWS, mask=[[]] * 5)), "3 sampled ids, 3 log-probabilities and a mask of 0"),
    (lambda path: _stored(path, _table(ROWS, context=[[-1]] * 5)), NOT_THE_DATA + "run 0, segment 0, generation 0: an id of its context"),
    (lambda path: _stored(path, _table(ROWS, logprobs=[[float("nan")] * len(row.tokens.ids) for row in ROWS])), "a log-probability is not finite"),
]


@pytest.mark.parametrize("at", range(len(FILES)))
def test_other_token_data_are_refused_by_the_name_of_their_file(tmp_path, at):
    change, said = FILES[at]
    path = write_episode(PLAYED, tmp_path)
    side = path.with_suffix(".arrow")
    change(side)
    told = _refused(path)
    assert told.startswith(f"{side}: ") and said in told


def test_the_same_content_in_another_file_is_read(tmp_path):
    path = write_episode(PLAYED, tmp_path)
    parts = [_table(ROWS[:2]), _table(ROWS[2:])]
    with arrow.OSFile(str(path.with_suffix(".arrow")), "wb") as sink, arrow.ipc.new_file(sink, parts[0].schema) as writer:
        for part in parts:
            writer.write_table(part)
    assert read_episode(path) == PLAYED


def test_the_digest_can_be_made_without_this_package():
    rows = token_rows((replace(RUNS[0], segments=(replace(OLD, generations=(
        replace(OLD.generations[0], tokens=Tokens((5,), (6, 7), (-1.0, -0.0), (True, False))),
    )),)),))
    assert content_digest(rows) == "338cc8c807d31aa2f232ea036a9526ee620cba32191c292371c9467806f63cce"


@settings(max_examples=120, deadline=None)
@given(at=st.integers(0, 10**6), byte=st.integers(1, 255), cut=st.booleans())
def test_no_byte_of_the_token_data_breaks_the_reader(tmp_path_factory, at, byte, cut):
    path = write_episode(PLAYED, tmp_path_factory.mktemp("fuzz"))
    side = path.with_suffix(".arrow")
    content = bytearray(side.read_bytes())
    at %= len(content)
    content[at] ^= byte
    side.write_bytes(content[:at] if cut else content)
    try:
        assert read_episode(path) == PLAYED
    except PackageError as error:
        assert str(error).startswith(f"{side}: ") and "\n" not in str(error)


def test_a_file_of_an_episode_without_tokens_is_not_looked_at(tmp_path):
    unseen = replace(PLAYED, turns=TURNS[:0], runs=(), answer=None)
    path = write_episode(unseen, tmp_path)
    path.with_suffix(".arrow").write_bytes(b"something else")
    assert read_episode(path) == unseen


def test_a_failed_write_leaves_no_record(tmp_path, monkeypatch):
    def fail(self, target):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_episode(PLAYED, tmp_path)
    assert [*tmp_path.iterdir()] == []


def test_tokens_are_there_before_the_record(tmp_path, monkeypatch):
    monkeypatch.setattr("cowork_gym.core.record.write_whole", lambda path, content: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_episode(PLAYED, tmp_path)
    assert [one.suffix for one in tmp_path.iterdir()] == [".arrow"]


def test_the_file_says_which_generation_a_row_is_of(tmp_path):
    path = write_episode(with_generation(4, tokens=replace(NEW.generations[1].tokens, context=(1, 2))), tmp_path)
    table = arrow.ipc.open_file(path.with_suffix(".arrow").read_bytes()).read_all()
    assert table.schema.names == ["run", "segment", "generation", "context", "ids", "logprobs", "mask"]
    keys = [table[name].to_pylist() for name in table.schema.names[:3]]
    assert keys == [[0] * 5, [0, 0, 0, 1, 1], [0, 1, 2, 3, 4]]
    assert (table["context"][4].as_py(), table["logprobs"][4].as_py()) == ([1, 2], [-3.0])
    assert [json.loads(line)["context"] for line in lines_of(path) if b'"event":"tokens"' in line] == [25]
