"""Functions for `python` checks that do what a check may not."""

from itertools import count

from cowork_gym.graders import Evidence

__all__ = ["fails_once_called", "queue_listed", "updated_before_any_report"]

_TIMES = count()


def queue_listed(evidence: Evidence) -> tuple[bool, str]:
    """Whether the queue was listed; the reason tells how often this was asked in this process."""
    return bool(evidence.calls("helpdesk_list_tickets")), f"asked {next(_TIMES)} times before"


def updated_before_any_report(evidence: Evidence) -> bool:
    """Holds when the ticket was updated before a report went out; it has forgotten that a call may be refused at the door."""
    reports = [one.sequence for one in evidence.dispatches if one.tool == "crm_export_report"]
    return any(
        record["ticket_id"] == "TCK-702" and not any(at < entry.sequence for at in reports)  # type: ignore[operator]
        for entry, record in evidence.audited("helpdesk.updated_tickets")
    )


def fails_once_called(evidence: Evidence) -> bool:
    """Holds for who has called nothing, and breaks for everyone else."""
    return not evidence.dispatches or 1 // 0 > 0
