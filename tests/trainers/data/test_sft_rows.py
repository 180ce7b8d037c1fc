"""Dialogues as rows, their files, lengths, and the data card."""

import json

import pytest
from sft_records import built, clumsy, delegated, plain, windowed

from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.trainers.data.dialogue import Dialogue, Source, Utterance
from cowork_gym.trainers.data.sft.choice import Authorisation
from cowork_gym.trainers.data.sft.data_card import data_card
from cowork_gym.trainers.data.sft.lengths import Lengths
from cowork_gym.trainers.data.sft.manifest import Authorship, authorship_of, describe
from cowork_gym.trainers.data.sft.output import LINES, appearing, line_of, read_dialogues
from cowork_gym.trainers.data.sft.recipes import RECIPES
from cowork_gym.trainers.data.sft.statistics import Statistics
from cowork_gym.trainers.data.sft.wire import dialogue_of, is_text, row_of

DIALOGUES = [one for episode in (plain(), windowed(), delegated(), clumsy()) for one in built(episode).dialogues]


def test_a_row_gives_back_its_dialogue():
    for one in DIALOGUES:
        assert dialogue_of(json.loads(line_of(row_of(one)))) == one


def test_rows_have_ids_of_their_own_and_one_form():
    rows = [row_of(one) for one in DIALOGUES]
    assert len({one["id"] for one in rows}) == len(rows)
    assert len({tuple(one) for one in rows}) == 1
    assert len({tuple(message) for one in rows for message in one["messages"]}) == 1


def test_messages_are_in_openais_form():
    for one in DIALOGUES:
        for told, message in zip(row_of(one)["messages"], one.messages, strict=True):
            assert {name: value for name, value in told.items() if value is not None and name not in ("trained", "why")} == {
                name: value for name, value in message.wire().items() if value is not None
            }


def test_lines_are_read_one_by_one(tmp_path):
    (tmp_path / LINES).write_bytes(b"".join(line_of(row_of(one)) + b"\n" for one in DIALOGUES))
    assert [*read_dialogues(tmp_path)] == [*read_dialogues(tmp_path / LINES)] == DIALOGUES


@pytest.mark.parametrize("line", [b"{", b"[]", b"{}", b'{"messages": 3}', "é".encode("latin-1")])
def test_a_line_that_is_no_row_is_named(tmp_path, line):
    file = tmp_path / LINES
    file.write_bytes(line_of(row_of(DIALOGUES[0])) + b"\n" + line + b"\n")
    with pytest.raises(PackageError, match=r"dialogues\.jsonl: line 2"):
        [*read_dialogues(file)]
    with pytest.raises(PackageError, match="no data set"):
        [*read_dialogues(tmp_path / "nothing")]


def test_only_an_assistant_is_learned_from():
    row = row_of(DIALOGUES[0])
    spoiled = {**row, "messages": [{**row["messages"][0], "trained": True}, *row["messages"][1:]]}
    with pytest.raises(ValueError, match="role user"):
        dialogue_of(spoiled)


def test_half_a_surrogate_pair_is_no_text():
    source = Source("0" * 64, "M1_x", "M1_x@0:0", 0, "teacher")
    odd = Dialogue(source, (Utterance(Message("assistant", None, (ToolCall("look", '{"at": "\ud800"}', "1"),)), True),))
    assert not is_text(row_of(odd))
    assert is_text(row_of(Dialogue(source, (Utterance(Message("assistant", "会議室 📅"), True),))))


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    place = tmp_path / "deep" / "set"
    with pytest.raises(RuntimeError), appearing(place) as folder:
        (folder / "x").write_text("1")
        raise RuntimeError
    assert [*(tmp_path / "deep").iterdir()] == []
    with appearing(place) as folder:
        (folder / "x").write_text("1")
        assert not place.exists()
    assert (place / "x").read_text() == "1"
    with pytest.raises(UserError, match="is there already"), appearing(place):
        pass
    assert [*(tmp_path / "deep").iterdir()] == [place]


def test_quantiles_are_values_that_occur():
    lengths = Lengths()
    for one in range(1, 101):
        lengths.add(one)
    assert lengths.summary() == {
        "sum": 5050, "mean": 50.5, "min": 1, "p5": 5, "p25": 25, "p50": 50, "p75": 75, "p95": 95, "p99": 99, "max": 100,
    }
    one = Lengths()
    one.add(7)
    assert {value for name, value in one.summary().items()} == {7}
    assert Lengths().summary() == {}


def _described(authorisation, named, count=None):
    statistics = Statistics(counted=count is not None)
    for one in DIALOGUES:
        statistics.add(one, count)
    counts = {"records": 4, "unreadable": 0, "left_out": {"below_reward": 2}, "rejected": {}, "sanitised": {}}
    return describe(
        {**RECIPES["occamy"].settings(), "seed": 0, "tokenizer": "words"}, counts, statistics, (), authorisation=authorisation, use="training",
        authorship=authorship_of(statistics, authorisation, named), files={LINES: "0" * 64}, versions={"lines": ["v2", "", "v1"]},
    )


def test_authors_and_teachers_are_two_roles():
    released = Authorisation({"M1100_x@0:0": frozenset({"training"})}, ("core@0123",), ("Ada Moreau",), ("Lin Wei",))
    roles = _described(released, Authorship())["roles"]
    assert (roles["authors"], roles["teachers"]) == (["Ada Moreau"], ["Lin Wei"])
    assert roles["answers"]["lines"]["versions"] == ["v1", "v2"]
    assert _described(Authorisation(), Authorship())["roles"]["teachers"] == ["lines", "reference"]
    assert _described(released, Authorship(teachers=("Someone",)))["roles"]["teachers"] == ["Someone"]


def test_the_card_tells_what_the_manifest_says():
    manifest = _described(Authorisation({}, ("core@0123",), ("Ada | Moreau",)), Authorship(), (1000, 300))
    card = data_card(manifest)
    total = 1000 * len(DIALOGUES)
    assert f"| Overall | {len(DIALOGUES)} | 100.0% | 1,000 | {total:,} |" in card
    assert f"{total:,}, {300 * len(DIALOGUES):,} of them learned (words)" in card
    for part in ("Ada \\| Moreau", "core@0123", "records: below_reward", "answers not learned: replayed", "| tool calls |"):
        assert part in card
    assert all(line.count("|") == 3 or "|" not in line or "Data source" in line or line.count("|") > 3 for line in card.splitlines())
    assert data_card(manifest) == card


def test_rows_that_a_tokenizer_cannot_show_are_counted():
    numbers = _described(Authorisation(), Authorship(), "overlong")["statistics"]
    assert numbers["unrendered"] == {"overlong": len(DIALOGUES)}
    assert numbers["lengths"]["tokens"] == {}
