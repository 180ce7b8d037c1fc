"""The conformance suites: what the package runs on its own tasks and services, and others on theirs."""

from cowork_gym.testing.check_task import Finding, Report, check_task

__all__ = ["Finding", "Report", "check_task"]
