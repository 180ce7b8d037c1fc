"""A directory whose plan is gone: its episodes are nobody's, and nothing is written over them."""

import pytest

from cowork_gym.cli.main import main


def _call(out, agent, *more):
    return main(["rollout", "M1003", "--agent", agent, "--out", str(out), *more])


@pytest.mark.parametrize("resume", [(), ("--resume",)])
@pytest.mark.parametrize("part", ["episodes", "quarantine"])
def test_episodes_without_a_plan_are_left_alone(tmp_path, capsys, resume, part):
    assert _call(tmp_path, "reference") == 0
    (tmp_path / "rollout.json").unlink()
    (file,) = (tmp_path / "episodes").iterdir()
    file = file.rename(tmp_path / part / file.name)
    before = file.read_bytes()
    capsys.readouterr()
    assert _call(tmp_path, "noop", *resume) == 2
    told = f"cowork: {tmp_path}: has episodes and no rollout.json that says what they are of: choose another directory\n"
    assert capsys.readouterr().err == told
    assert file.read_bytes() == before and not (tmp_path / "rollout.json").exists()


def test_a_directory_in_which_nothing_was_kept_yet_is_free(tmp_path):
    for part in ("episodes", "quarantine"):
        (tmp_path / part).mkdir()
    assert _call(tmp_path, "noop") == 0
