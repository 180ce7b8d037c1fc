"""Why a dialogue becomes no sample: reasons that are counted, never a silent nothing."""

from enum import StrEnum
from typing import NamedTuple

__all__ = ["Dropped", "Reason"]


class Reason(StrEnum):
    """Why there is no sample."""

    AUDIT = "for audit only"
    """The record says that the segment's tokens must not be trained."""
    DIFFERS = "not as recorded"
    """The dialogue's messages are not those of the segment: it was changed after it was played."""
    OTHER_TOKENIZER = "of another tokenizer"
    OVERLONG = "overlong"
    """Longer than the context limit; no sample is ever cut."""
    REFUSED = "refused by the template"
    RERENDERED = "history rendered anew"
    """The template renders earlier messages otherwise once there are more, so that one sequence cannot show what each answer was given."""
    UNKNOWN_TOKENS = "tokens unknown"
    UNSUPERVISED = "nothing to learn"
    UNWRITABLE = "not to be written"
    """An answer that is to be learned could not have been sampled in this format."""


class Dropped(NamedTuple):
    """A dialogue that became no sample."""

    reason: Reason
    detail: str = ""
    """What exactly, for people."""
