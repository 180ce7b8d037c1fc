"""`cowork data inspect`: which tokens are learned, told in the terminal with and without colours, and on a page; of data sets and of episodes."""

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from cowork_gym.cli.main import main
from cowork_gym.core.episode import Episode
from cowork_gym.core.messages import Message, ToolCall, call, final
from cowork_gym.core.record import write_episode
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.harness import make_agent, play
from cowork_gym.harness.tokens import SMOLLM2_TOOLS, JinjaFormat
from cowork_gym.trainers.data.dialogue import Dialogue, Source, Utterance
from cowork_gym.trainers.data.sample import Sample, Span
from cowork_gym.trainers.data.sft.output import LINES, PARQUET, Rows, line_of
from cowork_gym.trainers.data.sft.wire import row_of
from cowork_gym.trainers.data.views.html import page
from cowork_gym.trainers.data.views.shown import show, visible
from cowork_gym.trainers.data.views.terminal import show_sample

sys.path[:0] = [str(Path(__file__).parents[1] / name) for name in ("harness", "trainers/data")]

pytest.importorskip("pyarrow")

SOURCE = Source("0" * 64, "M1003", "r", 0, "teacher")
LINES_SAID = (call("helpdesk_list_tickets"), final("Done <b>&amp; gone</b> 終わり\x1b[31m."))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tokenizer of bytes."""
    pytest.importorskip("transformers")
    from chat_tokenizers import tiny

    folder = tmp_path_factory.mktemp("tokenizer")
    one = tiny()
    one.chat_template = SMOLLM2_TOOLS
    one.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def format(tokenizer: Path) -> JinjaFormat:
    from cowork_gym.trainers.data.views.source import load_format

    return load_format(tokenizer)


@pytest.fixture(scope="module")
def played(format: JinjaFormat) -> Episode:
    """An episode that was sampled token by token."""
    from sample_tools import Dictated

    from cowork_gym.harness.policies.token_policy import TokenPolicy

    with CoworkEnv("M1003") as env:
        return play(env, TokenPolicy(Dictated(format, LINES_SAID), format), seed=0)


@pytest.fixture
def data_set(tmp_path: Path) -> Path:
    """Two rows; an answer of the second is context."""
    asked = Message("assistant", "I look.", (ToolCall("look", '{"at":"x"}', "call_0"),))
    result = Message("tool", "found\tit", tool_call_id="call_0", name="look")
    told = [Message("user", "<script>alert(1)</script>"), asked, result, final("Done.\nAll of it.")]
    rows = [Dialogue(SOURCE, tuple(Utterance(one, one.role == "assistant" and at != context) for at, one in enumerate(told)), weight=weight)
            for context, weight in ((None, 1.0), (1, 0.5))]
    with Rows(tmp_path) as files:
        for one in map(row_of, rows):
            files.write(line_of(one), one)
    return tmp_path


def inspected(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["data", "inspect", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line that a mistake is told in."""
    assert main(["data", "inspect", *map(str, arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("cowork: ") and len(err.splitlines()) == 1
    return err


def test_a_row_is_told_line_by_line_with_a_sign_for_what_is_learned(data_set: Path, tokenizer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = inspected(capsys, data_set, "--tokenizer", tokenizer)
    assert told.startswith(f"{data_set.name}, sample 1, M1003: ") and "weight 1" in told.splitlines()[0]
    learned = [line[5:].split(maxsplit=1)[-1] if "assistant" in line else line[5:].strip() for line in told.splitlines()[2:] if line.startswith("+")]
    assert learned == [
        "I look.⏎", "<tool_call>⏎", '{"name": "look", "arguments": {"at": "x"}}⏎', "</tool_call><|im_end|>", "Done.⏎", "All of it.<|im_end|>",
    ]
    assert "     user       <script>alert(1)</script>" in told and "found⇥it" in told and "\x1b" not in told


def test_another_row_has_its_weight_and_its_context(data_set: Path, tokenizer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file in (data_set / LINES, data_set / PARQUET):
        told = inspected(capsys, file, "--sample", 2, "--tokenizer", tokenizer)
        assert [line[:16] for line in told.splitlines()[2:] if line.startswith("+")] == ["+0.5 assistant  ", "+0.5            "]
        assert "     assistant  I look." in told


def test_the_sampled_ids_of_an_episode_need_no_tokenizer(played: Episode, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (segment,) = played.runs[0].segments
    told = inspected(capsys, write_episode(played, tmp_path))
    learned = [line.removeprefix("+").split() for line in told.splitlines()[2:] if line.startswith("+")]
    assert [[int(id) for id in line[1:]] for line in learned] == [[*one.tokens.ids] for one in segment.kept]
    assert f"{len(segment.ids):,} tokens, {sum(len(one.tokens.ids) for one in segment.kept):,} learned" in told


def test_with_the_tokenizer_they_are_text_and_nothing_moves_the_cursor(
    played: Episode, tokenizer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    told = inspected(capsys, write_episode(played, tmp_path), "--tokenizer", tokenizer)
    assert "+    assistant  Done <b>&amp; gone</b> 終わり\\x1b[31m.<|im_end|>" in told and "\x1b" not in told


def test_a_segment_for_audit_only_is_shown_as_such(played: Episode, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = played.runs[0]
    audited = replace(run, segments=(replace(run.segments[0], audit="another policy played"),))
    told = inspected(capsys, write_episode(replace(played, runs=(audited,), grade=None), tmp_path))
    assert "for audit only, never trained: another policy played" in told


def test_an_episode_without_tokens_is_rendered(tokenizer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with CoworkEnv("M1003") as env:
        file = write_episode(play(env, make_agent("noop", env.task), seed=0), tmp_path)
    told = inspected(capsys, file, "--tokenizer", tokenizer)
    assert "(1 of 1), rendered" in told and "helpdesk_close_ticket" in told
    assert "did not know its tokens, so name the tokenizer" in refused(capsys, file)


class _Page(HTMLParser):
    """Its tokens, and every tag on it."""

    def __init__(self) -> None:
        super().__init__()
        self.tags, self.tokens, self._inside = set[str](), list[tuple[dict[str, str | None], str]](), False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._inside = tag == "i" and "title" in dict(attrs)
        if self._inside:
            self.tokens.append((dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.tokens[-1] = self.tokens[-1][0], self.tokens[-1][1] + data

    def handle_endtag(self, tag: str) -> None:
        self._inside = False


def test_a_page_needs_nothing_else_and_runs_nothing(data_set: Path, tokenizer: Path, format: JinjaFormat, capsys: pytest.CaptureFixture[str]) -> None:
    out = data_set / "page.html"
    told = inspected(capsys, data_set, "--sample", 2, "--tokenizer", tokenizer, "--html", out)
    assert told.startswith(f"{out}: {data_set.name}, sample 2, M1003: ")
    text = out.read_text(encoding="utf-8")
    found = _Page()
    found.feed(text)
    assert "script" not in found.tags and not {"link", "img", "iframe"} & found.tags and "http" not in text.replace("http-equiv", "")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in re.sub(r"</i><i[^>]*>", "", text)
    assert "prefers-color-scheme: dark" in text and "default-src 'none'" in text and 'class="legend' in text
    learned = "".join(told for attributes, told in found.tokens if attributes.get("class") == "on")
    assert learned == "Done.⏎\nAll of it.<|im_end|>"
    assert all("weight 0.5" in attributes["title"] for attributes, _ in found.tokens if attributes.get("class") == "on")
    assert all(re.fullmatch(r"id \d+(, weight 0\.5)?", attributes["title"]) for attributes, _ in found.tokens)


def test_weights_have_colours_of_their_own_in_the_terminal_and_signs_without_it() -> None:
    spans = Span(0, 1, "user", False, 0), Span(1, 5, "assistant", True, 1)
    shown, outs = show("x", Sample((1, 2, 3, 4, 5), (False, True, True, True, False), (0.0, 0.5, 1.0, 2.0, 0.0), SOURCE, spans)), []
    for colours in ("truecolor", None):
        screen = Console(width=100, highlight=False, file=StringIO(), force_terminal=colours is not None, color_system=colours)
        show_sample(screen, shown)
        outs.append(screen.file.getvalue())
    coloured, plain = outs
    assert len({*re.findall(r"\x1b\[30;48;[\d;]+m", coloured)}) >= 3 and "\x1b" not in plain
    assert [line[:5].strip() for line in plain.splitlines()[2:]] == ["", "+0.5", "+", "+2", ""]


def test_a_letter_of_several_tokens_stands_at_the_last_of_them(format: JinjaFormat) -> None:
    ids = format.open([Message("user", "終\x07")], ())
    shown = show("x", Sample(ids, (False,) * len(ids), (0.0,) * len(ids), SOURCE), format)
    texts = [piece.text for stretch in shown.stretches for piece in stretch.pieces]
    assert texts[texts.index("終") - 2 : texts.index("終")] == ["", ""] and "\x07" in texts and visible("\x07\n\u202e") == "\\x07⏎\n\\u202e"
    assert "\\x07" in page([shown]) and "\x07" not in page([shown])


@pytest.mark.parametrize(("arguments", "told"), [
    (["none.jsonl"], "none.jsonl: there is no such file"), (["{data}", "--sample", "3", "--tokenizer", "{tokenizer}"], "there is no sample 3"),
    (["{data}", "--sample", "0", "--tokenizer", "{tokenizer}"], "counted from 1, not from 0"),
    (["{data}"], "a data set has texts, so name the tokenizer"),
    (["{parquet}", "--sample", "9", "--tokenizer", "{tokenizer}"], "there is no sample 9"),
    (["{broken}", "--tokenizer", "{tokenizer}"], "line 1"), (["{bad}", "--tokenizer", "{tokenizer}"], "no data set such as"),
    (["{data}", "--tokenizer", "{data}"], "a tokenizer"),
])
def test_mistakes_are_told(arguments: list[str], told: str, data_set: Path, tokenizer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data_set / "broken.jsonl").write_text("{}\n")
    (data_set / "bad.parquet").write_text("no columns")
    files = {"parquet": PARQUET, "broken": "broken.jsonl", "bad": "bad.parquet"}
    names = {"data": data_set, "tokenizer": tokenizer, **{name: data_set / file for name, file in files.items()}}
    assert told in refused(capsys, *(one.format(**names) for one in arguments))


def test_a_sample_beyond_the_episode_and_another_tokenizer_are_told(played: Episode, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from chat_tokenizers import CHATML, tiny

    file, other = write_episode(played, tmp_path), tmp_path / "other"
    assert "the episode has 1 segment" in refused(capsys, file, "--sample", 2)
    one = tiny()
    one.chat_template = CHATML
    one.save_pretrained(other)
    assert "of another tokenizer" in refused(capsys, file, "--tokenizer", other)
