"""A sample in the terminal: lines under a sign and the role, tokens told apart by shade, what is learned by colour and by the sign."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from cowork_gym.trainers.data.views.shown import Piece, Shown, Stretch, visible

__all__ = ["show_sample"]

_CONTEXT, _BETWEEN = ("", "on grey15"), ("dim", "dim on grey15")
_WHOLE = "black on green3", "black on pale_green3"
_LESS, _MORE = ("black on gold1", "black on light_goldenrod1"), ("black on cyan1", "black on sky_blue1")
_ROLE = 10


def show_sample(screen: Console, shown: Shown) -> None:
    """Print a sample. Without colours the sign in front of a line tells what is learned: `+`, with the weight where it is not 1.

    Args:
        screen: Where to.
        shown: The sample.
    """
    screen.print(Text(f"{shown.title}: {shown.facts}", "bold"), soft_wrap=True)
    if shown.note:
        screen.print(Text(shown.note, "bold red"), soft_wrap=True)
    screen.print(_legend(), soft_wrap=True)
    for stretch in shown.stretches:
        for head, line in _lines(stretch):
            screen.print(Text(head, "dim").append(line), soft_wrap=True)


def _legend() -> Text:
    legend = Text("+ ").append("learned", _WHOLE[0]).append("  +0.5 ").append("weight below 1", _LESS[0]).append("  +2 ")
    return legend.append("above 1", _MORE[0]).append("    ").append("context").append("  ").append("template", _BETWEEN[0])


def _lines(stretch: Stretch) -> Iterator[tuple[str, Text]]:
    """The lines of a stretch: one ends where the text's does, and where what is learned begins or ends."""
    line, last, role = Text(), None, stretch.role
    for at, piece in enumerate(stretch.pieces):
        kind = (piece.learned, piece.weight)
        if last is not None and kind != last and line:
            yield _head(last, role), line
            line, role = Text(), ""
        last = kind
        style = _styles(stretch, piece)[at % 2]
        *ended, rest = visible(piece.text).split("\n")
        for part in ended:
            yield _head(kind, role), line.append(part, style)
            line, role = Text(), ""
        line.append(rest, style)
    if line and last is not None:
        yield _head(last, role), line


def _head(kind: tuple[bool, float], role: str) -> str:
    learned, weight = kind
    sign = ("+" if weight == 1 else f"+{weight:.3g}") if learned else ""
    return f"{sign:<5}{role:<{_ROLE}} "


def _styles(stretch: Stretch, piece: Piece) -> tuple[str, str]:
    if piece.learned:
        return _WHOLE if piece.weight == 1 else _LESS if piece.weight < 1 else _MORE
    return _CONTEXT if stretch.message >= 0 else _BETWEEN
