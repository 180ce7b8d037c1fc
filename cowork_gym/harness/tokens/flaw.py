"""Why a chat template cannot be extended: its rules, tried on made-up conversations."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from cowork_gym.core.errors import Fault
from cowork_gym.core.messages import Message
from cowork_gym.harness.tokens.conversations import CONVERSATIONS, OPENINGS, TOOLS, Round
from cowork_gym.harness.tokens.extension import Extension, answer_of
from cowork_gym.harness.tokens.plain_text import ANCHOR, PlainText, common
from cowork_gym.harness.tokens.rendering import Rendering

__all__ = ["find_flaw"]


def find_flaw(rendering: Rendering, extension: Extension, plain: PlainText) -> str:
    """The first reason why a template cannot be extended; empty when there is none.

    These are reasons: it refuses tool results or user messages behind an answer, or does not show them; no token of its own ends an
    answer; it does not begin the next answer; what it puts behind an answer depends on what came earlier; once more messages are there,
    it renders those of users, tools or the system differently or no longer. That it would leave out old thoughts, or put empty ones into
    the last answer, is none: answers are never rendered again within a segment.
    """
    trial = _Trial(rendering, plain)
    try:
        pieces = [[_piece(extension, one) for one in rounds] for rounds in CONVERSATIONS]
        for opening, tools in product(OPENINGS, (None, TOOLS)):
            for rounds, known in zip(CONVERSATIONS, pieces, strict=True):
                trial.run(opening, tools, rounds, known)
    except (Fault, _Broken) as reason:
        return f"the chat template cannot be extended: {reason.record.message if isinstance(reason, Fault) else reason}"
    return ""


class _Broken(Exception):
    """A rule that does not hold."""


class _Piece(NamedTuple):
    """A stretch of a rendered conversation up to the anchor in the next answer."""

    text: str
    """As the prompt for that answer."""
    seen: int
    """How much of it must stay when the answer is there."""


def _piece(extension: Extension, one: Round) -> _Piece:
    behind = extension.behind(one.new)
    for message in one.new:
        if (message.content or "") not in behind.text:
            raise _Broken(f"it does not show messages of the role {message.role!r}")
    return _Piece(behind.text, behind.seen)


class _Trial(NamedTuple):
    """Holds whole conversations against what was put behind their answers one by one."""

    rendering: Rendering
    plain: PlainText

    def run(self, opening: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None, rounds: Sequence[Round], known: Sequence[_Piece]) -> None:
        """Try one conversation, unless the template refuses its beginning.

        Raises:
            Fault: The template refuses what follows.
            _Broken: A rule does not hold.
        """
        forms = [self.rendering.form(one) for one in opening]
        try:
            begun, bare = (self.rendering.render(forms, tools, prompt=prompt) for prompt in (True, False))
        except Fault:
            return
        for one in rounds:
            forms += [answer_of(self.rendering, one.tool_calls, one.text), *map(self.rendering.form, one.new)]
        found = self.rendering.render(forms, tools, prompt=True).split(ANCHOR)
        if len(found) != len(rounds) + 1:
            raise _Broken(f"it shows {len(found) - 1} of {len(rounds)} answers")
        *earlier, last = zip((_Piece(begun, common(begun, bare, self.plain.control_pattern)), *known), found, strict=True)
        for at, (piece, text) in enumerate(earlier):
            self._compare(at, piece.text[:piece.seen], text[:piece.seen])
            if not rounds[at].calls:
                self._check_prompt(piece.text[piece.seen:], text[piece.seen:])
        piece, text = last
        self._compare(len(rounds), piece.text, text)

    def _compare(self, at: int, wanted: str, found: str) -> None:
        if wanted != found:
            start = max(0, common(wanted, found, self.plain.control_pattern) - 20)
            what = f"what it puts behind answer {at} depends on what came earlier" if at else "it renders the beginning anew once there is more"
            raise _Broken(f"{what}: {found[start:start + 60]!r} instead of {wanted[start:start + 60]!r}")

    def _check_prompt(self, prompt: str, shown: str) -> None:
        """Hold what stood before an answer when it was asked for against what stands before it when it is there."""
        if self.plain.control_pattern.search(shown) and not self.plain.control_pattern.search(prompt):
            raise _Broken("it does not begin the next answer when it is asked to")
