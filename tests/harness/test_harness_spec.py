"""Harnesses as text: what a spec means, what is told of a wrong one, and that every part can be written."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.harness import PLAIN, compose
from cowork_gym.harness.inner import INNER, Delegate
from cowork_gym.harness.loops import LOOPS, PlanAct, React
from cowork_gym.harness.middleware import MIDDLEWARE, Budget, Retry, Summary, Trace, Window
from cowork_gym.harness.parts import built
from cowork_gym.harness.skills import read_skills
from cowork_gym.harness.spec import HARNESSES, make_harness, make_harness_source

SKILL = "---\nname: card\ndescription: How it is done.\n---\nLike this.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "skills" / "card").mkdir(parents=True)
    (tmp_path / "skills" / "card" / "SKILL.md").write_text(SKILL)
    (tmp_path / "careful.txt").write_text("\nBe careful.\n")
    return tmp_path


@pytest.mark.parametrize(("spec", "harness"), [
    ("react", PLAIN),
    ("plan-act", compose(PlanAct())),
    ("plan-act:every=5", compose(PlanAct(5))),
    ("retry", compose(middleware=[Retry()])),
    ("summary:at=2000,keep=3+retry:tries=5", compose(React(), middleware=[Summary(at=2000, keep=3), Retry(tries=5)])),
    ("react+retry+summary", compose(middleware=[Retry(), Summary()])),
    ("react+retry:wait=1", compose(middleware=[Retry(wait=1.0)])),
    ("react+budget:turns=none,seconds=1.5,cost=2", compose(middleware=[Budget(seconds=1.5, cost=2.0)])),
    ("react+delegate:turns=5,depth=2+window", compose(tools=[Delegate(turns=5, depth=2)], middleware=[Window()])),
    ("react+delegate:tools=crm_get_customer/kb_search", compose(tools=[Delegate(tools=("crm_get_customer", "kb_search"))])),
    ("react+only:crm_get_customer,kb_search", compose(only=["crm_get_customer", "kb_search"])),
    ("react+trace:path=there.jsonl", compose(middleware=[Trace(Path("there.jsonl"))])),
])
def test_a_spec_is_the_composition_that_it_says(spec: str, harness: object) -> None:
    assert make_harness(spec) == harness


def test_skills_and_prompt_are_read_from_the_folder(folder: Path) -> None:
    made = make_harness("react+skills:skills+prompt:careful.txt", folder)
    assert made == compose(prompt="Be careful.", skills=read_skills(folder / "skills"))
    assert make_harness(f"react+skills:{folder / 'skills' / 'card'}").skills == made.skills
    assert made.name == "react+skills+prompt"


@pytest.mark.parametrize(("spec", "told"), [
    ("reactt", "harness: there is no part 'reactt', did you mean 'react'?"),
    ("react+sumary", "harness: there is no part 'sumary', did you mean 'summary'?"),
    ("", "harness: there is no part '', choose from budget, delegate,"),
    ("react+", "there is no part ''"),
    ("retry+react", "harness: the loop comes first, and there is one: 'react' stands behind another part"),
    ("react+plan-act", "'plan-act' stands behind another part"),
    ("react:every=2", "harness: react has no setting 'every', there is none to choose from"),
    ("plan-act:evry=2", "harness: plan-act has no setting 'evry', did you mean 'every'?"),
    ("plan-act:every=x", "harness: plan-act: every is a whole number, not 'x'"),
    ("plan-act:every=1.5", "every is a whole number, not '1.5'"),
    ("plan-act:every=none", "every is a whole number, not 'none'"),
    ("plan-act:every=-1", "plan-act: every is 0 for never, or a number of turns, not -1"),
    ("retry:wait=nan", "harness: retry: wait is a number, not 'nan'"),
    ("budget:turns=many", "harness: budget: turns is a whole number or none, not 'many'"),
    ("budget:turns=true", "turns is a whole number or none, not 'true'"),
    ("retry:tries", "harness: retry: write tries=VALUE, once"),
    ("retry:tries=2,tries=3", "harness: retry: write tries=VALUE, once"),
    ("retry:", "harness: retry has no setting ''"),
    ("retry:sleep=1", "harness: retry has no setting 'sleep'"),
    ("delegate:policy=x", "harness: delegate has no setting 'policy'"),
    ("delegate:turns=0", "delegate: turns and depth are at least 1"),
    ("delegate+delegate", "two tools of the harness are called 'delegate'"),
    ("window:size=5", "window: size must be a multiple of stride"),
    ("trace", "harness: trace needs path: write trace:path=VALUE"),
    ("summary:author=somebody", "harness: summary: author is model, rule, not 'somebody'"),
    ("react+only", "harness: only needs a value: only:NAME,NAME"),
    ("react+only:a+only:b", "harness: only comes twice"),
    ("react+only:a,a", "harness: only: 'a' comes twice"), ("react+only:a,,b", "harness: only: a name is empty"),
    ("react+only:,", "harness: only: a name is empty"),
    ("react+delegate:tools=delegate", "delegate: tools: 'delegate' goes by depth: write depth=2"),
    ("react+delegate:tools=kb_search/kb_search", "delegate: tools: 'kb_search' comes twice"),
    ("react+delegate:tools=kb_search//crm", "delegate: tools: a name is empty"),
    ("react+prompt:nowhere.txt", "nowhere.txt: the prompt cannot be read: No such file"),
    ("react+skills:nowhere", "nowhere: no skill in it"),
])
def test_what_is_wrong_is_told_in_one_line(spec: str, told: str, folder: Path) -> None:
    with pytest.raises(UserError) as error:
        make_harness(spec, folder)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("content", "told"), [(b" \n", "the prompt is empty"), (b"\xff", "cannot be read"), (b"x" * 262_145, "too large")])
def test_a_prompt_that_is_none_is_refused(content: bytes, told: str, folder: Path) -> None:
    (folder / "careful.txt").write_bytes(content)
    with pytest.raises(UserError, match=told):
        make_harness("prompt:careful.txt", folder)


def test_every_part_is_explained_and_can_be_written() -> None:
    assert {*HARNESSES} == {*LOOPS, *MIDDLEWARE, *INNER, "skills", "prompt", "only"}
    for name in (*LOOPS, *MIDDLEWARE, *INNER):
        spec = f"{name}:path=x" if name == "trace" else name
        assert name in make_harness(spec).name.split("+")
    assert "keep=2" in HARNESSES["summary"] and "turns=none" in HARNESSES["budget"] and "path" in HARNESSES["trace"]


@settings(max_examples=60)
@given(st.text(alphabet="+:,=/.aeinoprst019-@ ", max_size=40) | st.lists(st.sampled_from([*HARNESSES, "x", ":", "+", "at=1", "=", ","])).map("".join))
def test_any_text_is_a_harness_or_told_to_be_none(text: str) -> None:
    try:
        made = make_harness(text, Path("nowhere"))
    except (UserError, PackageError) as error:
        assert "\n" not in str(error)
    else:
        assert made.composition.sha256 == make_harness(text, Path("nowhere")).composition.sha256


@dataclass(frozen=True)
class Everything:
    """A part with a field of every kind."""

    truth: bool = False
    whole: int | None = 3
    share: float = 0.5
    word: str = "x"
    either: Literal["a", "b"] = "a"
    names: tuple[str, ...] | None = None
    other: object = None


def test_values_are_read_by_the_kind_of_their_field() -> None:
    assert built(Everything, "e:truth=TRUE,whole=-4,share=1e3,word=none,either=b,names=p/q") == Everything(True, -4, 1000.0, "none", "b", ("p", "q"))
    assert built(Everything, "e:whole=none,names=none") == Everything(whole=None)
    for wrong in ("truth=1", "whole=1.0", "share=inf", "either=c", "other=1"):
        with pytest.raises(UserError):
            built(Everything, f"e:{wrong}")


def test_a_source_gives_the_same_harness_for_all_or_draws() -> None:
    source = make_harness_source("react+retry")
    assert source("a", 0) is source("b", 7)
    with pytest.raises(PackageError, match="nowhere"):
        make_harness_source("@nowhere.yaml")
    with pytest.raises(UserError):
        make_harness_source("nothing")
