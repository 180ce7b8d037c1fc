"""The conformance suites: what the package runs on its own tasks, services and environments, and others on theirs."""

from cowork_gym.testing.check_env import check_env
from cowork_gym.testing.check_service import check_service
from cowork_gym.testing.check_task import Finding, Report, check_task

__all__ = ["Finding", "Report", "check_env", "check_service", "check_task"]
