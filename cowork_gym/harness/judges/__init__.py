"""Who judges: a model behind a server, a judge that remembers, and judges by name. `graders.judge` says what a judge is."""

from cowork_gym.harness.judges.cached import CachedJudge
from cowork_gym.harness.judges.model import ModelJudge
from cowork_gym.harness.judges.named import JUDGES, make_judge

__all__ = ["JUDGES", "CachedJudge", "ModelJudge", "make_judge"]
