"""The conformance suite of environments: it passes ours, and it catches each way in which one can break its promises."""

from typing import Any

import gymnasium
import numpy
import pytest

from cowork_gym.core.errors import Blame, Fault
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.observation import Observation
from cowork_gym.envs.registration import REGISTRY, load_task
from cowork_gym.testing import check_env

TASK = load_task("M1003")


def _breaks(env: gymnasium.Env[Any, Any], text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check_env(env)


@pytest.mark.parametrize("id", [*REGISTRY.tasks()])
def test_every_registered_environment_conforms(id: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_env(id)
    assert capsys.readouterr().out == ""


def test_an_environment_that_is_made_by_hand_conforms_and_stays_open() -> None:
    env = CoworkEnv(TASK)
    for seed in range(3):
        check_env(env, seed=seed)
    env.reset(seed=0)
    assert env.world.fingerprint()


def test_something_else_is_no_co_work_environment() -> None:
    class Other(gymnasium.Env[Any, Any]):
        pass

    _breaks(Other(), "is no co-work environment")


def test_gymnasiums_objections_are_passed_on() -> None:
    class Deaf(CoworkEnv):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return super().reset(seed=seed)[0]

    _breaks(Deaf(TASK), "Gymnasium's checker objects")


def test_an_environment_that_drifts_is_found_out() -> None:
    class Drifting(CoworkEnv):
        resets = 0

        def step(self, action: Any) -> Any:
            self.resets += 1
            if len(self.progress.turns) == 1 and self.progress.ending is None:
                self.world.write_file("drift", str(self.resets).encode())
            return super().step(action)

    _breaks(Drifting(TASK), "came to another ledger, fingerprint or grade|checker objects")


def test_seeds_that_are_drawn_elsewhere_are_found_out() -> None:
    class Unseeded(CoworkEnv):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return super().reset(seed=seed if seed is not None else int(numpy.random.default_rng().integers(2**31)))

    _breaks(Unseeded(TASK), "must differ and follow from the last seed given")




def test_an_action_that_raises_is_found_out() -> None:
    class Brittle(CoworkEnv):
        def step(self, action: Any) -> Any:
            if action is None:
                raise TypeError("None is not subscriptable")
            return super().step(action)

    _breaks(Brittle(TASK), "the action None raised TypeError: None is not subscriptable")


def test_a_fault_in_a_sampled_episode_is_found_out() -> None:
    class Broken(CoworkEnv):
        def _begin(self, *given: Any) -> Any:
            session = super()._begin(*given)
            session._caller = self
            return session

        def close(self) -> None:
            self.world.close()

        def call(self, *arguments: Any) -> Any:
            raise Fault(Blame.ENVIRONMENT, "somewhere", "defect")

    _breaks(Broken(TASK), "a sampled episode ended in a fault|checker objects")


def test_an_answer_that_is_no_typed_error_is_found_out() -> None:
    class Mute(CoworkEnv):
        def step(self, action: Any) -> Any:
            observation, *rest = super().step(action)
            return (Observation() if action == "not JSON" else observation), *rest

    _breaks(Mute(TASK), "the action 'not JSON' was not answered with a typed error")


def test_an_episode_that_goes_on_after_its_end_is_found_out() -> None:
    class Undead(CoworkEnv):
        def step(self, action: Any) -> Any:
            if self.progress.terminated and not isinstance(action, str):
                self.world.call(self.task.tools[0], {})
            return super().step(action)

    _breaks(Undead(TASK), "a call after the end")


def test_a_budget_that_is_not_kept_is_found_out() -> None:
    class Endless(CoworkEnv):
        def step(self, action: Any) -> Any:
            observation, reward, terminated, _, info = super().step(action)
            return observation, reward, terminated, False, info

    _breaks(Endless(TASK), "a budget of .* turns ended after")
