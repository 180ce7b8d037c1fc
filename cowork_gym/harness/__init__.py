"""Who plays, and the play itself: from an environment and a policy to a sealed episode."""

from cowork_gym.harness.agents import AGENTS, make_agent
from cowork_gym.harness.loop import play
from cowork_gym.harness.policies import Action, OpenAIPolicy, Policy, Usage

__all__ = ["AGENTS", "Action", "OpenAIPolicy", "Policy", "Usage", "make_agent", "play"]
