"""A grade as an event and back. It stands after the seal, and the way back trusts it no more than what is sealed."""

from decimal import Decimal
from typing import Any

from cowork_gym.core.forms import Event, read_fault, read_texts, take
from cowork_gym.core.grade import CheckResult, Grade, JudgeMark, Part

__all__ = ["grade_event", "read_grade"]

_NUMBERS = ("reward", "completion", "safety", "robustness", "outcome")


def grade_event(grade: Grade) -> Event:
    """A grade, which stands after the seal."""
    return {"event": "grade", **grade.to_dict()}


def read_grade(event: Event) -> Grade:
    """The grade that an event tells.

    Raises:
        ValueError: It has other fields than `grade_event` gives it, or a value that cannot be there.
    """
    texts: dict[str, Any] = dict.fromkeys(("event", "task", "release_id", "grader_version", "spec", "seal"), str)
    numbers: dict[str, Any] = dict.fromkeys(_NUMBERS, object)
    form = take(event, **texts, **numbers, rewards=dict, checks=list, fault=dict | None, passed=bool)
    return Grade(
        task=form["task"], release_id=form["release_id"], grader_version=form["grader_version"], spec=form["spec"],
        **{name: None if form[name] is None else _share(form[name]) for name in _NUMBERS},
        rewards={name: _share(value) for name, value in form["rewards"].items()}, checks=tuple([_check(one) for one in form["checks"]]),
        seal=form["seal"], fault=read_fault(form["fault"]),
    )


def _check(form: Any) -> CheckResult:
    it = take(
        form, ("judge",), id=str, kind=str, part=str, passed=bool, weight=object, reason=str, evidence=list, judge=dict | None,
    )
    read = {"part": Part(it["part"]), "weight": _share(it["weight"]), "evidence": read_texts(it["evidence"], "evidence")}
    return CheckResult(**{**it, **read, "judge": _mark(it["judge"])})


def _mark(form: Any) -> JudgeMark | None:
    if form is None:
        return None
    it = take(form, model=str, prompt=str, question=str, levels=list)
    if not all(type(one) is int for one in it["levels"]):
        raise ValueError("levels are whole numbers")
    return JudgeMark(**{**it, "levels": tuple(it["levels"])})


def _share(value: Any) -> float:
    """A number from 0 to 1, which a grade has as a float."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not 0 <= value <= 1:
        raise ValueError(f"not a number from 0 to 1: {str(value)[:40]}")
    return float(value)
