"""The user of a task: what they know, when they tell it, and what they never say."""

from cowork_gym.envs.dialogue.bounds import leaves_facts
from cowork_gym.envs.dialogue.counterpart import Counterpart, Reply
from cowork_gym.envs.dialogue.form import Correction, Dialogue, Fact, Persona, When
from cowork_gym.envs.dialogue.parse import parse_dialogue
from cowork_gym.envs.dialogue.phrases import Language, Manner
from cowork_gym.envs.dialogue.private import Private
from cowork_gym.envs.dialogue.rules import RuleUser

__all__ = [
    "Correction", "Counterpart", "Dialogue", "Fact", "Language", "Manner", "Persona", "Private", "Reply", "RuleUser", "When", "leaves_facts",
    "parse_dialogue",
]
