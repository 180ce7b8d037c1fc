"""The command: `python -m cowork_gym.trainers.algorithms.conformance FILE` runs any file of numeric cases against this package."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cowork_gym.trainers.algorithms.conformance.case import Case, difference
from cowork_gym.trainers.algorithms.conformance.families import FAMILIES

_USAGE = "usage: python -m cowork_gym.trainers.algorithms.conformance FILE"


def main(arguments: Sequence[str], tell: Callable[[str], None] = print) -> int:
    """Run the cases of a file.

    Args:
        arguments: The file.
        tell: Takes each line of the report.

    Returns:
        0 when every case passed, 1 when one failed or its family is unknown, 2 when there is no such file.
    """
    if len(arguments) != 1:
        tell(_USAGE)
        return 2
    try:
        forms = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        tell(f"{arguments[0]}: not a file of cases: {getattr(error, 'strerror', None) or error}")
        return 2
    if not isinstance(forms, list) or not forms:
        tell(f"{arguments[0]}: not a file of cases: a list with at least one is expected")
        return 2
    failed = 0
    for number, form in enumerate(forms):
        if (problem := _problem(form)) is not None:
            failed += 1
            name = form.get("name", number) if isinstance(form, dict) else number
            tell(f"FAILED {name}: {problem}")
    tell(f"{len(forms) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _problem(form: Any) -> str | None:
    """Why a case fails; None when it passes."""
    try:
        case = Case.read(form)
    except ValueError as error:
        return f"not a case: {error}"
    compute = FAMILIES.get(case.family)
    if compute is None:
        return f"unknown family {case.family!r}; known are {', '.join(sorted(FAMILIES))}"
    try:
        results = compute(case.inputs)
        for name, expected in case.expected.items():
            if name not in results:
                return f"{name}: nothing here computes it from {', '.join(case.inputs)}; there are {', '.join(sorted(results))}"
            found = results[name]
            if (text := difference(expected, found() if callable(found) else found, case.tolerance, name)) is not None:
                return text
    except Exception as error:  # a case may hold anything
        return f"{type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
