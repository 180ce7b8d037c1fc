"""The vector environment: many episodes of one task in this process, over one blueprint."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gymnasium.vector import AutoresetMode, SyncVectorEnv

from cowork_gym.core.errors import UserError
from cowork_gym.core.messages import Message
from cowork_gym.core.task import Task
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task

__all__ = ["CoworkVectorEnv"]


class CoworkVectorEnv(SyncVectorEnv):
    """Many episodes of one task, stepped in turn. `gymnasium.make_vec` makes it.

    Observations are a tuple with one `Observation` an episode. Infos follow Gymnasium's conventions: an array a key, and a flag
    a key and episode that tells whether it is there.

    Args:
        num_envs: How many.
        task: As for `CoworkEnv`.
        autoreset_mode: What happens after an episode's end: `NEXT_STEP` resets in place of the next step, which ignores that action
            and has reward 0; `SAME_STEP` resets at once and puts the last observation and info into `final_obs` and `final_info`;
            `DISABLED` leaves it to `reset(options={"reset_mask": …})`.
        **options: `render_mode`, `door` and `reward`, as for `CoworkEnv`.

    Raises:
        UserError: The task or an option is unknown.
        PackageError: The package cannot be used.
    """

    envs: list[CoworkEnv]  # type: ignore[assignment]

    def __init__(
        self, num_envs: int = 1, *, task: str | Path | Task, autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP, **options: Any,
    ) -> None:
        contract = task if isinstance(task, Task) else load_task(task)
        make = partial(CoworkEnv, contract, **options)
        super().__init__([make] * num_envs, copy=False, autoreset_mode=autoreset_mode)  # observations cannot be changed: no copy is needed

    def step(self, actions: Sequence[Any]) -> Any:
        """Take one action for each episode.

        Returns:
            Observations, rewards, terminations, truncations and infos.

        Raises:
            UserError: There is not one action an episode, or, in the mode `DISABLED`, an episode has ended.
        """
        if isinstance(actions, str | Mapping | Message) or len(actions) != self.num_envs:
            raise UserError(f"give a sequence with one action for each of the {self.num_envs} environments")
        if self.autoreset_mode is AutoresetMode.DISABLED:
            over = [number for number, env in enumerate(self.envs) if env.progress.ending is not None]
            if over:
                raise UserError(f"these environments have ended: {over}; reset them with options={{'reset_mask': …}}")
        return super().step(actions)
