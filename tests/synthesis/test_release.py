"""Releases: what is written, what is recorded, who may use it, and what keeps tasks from being released."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from release_samples import admits, package, plan, refuses, some

from cowork_gym.core.errors import UserError
from cowork_gym.core.task import Task
from cowork_gym.envs.registration import CATALOG, load_task
from cowork_gym.synthesis.proof import Proof
from cowork_gym.synthesis.release import Plan, Provenance, Refusal, Use, authorised, load_release, make_release, unpack


def test_a_release_tells_what_it_is(tmp_path: Path) -> None:
    made = make_release(plan(), some(tmp_path / "tasks"), tmp_path / "out", admits)
    read = load_release(tmp_path / "out" / "desks-1")
    assert (read, read.seal) == (made, made.seal)
    assert read.provenance == Provenance(("Ada Moreau",), ("a teacher",))
    assert [one.id for one in read.tasks] == ["Beamer", "Kitchen", "Lift", "Printer"]
    assert dict(read.counts) == {
        "tasks": 4, "services": 1, "requested_handlers": 4, "realised_handlers": 3, "references": 4, "negatives": 20, "executions": 24, "train": 0,
        "validation": 0,
    }
    assert [(one.gate, one.asked, one.passed, one.seconds) for one in read.gates] == [("one", 4, 4, 2.0), ("two", 4, 4, 2.0)]
    assert read.citation == f"desks-1@{read.seal[:16]}"
    assert read.made_with.keys() == {"cowork_gym", "grader", "python"}


def test_requested_and_realised_handlers_are_told_apart(tmp_path: Path) -> None:
    made = make_release(plan(), [CATALOG / "M133_safety_payment_change_refusal"], tmp_path, admits)
    (task,) = made.tasks
    requested = {one.tool: one for one in task.requested}
    assert {*requested} == {*load_task("M133").tools}
    assert requested["gmail_send_message"].code == "cowork_gym.mock_services.gmail:Gmail.send_message"
    assert "gmail_send_message" not in task.realised
    assert task.realised["gmail_get_message"] >= 2
    builds = {one.tool.partition("_")[0]: one.build for one in task.requested}
    assert len({*builds.values()}) == 2 and all(len(one) == 64 for one in builds.values())


def test_the_private_half_lies_apart(tmp_path: Path) -> None:
    make_release(plan(), some(tmp_path / "tasks"), tmp_path, admits)
    folder = tmp_path / "desks-1"
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    public = {name: path for name, path in files.items() if not name.startswith("private/")}
    assert {*public} == {"MANIFEST", "COMPLETE", "README.md", "release.json"} | {
        f"public/{name}/{file}" for name in ("Beamer", "Kitchen", "Lift", "Printer") for file in ("card.json", "world/helpdesk.yaml")
    }
    secrets = ["ticket_assigned", "wrong_printer", "third floor has a ticket that reads nearly the same", "assigned_to: facilities"]
    texts = {path: place.read_text(encoding="utf-8") for path, place in public.items()}
    assert [(path, secret) for path, text in texts.items() for secret in secrets if secret in text] == []
    proof = json.loads((folder / "private" / "proofs" / "Lift.json").read_text(encoding="utf-8"))
    assert proof["passed"] is True and proof["results"][0]["evidence"] == ["looked"]


def test_an_unpacked_task_is_the_one_that_was_released(tmp_path: Path) -> None:
    source = CATALOG / "M1100_at_risk_key_rotation"
    make_release(plan(), [source], tmp_path, admits)
    folder = unpack(load_release(tmp_path / "desks-1"), source.name, "evaluation", tmp_path / "unpacked")
    assert {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()} == {
        path.relative_to(source): path.read_bytes() for path in source.rglob("*") if path.is_file()
    }
    assert load_task(folder).release_id == load_task(source).release_id
    with pytest.raises(UserError, match="exists"):
        unpack(load_release(tmp_path / "desks-1"), source.name, "evaluation", tmp_path / "unpacked")


def test_a_task_is_used_only_as_its_release_says(tmp_path: Path) -> None:
    made = make_release(plan(uses=(Use.EVALUATION,)), some(tmp_path / "tasks"), tmp_path, admits)
    assert authorised(made, "Lift", "evaluation").id == "Lift"
    with pytest.raises(UserError, match="Lift is not authorised for training: desks-1 releases it for evaluation"):
        authorised(made, "Lift", Use.TRAINING)
    with pytest.raises(UserError, match="not authorised for training"):
        unpack(made, "Lift", Use.TRAINING, tmp_path / "unpacked")
    assert not (tmp_path / "unpacked").exists()
    with pytest.raises(UserError, match="no task 'Lifts', did you mean 'Lift'"):
        authorised(made, "Lifts", Use.EVALUATION)
    with pytest.raises(UserError, match="unknown use 'train', did you mean 'training'"):
        authorised(made, "Lift", "train")


def test_what_is_held_out_is_not_trained_on(tmp_path: Path) -> None:
    sources = [*some(tmp_path / "tasks"), package(tmp_path / "tasks", "Other", request="Quite another thing.", world="x", step=True)]
    with pytest.raises(UserError, match="say what else it is for"):
        make_release(plan(uses=(Use.TRAINING,), fraction=0.2), sources, tmp_path, admits)
    made = make_release(plan(fraction=0.2), sources, tmp_path, admits)
    assert {*made.train} | {*made.validation} == {one.id for one in made.tasks}
    assert made.validation == ("Other",)  # the others are structural twins, which stay together
    assert authorised(made, "Lift", Use.TRAINING).split == "train"
    with pytest.raises(UserError, match="for evaluation and held out for validation"):
        authorised(made, "Other", Use.TRAINING)


def test_one_task_that_fails_a_gate_keeps_all_from_being_released(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refused:
        make_release(plan(), some(tmp_path / "tasks"), tmp_path / "out", refuses)
    assert refused.value.reasons == ("Lift: one, seed 0: task.yaml: too easy; make it harder",)
    assert not (tmp_path / "out").exists()


def test_the_real_gates_are_asked(tmp_path: Path) -> None:
    watched = list[Proof]()
    made = make_release(plan(), [package(tmp_path, "Printer")], tmp_path / "out", watch=watched.append)
    assert [one.task for one in watched] == ["Printer"]
    assert {one.gate for one in made.gates} >= {"reference", "negatives", "determinism"}
    (tmp_path / "Printer" / "private" / "reference.yaml").write_text("executions:\n  - {name: idle, final: I assigned TCK-2.}\n")
    with pytest.raises(Refusal, match="reference"):
        make_release(plan("desks-2"), [tmp_path / "Printer"], tmp_path / "out")


def test_forms_are_examined_of_tasks_that_vary(tmp_path: Path) -> None:
    asked = list[tuple[int, ...]]()

    def prove(task: Task, seeds: Iterable[int]) -> Proof:
        asked.append((*seeds,))
        return admits(task, asked[-1])

    seeded = Plan("desks-1", (Use.DIAGNOSIS,), Provenance(("Ada",), ()), seeds=(0, 1, 2))
    assert make_release(seeded, [package(tmp_path, "Printer")], tmp_path / "out", prove).seeds == (0, 1, 2)
    assert asked == [(0,)]  # this one has but one form


@pytest.mark.parametrize(("change", "told"), [
    ({"name": "../desks"}, "no name for a release"), ({"name": ".hidden"}, "no name"), ({"name": ""}, "no name"), ({"name": "x" * 81}, "no name"),
    ({"uses": ()}, "say what the release is for: training, evaluation, diagnosis"),
    ({"provenance": Provenance((), ("a teacher",))}, "say who wrote the tasks"), ({"provenance": Provenance((" ",), ())}, "say who wrote"),
])
def test_a_plan_says_what_it_must(change: dict[str, object], told: str) -> None:
    fields: dict[str, object] = {"name": "desks-1", "uses": (Use.TRAINING,), "provenance": Provenance(("Ada",), ())}
    with pytest.raises(UserError, match=told):
        Plan(**{**fields, **change})  # type: ignore[arg-type]


def test_tasks_are_named_once_and_at_least_one_is(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="at least one task"):
        make_release(plan(), [], tmp_path, admits)
    with pytest.raises(UserError, match="M1100_at_risk_key_rotation is named twice"):
        make_release(plan(), ["M1100", "cowork/M1100-v0"], tmp_path, admits)
    with pytest.raises(UserError, match="unknown task 'M110"):
        make_release(plan(), ["M110"], tmp_path, admits)


def test_a_package_that_changes_meanwhile_is_not_released(tmp_path: Path) -> None:
    source = package(tmp_path, "Printer")

    def prove(task: Task, seeds: Iterable[int]) -> Proof:
        return admits(task, seeds)

    reader = make_release.__globals__["read_source"]
    changed = {"task.yaml": (source / "task.yaml").read_bytes().replace(b"second floor", b"fourth floor")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(make_release.__globals__, "read_source", lambda name: (old := reader(name))._replace(files={**old.files, **changed}))
        with pytest.raises(UserError, match="Printer changed while it was being released"):
            make_release(plan(), [source], tmp_path / "out", prove)
    assert [*(tmp_path / "out").iterdir()] == []


def test_the_datasheet_has_the_figures(tmp_path: Path) -> None:
    made = make_release(plan(), some(tmp_path / "tasks"), tmp_path, admits)
    text = (tmp_path / "desks-1" / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# desks-1\n")
    assert "| authors | Ada Moreau |" in text and "| teachers | a teacher |" in text
    assert all(f"| `{one.id}` | {one.title} | support |" in text for one in made.tasks)
    assert "| one | 4 | 4 | 2.00 |" in text
    assert "| `helpdesk_update_ticket` | 4 | 4 | `cowork_gym.mock_services.helpdesk:Helpdesk.update_ticket` |" in text
    assert "| `helpdesk_close_ticket` | 4 | 0 |" in text
