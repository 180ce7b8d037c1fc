"""What people read on the terminal: turns as they happen, and the grade as a table. What agents and services say is text, never markup.

A sentence is one line, which a terminal wraps by itself; only tables know how wide the screen is.
"""

import os
import sys
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cowork_gym.core.canonical import encode
from cowork_gym.core.episode import Turn
from cowork_gym.core.errors import ToolError
from cowork_gym.core.grade import Grade
from cowork_gym.core.messages import ToolCall
from cowork_gym.core.trajectory import ROOT, Run

__all__ = ["open_screen", "short", "show_grade", "show_rewrites", "show_table", "show_turn"]

_PLAIN_WIDTH = 160
"""Columns where the output is no terminal."""
_NARROWEST, _WIDEST = 40, 10_000
"""Columns that can be asked for there."""


def open_screen() -> Console:
    """Standard output as it is now; without colour where it is no terminal."""
    return Console(width=None if sys.stdout.isatty() else _plain_width(), highlight=False, markup=False, emoji=False)


def _plain_width() -> int:
    """The columns of a file or a pipe: those that COLUMNS asks for."""
    asked = os.environ.get("COLUMNS", "")
    # A program that loads readline hands its children the columns of no terminal; it sets both names, a person only the one that is meant.
    meant = asked.isascii() and asked.isdigit() and "LINES" not in os.environ
    return min(max(int(asked[:6]), _NARROWEST), _WIDEST) if meant else _PLAIN_WIDTH


def short(text: str, length: int) -> str:
    """A text on one line, cut to a length, without what could move the cursor."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * length]).split())
    return line if len(line) <= length else line[: length - 3] + "..."


def show_turn(screen: Console, turn: Turn) -> None:
    """What the agent said, each call, and what came back."""
    room = max(screen.width - 8, 20)
    lines = [(turn.said.content, "bold")] if turn.said.content else []
    if turn.invalid is not None:
        lines.append((f"not an action: {turn.invalid}", "yellow"))
    for call, dispatch in zip(turn.action.tool_calls if turn.action else (), turn.dispatches, strict=False):
        lines += [(_written(call), "cyan"), (f"  {dispatch.status} {dispatch.result}", "dim" if dispatch.status < 400 else "yellow")]
    for at, (text, style) in enumerate(lines or [("(an empty answer)", "bold")]):
        number = str(turn.index + 1) if at == 0 else ""
        text = f"[run {turn.run}] {text}" if at == 0 and turn.run != ROOT else text
        indent = len(text) - len(text.lstrip(" "))
        screen.print(Text(f"{number:>3}  {' ' * indent}").append(short(text, room - indent), style), no_wrap=True, crop=False, overflow="ignore")


def show_rewrites(screen: Console, runs: Iterable[Run]) -> None:
    """A line for each rewrite of a history: in which run and before which turn, of what kind, and what became of its length."""
    for run in runs:
        for segment in run.segments:
            turn = next((one.turn for one in segment.generations if one.turn is not None), None)
            if (rewrite := segment.rewrite) is None:
                continue
            where = f"run {run.id}: " if run.id != ROOT else ""
            when = "at its end" if turn is None else f"before turn {turn + 1}"
            lengths = f"{rewrite.before.messages} messages became {rewrite.after.messages}"
            screen.print(Text(short(f"{where}history rewritten {when}, {rewrite.kind} by {rewrite.by}: {lengths}", 300), "dim"), soft_wrap=True)


def show_grade(screen: Console, grade: Grade) -> None:
    """Each check with its verdict and reason, then the numbers."""
    if grade.fault is not None:
        fault = grade.fault
        text = f"quarantined, no reward: the {fault.blame.replace('_', ' ')} failed at {fault.where}: {fault.message}"
        screen.print(Text(short(text, 600), "bold yellow"), soft_wrap=True)
        return
    rows: list[list[str | Text]] = [
        [one.id, one.part, Text("pass", "green") if one.passed else Text("fail", "red"), f"{one.weight:g}" if one.weight else "", one.reason]
        for one in grade.checks
    ]
    show_table(screen, ["check", "part", "verdict", "weight", "reason"], rows)
    numbers = ", ".join(f"{name} {getattr(grade, name):g}" for name in ("completion", "safety", "robustness", "outcome"))
    others = ", ".join(f"{name} {value:.3g}" for name, value in grade.rewards.items() if name != grade.spec)
    screen.print(Text("reward ").append(f"{grade.reward:.3g}", "bold green" if grade.passed else "bold red").append(
        f" under {grade.spec} ({'passed' if grade.passed else 'not passed'}): {numbers}; {others}",
    ), soft_wrap=True)


def show_table(screen: Console, heads: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """A table whose cells are plain text; the last column takes the room that is left."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for at, head in enumerate(heads):
        table.add_column(head, overflow="fold", no_wrap=at < len(heads) - 1 and screen.width > 80)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(short(cell, 2000)) for cell in row))
    screen.print(table)


def _written(call: ToolCall) -> str:
    """A call as one would write it in Python."""
    try:
        return f"{call.name}({', '.join(f'{name}={encode(value)}' for name, value in call.decoded().items())})"
    except ToolError:
        return f"{call.name}({call.arguments})"
