"""Many episodes: what is to be played, the playing, and the directory that keeps them."""

from cowork_gym.harness.rollout.folder import RunFolder
from cowork_gym.harness.rollout.plan import Plan, Slot
from cowork_gym.harness.rollout.rollout import Played, Rollout, Settings, rollout, stream

__all__ = ["Plan", "Played", "Rollout", "RunFolder", "Settings", "Slot", "rollout", "stream"]
