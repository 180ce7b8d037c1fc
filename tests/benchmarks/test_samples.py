import pytest

from cowork_gym.benchmarks.samples import CHAINS, Samples, count_samples, main
from cowork_gym.benchmarks.speed.desk import make_task
from cowork_gym.envs.env import CoworkEnv


@pytest.fixture(scope="module")
def env():
    return CoworkEnv(make_task())


@pytest.mark.parametrize("turns", [9, 30, 31, 35, 40, 41])
def test_windows_cut_where_their_first_visible_turn_moves(env, turns):
    firsts = {
        "none": lambda turn: 0, "FIFO, window 30, stride 10": lambda turn: 10 * max(0, turn // 10 - 2),
        "sliding, the last 30": lambda turn: max(0, turn - 30), "sliding, the last one": lambda turn: max(0, turn - 1),
    }
    for name, first in firsts.items():
        expected = len({first(turn) for turn in range(turns)})
        assert count_samples(env, CHAINS[name], turns) == Samples(turns, expected, turns), name


def test_summaries_of_the_policys_own_are_supervised_too(env):
    turns, segments, supervised = count_samples(env, CHAINS["summary at 2,000 tokens"], 40)
    assert turns == 40 and segments > 1 and supervised == turns + segments - 1


def test_the_table_is_printed(capsys):
    main()
    shown = capsys.readouterr().out
    assert all(name in shown for name in CHAINS) and "40 turns" in shown
