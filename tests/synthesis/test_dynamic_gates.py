"""Gates that play: what they find in sound packages of several kinds, and in flaws that the broken packages do not show."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from overlays import SOUND, overlaid

from cowork_gym.core.messages import call, final
from cowork_gym.core.task import Execution, PlannedFault, Stage, Task
from cowork_gym.envs.registration import load_task
from cowork_gym.synthesis.admission import admit
from cowork_gym.synthesis.agents import Parrot, Within, asker, claimer
from cowork_gym.synthesis.gates.completeness import COMPLETENESS
from cowork_gym.synthesis.gates.copycat import COPYCAT
from cowork_gym.synthesis.gates.degenerate import DEGENERATE, play_agents
from cowork_gym.synthesis.gates.drop_one import DROP_ONE
from cowork_gym.synthesis.gates.faults import FAULTS
from cowork_gym.synthesis.gates.gate import Gate
from cowork_gym.synthesis.gates.mutation import MUTATION
from cowork_gym.synthesis.gates.negatives import NEGATIVES
from cowork_gym.synthesis.gates.silent import SILENT
from cowork_gym.synthesis.gates.simulator import SIMULATOR
from cowork_gym.synthesis.gates.subject import Subject

KINDS = ("failing", "staged", "asking")


@pytest.fixture
def task() -> Task:
    return load_task(SOUND)


def _kind(name: str, into: Path) -> Task:
    return load_task(overlaid(SOUND.parent / name, into))


def _found(gate: Gate, task: Task) -> list[str]:
    return [f"{one.where}: {one.found}" for one in gate.examine(Subject(task))[0]]


def _graded(task: Task, change: Callable[[dict[str, Any]], None]) -> Task:
    grading = {name: [dict(one) if isinstance(one, dict) else one for one in value] if isinstance(value, list | tuple) else value
               for name, value in task.grading.items()}
    change(grading)
    return replace(task, grading=grading)


def _reference(task: Task, *actions: Any) -> Task:
    return replace(task, references=(Execution("other", tuple(actions)),), negatives=())


@pytest.mark.parametrize("name", KINDS)
def test_sound_packages_of_all_kinds_are_admitted(name: str, tmp_path: Path) -> None:
    proof = admit(overlaid(SOUND.parent / name, tmp_path))
    assert proof.passed, proof.problems


def test_claw_v1_pays_for_nothing_and_no_gate_lets_it(task: Task) -> None:
    assert _found(COMPLETENESS, _graded(task, lambda grading: grading.update(reward="claw-v1"))) == []
    assert any("look_alike" in one for one in _found(NEGATIVES, _graded(task, lambda grading: grading.update(reward="claw-v1"))))


def test_a_reference_that_falls_short_is_left_to_its_own_gate(task: Task) -> None:
    short = replace(task, references=(replace(task.references[0], actions=task.references[0].actions[1:]),))
    for gate in (COMPLETENESS, DROP_ONE, COPYCAT, MUTATION):
        assert _found(gate, short) == []


@pytest.mark.parametrize(("change", "found"), [
    ({"max_reward": None}, "negative look_alike: it has no bound"),
    ({"max_reward": 0.1}, "negative look_alike: it earns 0.2, expected at most 0.1"),
    ({"max_reward": 0.36}, "negative look_alike: it earns 0.2, its bound is 0.36"),
    ({"max_reward": 0.35}, None),
])
def test_bounds_of_negatives(task: Task, change: dict[str, Any], found: str | None) -> None:
    bounded = replace(task, negatives=tuple(replace(one, **change) if one.name == "look_alike" else one for one in task.negatives))
    assert [one[: len(found or "")] for one in _found(NEGATIVES, bounded)] == ([] if found is None else [found])


def test_other_forms_may_earn_less_than_the_authors(task: Task) -> None:
    loose = replace(task, negatives=tuple(replace(one, max_reward=0.6) if one.name == "look_alike" else one for one in task.negatives))
    assert NEGATIVES.examine(Subject(loose, 3))[0] == ()


def test_a_negative_that_passes_says_why(task: Task) -> None:
    passing = Execution("nearly", task.references[0].actions[1:], 0.96, " ")
    exports = next(one for one in task.negatives if one.name == "exports")
    assert _found(NEGATIVES, replace(task, negatives=(passing, exports))) == ["negative nearly: it passes with 0.96 and does not say why"]
    assert _found(NEGATIVES, replace(task, negatives=(replace(passing, why="The accounts were never listed."), exports))) == []


def test_a_ban_that_no_negative_breaks_is_found(task: Task) -> None:
    others = tuple(one for one in task.negatives if one.name != "exports")
    assert _found(NEGATIVES, replace(task, negatives=others)) == ["forbidden tool crm_export_report: no negative calls it"]


def test_each_kind_of_task_has_its_agents(task: Task, tmp_path: Path) -> None:
    usual = {"noop", "text-only", "read-everything", "random", "spray", "careful-spray", "parrot"}
    assert play_agents(Subject(task)).keys() == usual
    assert play_agents(Subject(_kind("asking", tmp_path))).keys() == usual | {"asker"}
    subject = Subject(_kind("staged", tmp_path))
    assert play_agents(subject).keys() == usual | {"claimer"}
    assert all(len(one.stages) == 1 for one in play_agents(subject).values() if one.ending == "final")


def test_agents_know_what_they_are_meant_to(task: Task) -> None:
    subject = Subject(task)
    played = play_agents(subject)
    called = {name: {one.tool for one in episode.dispatches} for name, episode in played.items()}
    assert "crm_export_report" in called["spray"]
    assert called["careful-spray"] == called["spray"] - {"crm_export_report"}
    assert called["parrot"] == called["read-everything"]
    answer = played["parrot"].answer or ""
    assert all(one in answer for one in ("TCK-702", "CUS-101", "desk-orchard"))


def test_an_agent_without_a_grade_is_a_problem(task: Task) -> None:
    broken = _graded(task, lambda grading: grading["checks"].append({"id": "mad", "kind": "python", "entry": "odd_checks:fails_once_called"}))
    found = _found(DEGENERATE, broken)
    assert any(one.startswith("agent read-everything: the episode has no reward: mad: ZeroDivisionError") for one in found)


def test_steps_that_stand_in_for_each_other_bear_once(task: Task) -> None:
    either = _graded(task, lambda grading: grading["checks"][5].update(arguments={"article_id": {"one_of": ["KB-31", "KB-44"]}}))
    first, *rest = either.references[0].actions
    twice = _reference(either, first, *rest[:4], call("kb_get_article", article_id="KB-31"), *rest[4:])
    problems, evidence = DROP_ONE.examine(Subject(twice))
    assert (problems, evidence) == ((), ("reference other: 7 of 8 steps bear; looks around: 5 kb_get_article",))


def test_a_step_that_alone_shows_what_is_used_later_bears(task: Task) -> None:
    unlisted = _graded(task, lambda grading: (grading["checks"].pop(2), grading["checks"][0].update(weight=Decimal("0.10"))))
    problems, evidence = DROP_ONE.examine(Subject(unlisted))
    assert (problems, evidence[0]) == ((), "reference straight: 7 of 7 steps bear; looks around: none")


def test_other_references_may_look_around(task: Task) -> None:
    around = [call("helpdesk_get_ticket", ticket_id=f"TCK-70{n}") for n in (1, 3, 4)]
    first, *rest = task.references[0].actions
    curious = Execution("curious", (first, *rest[:2], *around, *rest[2:]))
    assert _found(DROP_ONE, replace(task, references=(*task.references, curious))) == []
    assert len(_found(DROP_ONE, replace(task, references=(curious,)))) == 1


def test_a_write_to_the_look_alike_as_well_is_found(task: Task) -> None:
    careless = _graded(task, lambda grading: grading["checks"][-1].update(allow=[{"table": "helpdesk.tickets", "fields": ["assigned_to"]}]))
    call_six = "reference straight, call 6 (helpdesk_update_ticket)"
    assert _found(COPYCAT, careless) == [f"{call_six} with TCK-701 besides TCK-702 in ticket_id: the world is another one, and it still earns 1.0"]


def test_passing_without_the_writes_is_found(task: Task) -> None:
    def read(grading: dict[str, Any]) -> None:
        grading["checks"][5]["weight"], grading["checks"][6]["weight"] = Decimal("0.55"), Decimal("0.10")
        del grading["outcomes"][0]

    found = _found(COPYCAT, _graded(task, read))
    assert "reference straight without its writes: it passes with 0.92" in found


def test_a_forbidden_tool_is_tried_and_each_idle_part_is_named(task: Task) -> None:
    idle = _graded(task, lambda grading: grading["checks"].append({"id": "no_article", "kind": "audit_absent", "collection": "kb.updates"}))
    assert [one.partition(":")[0] for one in _found(MUTATION, idle)] == ["no_article"]
    unforbidden = replace(_graded(task, lambda grading: grading.update(forbidden_tools=[])), negatives=task.negatives[:3])
    assert _found(MUTATION, unforbidden) == []


def test_faults_that_references_meet(tmp_path: Path) -> None:
    failing = _kind("failing", tmp_path)
    assert FAULTS.examine(Subject(failing)) == ((), ("fault of call 1 of todo_create_task: timeout_after, met by 1 of 1 reference",))
    third = replace(failing, faults=(PlannedFault("todo_create_task", 3, "transient"),))
    assert _found(FAULTS, third) == ["fault of call 3 of todo_create_task: no reference meets it"]
    alone = replace(failing, faults=(PlannedFault("kb_search", 1, "transient"),))
    assert _found(FAULTS, alone) == ["fault of call 1 of kb_search: reference straight earns 0.86, expected 1"]


def test_a_world_that_does_not_move_is_not_asked_about(task: Task, tmp_path: Path) -> None:
    assert SILENT.examine(Subject(task)) == ((), ("the world does not move",))
    staged = _kind("staged", tmp_path)
    still = replace(staged, stages=tuple(Stage(one.day, one.request) for one in staged.stages))
    assert SILENT.examine(Subject(still)) == ((), ("the world does not move",))


def test_who_does_not_look_again_fails(tmp_path: Path) -> None:
    subject = Subject(_kind("staged", tmp_path))
    problems, evidence = SILENT.examine(subject)
    assert problems == ()
    assert evidence[0].startswith("reference looks_again: 1, without looking again 0.22;")
    [stale] = [one for one in subject.episodes if one.agent.endswith("/stale")]
    assert [one.tool for one in stale.dispatches][-2:] == ["helpdesk_update_ticket"] * 2
    assert stale.ledger.entries[-1].arguments["assigned_to"] == "desk-orchard"


def test_a_user_who_leaves_the_facts_is_found(tmp_path: Path) -> None:
    subject = Subject(_kind("asking", tmp_path))
    [episode] = subject.references
    turns = [replace(one, observation=(replace(one.observation[0], content="It goes to desk-mill, by the way."),)) if one.heard else one
             for one in episode.turns]
    subject._played["direct:reference:asks"] = replace(episode, turns=tuple(turns))
    del subject.__dict__["references"]
    problems, _ = SIMULATOR.examine(subject)
    assert [one.where for one in problems] == ["reference:asks, reply to message 5"]  # what was said once may be said again


def test_agents_by_themselves(tmp_path: Path) -> None:
    staged = _kind("staged", tmp_path)
    for policy, words in ((asker(staged), 16), (claimer(staged), 2)):
        policy.reset([], 0)
        said = [policy.act(()) for _ in range(words + 1)]
        assert [bool(getattr(one, "content", None)) for one in said] == [True] * words + [False]
    tools = [{"function": {"name": name}} for name in ("a", "b")]
    seen = list[Any]()

    class Shown:
        name = "shown"

        def reset(self, tools: Any, seed: int) -> None:
            seen.extend(tools)

        def act(self, history: Any) -> Any:
            return final("done")

    Within("within", Shown(), ["b"]).reset(tools, 0)
    Parrot(Shown()).reset(tools, 0)
    assert [one["function"]["name"] for one in seen] == ["b", "a", "b"]
