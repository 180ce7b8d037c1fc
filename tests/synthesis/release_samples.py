"""Small packages that differ in what a test wants, and a prover that does not take its time."""

from collections.abc import Iterable
from pathlib import Path
from string import Template

from cowork_gym.cli.templates.task import FILES
from cowork_gym.core.task import Task
from cowork_gym.graders import GRADER_VERSION
from cowork_gym.synthesis.gates.gate import Problem, Result
from cowork_gym.synthesis.proof import Proof
from cowork_gym.synthesis.release import Plan, Provenance, Release, Use

REQUESTS = {
    "Printer": None,
    "Beamer": "Somebody has to see to the beamer in the large hall before Monday's lecture: give its ticket to facilities and name it.",
    "Lift": "People were stuck between two floors this morning. Whoever keeps the elevators running must get that report.",
    "Kitchen": "The dishwasher leaks again; route what our colleagues filed about it to the right team, then say which one it was.",
}


def package(folder: Path, name: str, *, request: str | None = None, world: str | None = None, category: str = "support", step: bool = False) -> Path:
    """A sound package.

    Args:
        folder: Where its folder is made.
        name: Its id.
        request: Other words for the request.
        world: A mark that makes its world another one; None for the world that all share.
        category: Its category.
        step: Whether its reference does one thing more, which makes its structure another one, and its grader is another one, too.
    """
    place = folder / name
    for path, text in FILES.items():
        text = Template(text).substitute(name=name)
        if path == "task.yaml":
            text = text.replace("category: support", f"category: {category}")
            if request is not None:
                text = f"{text[:text.index('request:')]}request: {request!r}\n{text[text.index('services:'):]}"
        elif path == "world/helpdesk.yaml" and world is not None:
            text = text.replace("The projector in room 2.14", f"The projector in room {world}")
        elif path == "private/reference.yaml" and step:
            text = text.replace("      - - helpdesk_get_ticket", "      - helpdesk_get_ticket: {ticket_id: TCK-3}\n      - - helpdesk_get_ticket")
        elif path == "private/grading.yaml" and step:
            text = text.replace("ticket_named", "ticket_told")
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text, encoding="utf-8")
    return place


def some(folder: Path) -> list[Path]:
    """Four packages that have nothing in common but their tools, their grader and their structure."""
    return [package(folder, name, request=request, world=name) for name, request in REQUESTS.items()]


def admits(task: Task, seeds: Iterable[int]) -> Proof:
    """A prover that finds no problem."""
    results = tuple(Result(gate, seed, (), ("looked",), 0.5) for seed in seeds for gate in ("one", "two"))
    return Proof(task.id, task.release_id, GRADER_VERSION, results)


def refuses(task: Task, seeds: Iterable[int]) -> Proof:
    """A prover that finds a problem in one of them."""
    problem = Problem("task.yaml", "too easy", "make it harder")
    return Proof(task.id, task.release_id, GRADER_VERSION, (Result("one", 0, (problem,) if task.id == "Lift" else ()),))


def plan(
    name: str = "desks-1", uses: tuple[Use, ...] = (Use.TRAINING, Use.EVALUATION), fraction: float | None = None, against: tuple[Release, ...] = (),
) -> Plan:
    """A plan for a release."""
    return Plan(name, uses, Provenance(("Ada Moreau",), ("a teacher",)), fraction, against=against)
