"""Three records of one episode held against each other: the ledger, the dispatches, and the rows that changed."""

from cowork_gym.core.ledger import AGENT, Effect
from cowork_gym.graders.evidence import FILES, Evidence

__all__ = ["contradiction"]


def contradiction(evidence: Evidence) -> str | None:
    """Where the records of an episode contradict each other, or None.

    The ledger must be whole; every entry must have the dispatch that made it, and every executed dispatch its entry; and rows
    change only where a writing call succeeded (marks that reading may set, and files, aside).
    """
    ledger = evidence.ledger
    if not ledger.verify():
        return "the ledger's chain is broken"
    made = {one.sequence: one for one in evidence.dispatches if one.sequence is not None and not one.replayed}
    for link, entry in zip(reversed([*ledger.links()]), ledger.entries, strict=True):
        if entry.actor != AGENT:
            continue
        dispatch = made.pop(entry.sequence, None)
        if dispatch is None:
            return f"ledger entry {entry.sequence} ({entry.tool}) has no dispatch"
        if (dispatch.id, dispatch.tool, dispatch.status) != (link.dispatch, entry.tool, entry.status):
            return f"ledger entry {entry.sequence} ({entry.tool}) and its dispatch {dispatch.id} differ"
    if made:
        return f"the dispatches of the ledger entries {sorted(made)} have no entry"
    if not any(entry.effect is Effect.WRITE for entry in evidence.successes):
        for change in evidence.own:
            if change.table != FILES and {(change.table, field) for field in change.fields()} - evidence.marks:
                return f"{change.table}/{change.key} changed, though no writing call succeeded"
    return None
