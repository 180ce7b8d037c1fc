"""Who plays, and the play itself: from an environment and a policy to a sealed episode, and what can be done with it afterwards."""

from cowork_gym.harness.agents import AGENTS, make_agent
from cowork_gym.harness.branch import branch
from cowork_gym.harness.compose import PLAIN, Harness, compose
from cowork_gym.harness.debug import debug
from cowork_gym.harness.inner import Delegate
from cowork_gym.harness.loop import play
from cowork_gym.harness.policies import Action, Draw, OpenAIPolicy, Policy, TokenPolicy, Usage
from cowork_gym.harness.replay import replay
from cowork_gym.harness.skills import read_skills
from cowork_gym.harness.spec import make_harness

__all__ = [
    "AGENTS", "PLAIN", "Action", "Delegate", "Draw", "Harness", "OpenAIPolicy", "Policy", "TokenPolicy", "Usage", "branch", "compose", "debug",
    "make_agent", "make_harness", "play", "read_skills", "replay",
]
