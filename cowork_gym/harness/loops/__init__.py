"""Agent loops: the order in which a policy is asked."""

from cowork_gym.harness.loops.loops import LOOPS, Loop, PlanAct, React

__all__ = ["LOOPS", "Loop", "PlanAct", "React"]
