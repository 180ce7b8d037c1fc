"""Graders: pure functions of a task and the sealed evidence of one episode."""

from cowork_gym.graders.contract import Contract
from cowork_gym.graders.evidence import FILES, Evidence
from cowork_gym.graders.grader import GRADER_VERSION, grade, quarantine
from cowork_gym.graders.guardrails import classify
from cowork_gym.graders.scoring import DEFAULT_SPEC, REWARD_SPECS, Scores, claw_v1, cowork_v1, robustness

__all__ = [
    "DEFAULT_SPEC",
    "FILES",
    "GRADER_VERSION",
    "REWARD_SPECS",
    "Contract",
    "Evidence",
    "Scores",
    "classify",
    "claw_v1",
    "cowork_v1",
    "grade",
    "quarantine",
    "robustness",
]
