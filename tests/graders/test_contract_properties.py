from copy import deepcopy
from typing import Any

from grading_samples import GRADING
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.core.errors import PackageError
from cowork_gym.graders import Contract

JUNK = st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=6) | st.sampled_from(["kind", "tool_called", "any", "number"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    JUNK, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(JUNK.filter(lambda key: key == key), inner, max_size=3), max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything inside a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in items for place in ((*path, key), *places(inner, (*path, key)))]


@given(st.sampled_from(places(dict(GRADING))), st.sampled_from(["replace", "delete", "add"]), VALUES, st.text(max_size=6))
@settings(max_examples=400, deadline=None)
def test_a_damaged_contract_is_read_or_refused_in_one_line(place: tuple[Any, ...], how: str, value: Any, key: str) -> None:
    damaged: Any = deepcopy(dict(GRADING))
    holder = damaged
    for step in place[:-1]:
        holder = holder[step]
    if how == "delete":
        del holder[place[-1]]
    elif how == "add" and isinstance(holder, dict):
        holder[key] = value
    else:
        holder[place[-1]] = value
    try:
        Contract.parse(damaged)
    except PackageError as error:
        assert "\n" not in str(error) and error.where and error.problem
