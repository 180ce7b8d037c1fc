"""Models that run in this process, with their tokens in the open: loading, drawing, and the policy over both."""

from cowork_gym.harness.policies.local.agent import local_policy
from cowork_gym.harness.policies.local.engine import EngineLog, LocalEngine
from cowork_gym.harness.policies.local.weights import load_model, smollm2, smollm2_folder

__all__ = ["EngineLog", "LocalEngine", "load_model", "local_policy", "smollm2", "smollm2_folder"]
