"""Who plays: the policy protocol and the policies that call a language model."""

from cowork_gym.harness.policies.openai import OpenAIPolicy
from cowork_gym.harness.policies.policy import Action, Policy, Usage
from cowork_gym.harness.policies.smol import SmolPolicy

__all__ = ["Action", "OpenAIPolicy", "Policy", "SmolPolicy", "Usage"]
