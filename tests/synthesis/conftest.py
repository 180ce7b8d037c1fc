"""Admission plays through the HTTP door too: where that is not installed, a test that comes to it is skipped in the words of the error."""

from collections.abc import Generator

import pytest

from cowork_gym.core.errors import MissingExtra


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    try:
        return (yield)
    except MissingExtra as error:
        pytest.skip(str(error))
