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
    ("", "line 1: a skill begins"),
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
