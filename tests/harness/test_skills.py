"""Skills: how their folders are read, what of them is in the prompt, and the tool that shows them."""

import json
from pathlib import Path

import pytest
from child_runs import ANSWER, REPORT, TASK, WORK, Lines, delegate

from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.core.messages import call
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.harness import compose, play
from cowork_gym.harness.inner import Delegate
from cowork_gym.harness.skills import Skill, read_skills

CARD = Skill("shift-card", "How a shift card is written.", "Four lines.\n\nNothing else.")
QUIET = Skill("quiet", "How to leave things alone.", "Do not touch them.")
FILE = "---\nname: shift-card\ndescription: How a shift card is written.\n---\n\nFour lines.\n\nNothing else.\n"


def _write(folder: Path, name: str, text: str | bytes) -> Path:
    file = folder / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def test_a_folder_of_skills_is_read_by_name(tmp_path: Path) -> None:
    _write(tmp_path, "b", FILE)
    _write(tmp_path, "a", "---\nname: quiet\ndescription: How to leave things alone.\nlicense: mine\n---\nDo not touch them.")
    assert read_skills(tmp_path) == (QUIET, CARD)
    assert read_skills(tmp_path / "b") == (CARD,)


@pytest.mark.parametrize(("text", "problem"), [
    ("Just text.", "line 1: a skill begins with name and description between two lines ---"),
    ("", "the file is empty"), ("\ufeff \r\n", "the file is empty"), ("x\n---\nname: a\ndescription: b\n---\nx", "line 1: a skill begins"),
    ("---\nname: a\ndescription: b\nname: c\n---\nx", "name: comes twice in the head"),
    ("---\nname: a\ndescription: b\n\"name\": a\n---\nx", "name: comes twice in the head"),
    ("---\nname: a\ndescription: b\nmore: [1]\nmore: 2\n---\nx", "more: comes twice in the head"),
    ("---\nname: ''\ndescription: b\n---\nx", "name: must be a text of one line"), ("---\nname:\ndescription: b\n---\nx", "name: must be a text"),
    ("---\nname: a/b\ndescription: b\n---\nx", "name: must be letters, digits, spaces and -_. and begin with a letter or digit, not 'a/b'"),
    ("---\nname: ../a\ndescription: b\n---\nx", "name: must be letters"), ("---\nname: '-'\ndescription: b\n---\nx", "name: must be letters"),
    ('---\nname: "a\\e[1m"\ndescription: b\n---\nx', "name: must be letters"), ('---\nname: "\\ud800"\ndescription: b\n---\nx', "name: "),
    (f"---\nname: {'n' * 300}\ndescription: b\n---\nx", "name: must have at most 64 characters, not 300"),
    (f"---\nname: a\ndescription: {'d' * 1025}\n---\nx", "description: must have at most 1024 characters, not 1025"),
    ('---\nname: a\ndescription: "\\ud800"\n---\nx', "description: the text"),
    ('---\nname: a\ndescription: "a\\Lb"\n---\nx', "description: must be a text"),
    ("---\nname: a\ndescription: b\nday: 2026-13-45\n---\nx", "the head is not YAML"), ("---\nname: a\ndescription: !x b\n---\nx", "the head is not"),
    ("---\nname: a\nmore: " + "[" * 5000 + "\n---\nx", "the head is not YAML"), ("---\nname: a\ndescription: b\n---\nx\0y", "has a NUL character"),
    (b"---\r\nname: a\r\ndescription: b\r\n---\r\nna\xefve", "line 5: cannot be read: save the file as UTF-8"),
    ("---\nname: a\ndescription: b\nno end", "line 1: a skill begins"),
    ("---\nname: [\n---\nx", "the head is not YAML"),
    ("---\n- a\n---\nx", "the head must have a name and a description"),
    ("---\nname: a\n---\nx", "description: must be a text of one line"),
    ("---\nname: 3\ndescription: b\n---\nx", "name: must be a text of one line"),
    ("---\nname: a\ndescription: |\n  two\n  lines\n---\nx", "description: must be a text of one line"),
    ("---\nname: a\ndescription: b\n---\n\n", "has no instructions"),
    (b"---\nname: \xff\n---\nx", "cannot be read"),
    (FILE + "x" * 262_144, "too large"),
])
def test_what_is_no_skill_is_refused_in_one_line(text: str | bytes, problem: str, tmp_path: Path) -> None:
    with pytest.raises(PackageError) as error:
        read_skills(_write(tmp_path, "one", text))
    assert problem in str(error.value) and str(tmp_path / "one" / "SKILL.md") in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_without_skills_and_one_with_a_name_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="no skill in it"):
        read_skills(tmp_path)
    _write(tmp_path, "a", FILE)
    with pytest.raises(PackageError, match="two skills are called 'shift-card'"):
        read_skills(_write(tmp_path, "b", FILE))


@pytest.mark.parametrize("text", [
    "\ufeff" + FILE, FILE.replace("\n", "\r\n"), "\ufeff" + FILE.replace("\n", "\r\n"), FILE.replace("---\n", "--- \n"), FILE.rstrip(),
])
def test_marks_and_line_ends_of_other_editors_change_nothing(text: str, tmp_path: Path) -> None:
    assert read_skills(_write(tmp_path, "one", text)) == (CARD,)


@pytest.mark.parametrize("name", ["Schichtübergabe", "交接卡", "shift_card.v2", "Shift card", "3", "n" * 64])
def test_names_of_other_tongues_are_names(name: str, tmp_path: Path) -> None:
    (skill,) = read_skills(_write(tmp_path, "one", f"---\nname: '{name}'\ndescription: b\n---\nOne\u2028line.\n\n---\nMore.\n"))
    assert (skill.name, skill.text) == (name, "One\u2028line.\n\n---\nMore.")
    episode = play(CoworkEnv(TASK), Lines(call("read_skill", name=name), ANSWER), harness=compose(skills=[skill]), seed=0)
    assert json.loads(episode.dispatches[0].result) == {"name": name, "instructions": skill.text}


@pytest.mark.parametrize("other", ["Shift-Card", "SHIFT-CARD", "shift-card", "\uff53hift-card"])
def test_names_that_are_hard_to_tell_apart_are_refused(other: str, tmp_path: Path) -> None:
    _write(tmp_path, "a", FILE)
    _write(tmp_path, "b", FILE.replace("shift-card", other))
    with pytest.raises(PackageError) as error:
        read_skills(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'b' / 'SKILL.md'}: name: two skills are called 'shift-card'")
    assert str(error.value).endswith(f"the other one is {tmp_path / 'a' / 'SKILL.md'}")


def test_a_folder_that_is_no_skill_is_named(tmp_path: Path) -> None:
    _write(tmp_path, "a", FILE)
    (tmp_path / ".git").mkdir()
    (tmp_path / "README.md").write_text("These are skills.")
    assert read_skills(tmp_path) == (CARD,)
    (tmp_path / "a" / "scripts").mkdir()
    assert read_skills(tmp_path / "a") == (CARD,)
    for make in (Path.mkdir, lambda folder: (folder / "skill.md").write_text(FILE), lambda folder: (folder / "SKILL.md").mkdir()):
        make(tmp_path / "b")
        with pytest.raises(PackageError) as error:
            read_skills(tmp_path)
        assert str(error.value) == f"{tmp_path / 'b'}: no skill: it has no file SKILL.md"
    with pytest.raises(PackageError, match=r"README\.md: no skill in it"):
        read_skills(tmp_path / "README.md")
    with pytest.raises(PackageError, match="File name too long"):
        read_skills("x" * 300)


def test_the_prompt_lists_skills_and_the_tool_shows_them() -> None:
    policy = Lines(call("read_skill", name="shift-card"), ANSWER)
    episode = play(CoworkEnv(TASK), policy, harness=compose(prompt="Be careful.", skills=[QUIET, CARD]), seed=0)
    system, request = policy.histories[0]
    assert system.role == "system" and system.content.startswith("Be careful.\n\n")
    assert system.content.endswith("- quiet: How to leave things alone.\n- shift-card: How a shift card is written.")
    assert (request.content, policy.tools) == (TASK.request, [*TASK.tools, "read_skill"])
    (shown,) = episode.dispatches
    assert json.loads(shown.result) == {"name": "shift-card", "instructions": CARD.text}
    assert (shown.status, shown.inner, shown.sequence, len(episode.ledger)) == (200, True, None, 0)


def test_without_skills_and_prompt_there_is_no_system_message_and_no_tool() -> None:
    policy = Lines(call("read_skill", name="quiet"), ANSWER)
    episode = play(CoworkEnv(TASK), policy, harness=compose(), seed=0)
    assert [one.role for one in policy.histories[0]] == ["user"]
    assert [(one.status, one.inner) for one in episode.dispatches] == [(404, False)]


@pytest.mark.parametrize(("arguments", "told"), [
    ({"name": "shiftcard"}, "no skill 'shiftcard', did you mean 'shift-card'?"), ({}, "takes exactly a name"), ({"name": 3}, "takes exactly a name"),
    ({"name": "quiet", "page": 2}, "takes exactly a name"),
])
def test_a_wrong_call_is_told(arguments: dict[str, object], told: str) -> None:
    episode = play(CoworkEnv(TASK), Lines(call("read_skill", **arguments), ANSWER), harness=compose(skills=[QUIET, CARD]), seed=0)
    assert episode.dispatches[0].status == 422
    assert told in json.loads(episode.dispatches[0].result)["error"]


def test_children_may_read_them_too() -> None:
    child = Lines(call("read_skill", name="quiet"), WORK[0], REPORT)
    harness = compose(skills=[QUIET], tools=[Delegate()])
    episode = play(CoworkEnv(TASK), Lines(delegate(), ANSWER, children=[child]), harness=harness, seed=0)
    assert child.tools == [*TASK.tools, "read_skill"]
    assert [(one.tool, one.status) for one in episode.dispatches] == [("read_skill", 200), ("crm_list_customers", 200), ("delegate", 200)]


def test_a_changed_word_is_another_composition() -> None:
    kinds = [(), (CARD,), (CARD, QUIET), (Skill(CARD.name, CARD.description, "Five lines."),), (Skill(CARD.name, "Another.", CARD.text),)]
    assert len({compose(skills=one).composition.sha256 for one in kinds}) == len(kinds)


def test_a_name_that_the_task_uses_is_refused() -> None:
    schemas = [{"type": "function", "function": {"name": "read_skill"}}]
    with pytest.raises(UserError, match="has the name of one of the task's"):
        compose(skills=[CARD]).offered(schemas)
