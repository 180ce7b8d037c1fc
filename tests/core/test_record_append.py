"""A grade more in a sealed file: behind the others, and only one of this very episode."""

from dataclasses import replace

import pytest
from episode_samples import EPISODE, GRADE, UNGRADED, lines_of

from cowork_gym.core.errors import UserError
from cowork_gym.core.record import append_grade, read_episode, write_episode


@pytest.mark.parametrize("episode", [UNGRADED, EPISODE])
def test_a_grade_is_put_behind_what_is_there_and_counts(tmp_path, episode):
    path = write_episode(episode, tmp_path)
    before, later = path.read_bytes(), replace(GRADE, reward=0.75)
    append_grade(path, later)
    assert path.read_bytes().startswith(before) and len(lines_of(path)) == before.count(b"\n") + 1
    assert read_episode(path).grade == later


def test_a_grade_of_another_episode_is_refused_and_the_file_stays(tmp_path):
    path = write_episode(EPISODE, tmp_path)
    before = path.read_bytes()
    with pytest.raises(UserError) as caught:
        append_grade(path, replace(GRADE, seal="0" * 64))
    assert str(caught.value) == f"{path}: the grade is not of this episode: it names another seal"
    assert path.read_bytes() == before and [*tmp_path.iterdir()] == [path]
