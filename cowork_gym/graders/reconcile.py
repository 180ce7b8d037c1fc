"""Three records of one episode held against each other: the ledger, the dispatches, and the rows that changed."""

from cowork_gym.core.ledger import AGENT
from cowork_gym.graders.evidence import Evidence
from cowork_gym.graders.explained import unexplained

__all__ = ["contradiction"]


def contradiction(evidence: Evidence) -> str | None:
    """Where the records of an episode contradict each other, or None.

    The ledger must be whole; every entry must have the dispatch that made it, and every executed dispatch its entry; and every row
    that changed must have the entry of a call that could change it, as `unexplained` says. All of it holds at the end of each part of
    the task as well.
    """
    if not evidence.ledger.verify():
        return "the ledger's chain is broken"
    for one in (*evidence.closed, evidence):
        if found := _unmatched(one) or unexplained(one):
            return found
    return None


def _unmatched(evidence: Evidence) -> str | None:
    """A ledger entry without its dispatch, or the other way round."""
    ledger = evidence.ledger
    made = {one.sequence: one for one in evidence.dispatches if one.sequence is not None and not one.replayed}
    for entry in ledger.entries:
        if entry.actor != AGENT:
            continue
        dispatch = made.pop(entry.sequence, None)
        if dispatch is None:
            return f"ledger entry {entry.sequence} ({entry.tool}) has no dispatch"
        if (dispatch.id, dispatch.tool, dispatch.status) != (entry.dispatch, entry.tool, entry.status):
            return f"ledger entry {entry.sequence} ({entry.tool}) and its dispatch {dispatch.id} differ"
    return f"the dispatches of the ledger entries {sorted(made)} have no entry" if made else None
