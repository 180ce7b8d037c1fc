"""Many episodes: what is to be played, the playing, and the directory that keeps them."""

from cowork_gym.harness.rollout.folder import RunFolder
from cowork_gym.harness.rollout.plan import Plan, Slot
from cowork_gym.harness.rollout.rollout import Rollout, rollout, stream
from cowork_gym.harness.rollout.settings import Settings
from cowork_gym.harness.rollout.worker import Played

__all__ = ["Plan", "Played", "Rollout", "RunFolder", "Settings", "Slot", "rollout", "stream"]
