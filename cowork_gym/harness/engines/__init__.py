"""What draws tokens, in this process or behind a server."""

from cowork_gym.harness.engines.engine import ContextFull, Drawn, Engine, Sampling
from cowork_gym.harness.engines.sglang import SGLangEngine
from cowork_gym.harness.engines.vllm import VLLMEngine

__all__ = ["ContextFull", "Drawn", "Engine", "SGLangEngine", "Sampling", "VLLMEngine"]
