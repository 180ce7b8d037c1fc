"""Pydantic's errors as one line for the author of a file, grading contract or other: where, what, and the nearest valid choice."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ValidationError

from cowork_gym.core.errors import PackageError, nearest
from cowork_gym.graders.checks import KINDS
from cowork_gym.graders.matchers import MatcherError, show

__all__ = ["Problem", "SchemaVersion", "first_problem", "read_form"]

Form = TypeVar("Form", bound=BaseModel)


def _number_one(value: Any) -> Any:
    if type(value) is not int:
        raise ValueError(f"expected the number 1, not {show(value)}")
    return value


Problem = tuple[str, str]
"""Where, and what is wrong there."""
SchemaVersion = Annotated[Literal[1], BeforeValidator(_number_one)]
"""Of a file of ours: 1, and not `true`, which equals it."""
_Location = tuple[int | str, ...]
_LISTS = ("checks", "outcomes")


def read_form(form: type[Form], raw: Any, path: object) -> Form:
    """What a file says, in its form.

    Args:
        form: The model.
        raw: The file's content.
        path: The file, as its author knows it.

    Raises:
        PackageError: It is no mapping, or not of the form. One line names the field and the nearest valid choice.
    """
    if not isinstance(raw, Mapping):
        raise PackageError(path, "", f"expected a mapping, not {show(raw)}")
    try:
        return form.model_validate(raw)
    except ValidationError as error:
        raise PackageError(path, *first_problem(error, raw, form)) from None


def first_problem(error: ValidationError, raw: Mapping[str, Any], root: type[BaseModel]) -> Problem:
    """The most telling of the problems that pydantic found.

    Args:
        error: What validation raised.
        raw: What was validated.
        root: The model that it was validated against.

    Returns:
        Where, such as `checks[2] (ticket_updated).tool`, and what is wrong there.
    """
    found = error.errors(include_url=False)
    one = next((each for each in found if each["type"] == "extra_forbidden"), found[0])  # a misspelt key also makes a missing one
    location, problem = one["loc"], str(one["msg"])
    cause = one.get("ctx", {}).get("error")
    match one["type"]:
        case "extra_forbidden":
            problem = f"unknown key: {nearest(str(location[-1]), _known(location[:-1], root))}"
        case "missing":
            problem = "is missing"
        case "union_tag_invalid":
            problem = f"unknown kind {one['ctx']['tag']!r}: {nearest(str(one['ctx']['tag']), KINDS)}"
            location = (*location, "kind")
        case "union_tag_not_found":
            location, problem = (*location, "kind"), f"is missing: {nearest('', KINDS)}"
        case "dict_type" | "model_attributes_type" | "model_type":
            problem = f"expected a mapping, not {show(one['input'])}"
        case "too_short":
            problem = f"needs {one['ctx']['min_length']} or more"
        case "value_error" if cause is not None:
            problem = str(cause)
        case _:
            problem = f"{problem[:1].lower()}{problem[1:]}, not {show(one['input'])}"
    where = _place(location, raw) + (cause.at if isinstance(cause, MatcherError) else "")
    return _one_line(where), _one_line(problem)


def _place(location: _Location, raw: Mapping[str, Any]) -> str:
    """A location as its author would write it, with the check's id where it has one."""
    parts, here = list[str](), location
    if len(here) > 1 and here[0] in _LISTS and isinstance(here[1], int):
        id = _at(raw, here[:2], "id")
        parts.append(f"{here[0]}[{here[1]}]" + (f" ({id})" if isinstance(id, str) else ""))
        here = here[3:] if len(here) > 2 and here[2] in KINDS else here[2:]
    for step in here:
        if isinstance(step, int) and parts:
            parts[-1] += f"[{step}]"
        else:
            parts.append(str(step) or "''")
    return ".".join(parts)


def _one_line(text: str) -> str:
    """A text that quotes what an author wrote, with what cannot be printed as its escape."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def _at(raw: Any, location: _Location, field: str) -> Any:
    for step in location:
        raw = raw[step]
    return raw.get(field) if isinstance(raw, Mapping) else None


def _known(location: _Location, root: type[BaseModel]) -> Sequence[str]:
    """The keys that the model at a location takes."""
    model, here = root, location
    if len(here) > 2 and here[0] in _LISTS:
        model, here = KINDS[str(here[2])], here[3:]
    for step in here:
        if isinstance(step, str) and step in model.model_fields:  # else it is a key of a mapping of models
            model = _model_in(model.model_fields[step].annotation) or model
    return list(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that an annotation such as `tuple[Event, ...]` holds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for each in get_args(annotation) if (found := _model_in(each))), None)
