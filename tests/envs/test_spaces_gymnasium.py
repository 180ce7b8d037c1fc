"""What Gymnasium does with our spaces: the checker, batches, and worker processes."""

import json
import pickle

import gymnasium
import pytest
from desk_samples import SPOILABLE, TOOLS, desk_task
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from cowork_gym.core.errors import UserError
from cowork_gym.core.messages import call
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.observation import Observation
from cowork_gym.envs.spaces import ActionSpace, ObservationSpace

ID = "test/DeskSpaces-v0"
READ = call("crm_get_customer", customer_id="C-1")


@pytest.fixture(autouse=True)
def registered():
    gymnasium.register(ID, entry_point="cowork_gym.envs.env:CoworkEnv", vector_entry_point="cowork_gym.envs.vector:CoworkVectorEnv",
                       kwargs={"task": desk_task()})
    yield
    del gymnasium.registry[ID]


def make_env():
    return CoworkEnv(desk_task())


def test_the_checker_has_nothing_to_say():
    env = gymnasium.make(ID)
    check_env(env.unwrapped)
    env.close()


def test_a_batch_is_a_tuple():
    single = ActionSpace(TOOLS.values(), seed=2)
    batch = batch_space(single, 3)
    actions = batch.sample()
    assert isinstance(actions, tuple)
    assert actions in batch
    assert list(iterate(batch, actions)) == list(actions)
    assert len({str(one) for one in actions}) == 3
    batch.seed(4)
    assert batch.sample() != actions
    observations = [ObservationSpace(seed=1).sample() for _ in range(3)]
    joined = concatenate(ObservationSpace(), observations, create_empty_array(ObservationSpace(), 3))
    assert joined == tuple(observations)
    assert joined in batch_space(ObservationSpace(), 3)


def test_sync_environments_return_the_exact_text():
    vector = SyncVectorEnv([make_env] * 2)
    observations, _ = vector.reset(seed=3)
    assert all(isinstance(one, Observation) for one in observations)
    assert [SPOILABLE in one[0].content for one in observations] == [True, True]
    observations, rewards, *_ = vector.step([READ, READ])
    assert rewards.dtype == "float64"
    assert [json.loads(one[0].content)["name"] for one in observations] == [SPOILABLE, SPOILABLE]
    for _ in range(5):
        vector.step(vector.action_space.sample())
    vector.close()


@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_worker_processes_return_the_exact_text(context):
    vector = AsyncVectorEnv([make_env] * 2, shared_memory=False, context=context)
    here = SyncVectorEnv([make_env] * 2)
    assert vector.reset(seed=3)[0] == here.reset(seed=3)[0]
    observations, rewards, terminations, truncations, _ = vector.step([READ, READ])
    expected = here.step([READ, READ])
    assert observations == expected[0]
    assert [json.loads(one[0].content)["name"] for one in observations] == [SPOILABLE, SPOILABLE]
    assert (rewards == expected[1]).all()
    assert not (terminations | truncations).any()
    vector.close()
    here.close()


def test_shared_memory_is_refused_before_it_spoils_anything():
    with pytest.raises(UserError, match="shared_memory=False"):
        AsyncVectorEnv([make_env] * 2)
    with pytest.raises(UserError, match="shared_memory"):
        gymnasium.make_vec(ID, num_envs=2, vectorization_mode="async")


def test_wrappers_keep_the_spaces():
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make(ID))
    assert env.action_space == env.unwrapped.action_space
    assert pickle.loads(pickle.dumps(env.observation_space)) == env.observation_space
    env.close()
