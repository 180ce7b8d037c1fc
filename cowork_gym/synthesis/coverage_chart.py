"""Coverage as a picture: a bar for each value of each axis, gaps in red, and the capability edges as a grid. Needs matplotlib."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cowork_gym.core.errors import MissingExtra
from cowork_gym.core.structure import Capability
from cowork_gym.core.wording import counted
from cowork_gym.synthesis.coverage import Coverage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_coverage"]

_BAR, _GAP, _GRID, _COLUMNS = "#3b6ea5", "#c0392b", "Blues", 3
_LINE, _HEAD, _MARGIN, _FOOT = 0.19, 0.65, 1.35, 0.75
"""Inches for a value, for the head of a panel, for the title with the names under the grid, and for these alone."""


def draw_coverage(found: Coverage, title: str, path: Path) -> None:
    """Draw a picture of a collection's coverage.

    Args:
        found: The counts.
        title: What stands above.
        path: The file; its ending says which format it has, such as `.png` or `.svg`.

    Raises:
        MissingExtra: matplotlib is not installed.
        ValueError: There is no such format.
        OSError: The file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingExtra("matplotlib", "pip install 'cowork-gym[charts]'") from None
    columns = _columns(found)
    height = max(sum(map(_height, column)) + (_height(_EDGES) if at == len(columns) - 1 else 0) for at, column in enumerate(columns))
    most = max([count for values in found.axes.values() for count in values.values()] + [1])
    figure = Figure(figsize=(14, height + _MARGIN))
    text = f"{title}: {counted(found.tasks, 'task')}, {counted(len(found.gaps), 'gap')}"
    figure.suptitle(text, y=1 - 0.25 / (height + _MARGIN), fontsize=13)
    for panel, axes in _panels(figure, columns, height):
        _draw_edges(axes, found) if panel is _EDGES else _draw_bars(axes, *panel, most)
    _explain(figure, height + _MARGIN)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # a category in a script that the font lacks is drawn as boxes
        figure.savefig(path, dpi=110)


_Panel = tuple[str, dict[str, int]]
_EDGES: _Panel = ("capability edges", {str(one): 0 for one in Capability})


def _columns(found: Coverage) -> list[list[_Panel]]:
    """The axes in columns of about the same height; the last one leaves room for the grid."""
    columns: list[list[_Panel]] = [[] for _ in range(_COLUMNS)]
    taken = [0.0] * (_COLUMNS - 1) + [_height(_EDGES)]
    for axis, values in sorted(found.axes.items(), key=lambda item: -len(item[1])):
        at = taken.index(min(taken))
        columns[at].append((axis, dict(values)))
        taken[at] += _height(columns[at][-1])
    return columns


def _height(panel: _Panel) -> float:
    return max(len(panel[1]), 1) * _LINE + _HEAD


def _panels(figure: "Figure", columns: list[list[_Panel]], height: float) -> Iterator[tuple[_Panel, "Axes"]]:
    """Each panel with its place."""
    whole = height + _MARGIN
    for at, column in enumerate(columns):
        top = height
        for panel in [*column, *([_EDGES] if at == len(columns) - 1 else [])]:
            top -= _height(panel)
            yield panel, figure.add_axes(((at + 0.32) / _COLUMNS, (top + _FOOT) / whole, 0.62 / _COLUMNS, (_height(panel) - _HEAD) / whole))


def _draw_bars(axes: "Axes", axis: str, values: dict[str, int], most: int) -> None:
    """A bar for each value; `most` is the longest of all panels, which have one scale."""
    names, counts, places = list(values), list(values.values()), range(len(values))
    axes.barh(places, counts, color=_BAR, height=0.7)
    axes.set_yticks(places, names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, most * 1.12)
    axes.set_xticks([])
    axes.set_title(axis, fontsize=10, loc="left")
    for place, count, label in zip(places, counts, axes.get_yticklabels(), strict=True):
        axes.text(count, place, f" {count}", va="center", fontsize=8, color=_BAR if count else _GAP)
        label.set_color("black" if count else _GAP)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)


def _explain(figure: "Figure", whole: float) -> None:
    """What the marks mean, under the title."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    bar = Patch(color=_BAR, label="tasks that show it; all panels have one scale")
    gap = Line2D([], [], color=_GAP, marker="o", linestyle="", markersize=5, label="red: a gap, which no task shows")
    figure.legend(handles=[bar, gap], loc="upper center", bbox_to_anchor=(0.5, 1 - 0.42 / whole), ncols=2, frameon=False, fontsize=9)


def _draw_edges(axes: "Axes", found: Coverage) -> None:
    """Rows are what is built on, columns what builds on it; a red point is a gap, an empty cell no pair that is looked for."""
    names = [*map(str, Capability)]
    grid = [[found.edges.get((before, after), 0) for after in names] for before in names]
    axes.imshow(grid, cmap=_GRID, aspect="auto", vmin=0, vmax=max(max(map(max, grid)), 1) * 1.4)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_xticks(range(len(names)), names, fontsize=8, rotation=90)
    axes.set_ylabel("builds on", fontsize=8)
    axes.set_title("capability edge: column builds on row", fontsize=10, loc="left")
    for (before, after), count in found.edges.items():
        place = names.index(after), names.index(before)
        axes.text(*place, str(count or "•"), ha="center", va="center", fontsize=8, color="black" if count else _GAP)
