"""Who plays: the policy protocol and the policies that call a language model."""

from cowork_gym.harness.policies.openai import OpenAIPolicy
from cowork_gym.harness.policies.policy import Action, Draw, Policy, Usage
from cowork_gym.harness.policies.smol import SmolPolicy
from cowork_gym.harness.policies.token_policy import TokenPolicy

__all__ = ["Action", "Draw", "OpenAIPolicy", "Policy", "SmolPolicy", "TokenPolicy", "Usage"]
