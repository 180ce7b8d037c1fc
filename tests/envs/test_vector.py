"""The vector environment: episodes of different lengths in each autoreset mode, seeds, infos."""

import gymnasium
import numpy as np
import pytest
from desk_samples import SPOILABLE, desk_task
from gymnasium.vector import AutoresetMode

from cowork_gym.core.errors import UserError
from cowork_gym.core.grade import Grade
from cowork_gym.core.messages import call, final
from cowork_gym.envs.observation import Observation
from cowork_gym.envs.vector import CoworkVectorEnv

ID = "test/DeskVector-v0"
LIST, READ, END = call("helpdesk_list_tickets"), call("crm_get_customer", customer_id="C-1"), final("done")
LENGTHS = (2, 4, 4)


@pytest.fixture
def make():
    """Three episodes of at most four turns, in a mode."""
    made = []

    def make(mode=AutoresetMode.NEXT_STEP, turns=40, **options):
        made.append(CoworkVectorEnv(3, task=desk_task(turns), autoreset_mode=mode, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def turn_actions(taken):
    """The actions by which episode `i` ends at its turn `LENGTHS[i]` with a final answer."""
    return [END if taken[number] == length - 1 else LIST for number, length in enumerate(LENGTHS)]


def test_the_mode_is_declared_and_the_next_step_is_the_default(make):
    assert CoworkVectorEnv(1, task=desk_task()).metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    for mode in AutoresetMode:
        assert make(mode).metadata["autoreset_mode"] is mode
        assert make(mode.value).metadata["autoreset_mode"] is mode


def test_next_step_resets_in_place_of_a_step(make):
    vector = make()
    opening, _ = vector.reset(seed=1)
    taken, sums, finished = [0, 0, 0], [0.0, 0.0, 0.0], [[], [], []]
    for _ in range(10):
        was_over = [env.progress.ending is not None for env in vector.envs]
        observations, rewards, terminations, truncations, infos = vector.step(turn_actions(taken))
        assert not truncations.any()
        for number in range(3):
            if was_over[number]:  # the action is ignored, the reward is 0, the request is shown
                assert (rewards[number], terminations[number]) == (0.0, False)
                assert observations[number] == opening[number]
                taken[number], sums[number] = 0, 0.0
                continue
            taken[number] += 1
            sums[number] += rewards[number]
            assert terminations[number] == (taken[number] == LENGTHS[number])
            if terminations[number]:
                assert infos["grade"][number].reward == rewards[number] == sums[number] == 1.0
                assert observations[number] != opening[number]
                finished[number].append(taken[number])
    assert finished == [[2, 2, 2], [4, 4], [4, 4]]


def test_same_step_resets_at_once_and_keeps_the_end(make):
    vector = make(AutoresetMode.SAME_STEP)
    opening, _ = vector.reset(seed=1)
    taken, finished = [0, 0, 0], [[], [], []]
    for _ in range(8):
        observations, rewards, terminations, _, infos = vector.step(turn_actions(taken))
        for number in range(3):
            taken[number] += 1
            assert terminations[number] == (taken[number] == LENGTHS[number])
            assert rewards[number] == float(terminations[number])
            if terminations[number]:
                assert observations[number] == opening[number]
                assert infos["final_obs"][number] == ()
                assert infos["final_info"]["grade"][number].reward == 1.0
                assert infos["seed"][number] != infos["final_info"]["seed"][number]
                finished[number].append(taken[number])
                taken[number] = 0
        assert "grade" not in infos
    assert finished == [[2, 2, 2, 2], [4, 4], [4, 4]]


def test_disabled_waits_for_a_reset_of_those_that_ended(make):
    vector = make(AutoresetMode.DISABLED)
    opening, _ = vector.reset(seed=1)
    vector.step([LIST, LIST, LIST])
    *_, terminations, _, _ = vector.step([END, LIST, LIST])
    assert terminations.tolist() == [True, False, False]
    with pytest.raises(UserError, match=r"have ended: \[0\]"):
        vector.step([LIST, LIST, LIST])
    assert [len(env.progress.turns) for env in vector.envs] == [2, 2, 2]
    observations, _ = vector.reset(options={"reset_mask": terminations})
    assert observations[0] == opening[0]
    assert observations[1] != opening[1]
    _, rewards, terminations, _, _ = vector.step([LIST, END, END])
    assert rewards.tolist() == [0.0, 1.0, 1.0]
    assert terminations.tolist() == [False, True, True]


def test_budgets_truncate(make):
    vector = make(turns=2)
    vector.reset(seed=1)
    vector.step([LIST, LIST, LIST])
    _, rewards, terminations, truncations, infos = vector.step([LIST, END, LIST])
    assert terminations.tolist() == [False, True, False]
    assert truncations.tolist() == [True, False, True]
    assert rewards.dtype == np.float64
    assert terminations.dtype == truncations.dtype == np.bool_
    assert all(isinstance(grade, Grade) for grade in infos["grade"])
    assert infos["_grade"].tolist() == [True, True, True]


def test_infos_say_whose_they_are(make):
    vector = make()
    _, infos = vector.reset(seed=4)
    assert infos["seed"].tolist() == [4, 5, 6]
    assert all(tools[0]["function"]["name"] for tools in infos["tools"])
    observations, *_, infos = vector.step([END, READ, READ])
    assert infos["_grade"].tolist() == [True, False, False]
    assert [len(dispatches) for dispatches in infos["dispatches"]] == [0, 1, 1]
    assert all(isinstance(one, Observation) for one in observations)
    assert observations in vector.observation_space


def test_seeds(make):
    vector = make()
    vector.reset(seed=[7, 8, 9])
    assert [env.seed for env in vector.envs] == [7, 8, 9]
    export = call("crm_export_report", title="t", customer_ids=["C-1"], summary="s")
    first = vector.step([export] * 3)[0]
    vector.reset(seed=7)
    assert vector.step([export] * 3)[0] == first
    assert len({one[0].content for one in first}) == 3
    with pytest.raises((AssertionError, ValueError), match="length"):  # Gymnasium's, which has changed its kind
        vector.reset(seed=[1])


def test_later_episodes_follow_from_the_first_seed(make):
    seeds = []
    for _ in range(2):
        vector = make()
        vector.reset(seed=3)
        seen = []
        for _ in range(4):
            vector.step([END] * 3)
            seen.append([env.seed for env in vector.envs])
        seeds.append(seen)
    assert seeds[0] == seeds[1]
    assert len({seed for seen in seeds[0] for seed in seen}) > 3


def test_random_actions_work_in_batches(make):
    vector = make()
    vector.action_space.seed(5)
    vector.reset(seed=5)
    for _ in range(30):
        actions = vector.action_space.sample()
        assert actions in vector.action_space
        observations, rewards, *_ = vector.step(actions)
        assert observations in vector.observation_space
        assert ((rewards >= 0) & (rewards <= 1)).all()


@pytest.mark.parametrize("actions", [LIST, '{"name": "kb_search", "arguments": {}}', {"name": "kb_search", "arguments": {}}, [LIST], [LIST] * 4])
def test_one_action_each(make, actions):
    vector = make()
    vector.reset(seed=1)
    with pytest.raises(UserError, match="one action for each of the 3"):
        vector.step(actions)
    assert not any(env.progress.turns for env in vector.envs)


def test_episodes_share_a_blueprint_and_nothing_else(make):
    vector = make(door="direct")
    vector.reset(seed=1)
    assert len({id(env.blueprint) for env in vector.envs}) == 1
    vector.step([call("helpdesk_close_ticket", ticket_id="T-1", resolution="x"), LIST, LIST])
    assert [len(env.world.diff()) for env in vector.envs] == [1, 0, 0]


def test_make_vec_finds_it():
    gymnasium.register(ID, entry_point="cowork_gym.envs.env:CoworkEnv", vector_entry_point="cowork_gym.envs.vector:CoworkVectorEnv",
                       kwargs={"task": desk_task()})
    try:
        vector = gymnasium.make_vec(ID, num_envs=2, autoreset_mode="SameStep")
        assert isinstance(vector, CoworkVectorEnv)
        assert vector.spec.id == ID
        assert vector.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        observations, _ = vector.reset(seed=2)
        assert [SPOILABLE in one[0].content for one in observations] == [True, True]
        statistics = gymnasium.wrappers.vector.RecordEpisodeStatistics(vector)
        statistics.reset(seed=2)
        *_, infos = statistics.step([LIST, END])
        assert infos["episode"]["l"].tolist() == [0, 1]
        statistics.close()
        vector.close()
    finally:
        del gymnasium.registry[ID]
