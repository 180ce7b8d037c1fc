"""Samples as one page that needs nothing else: tokens coloured by whether they are learned and by weight, ids where the pointer rests."""

from collections.abc import Iterable, Sequence
from html import escape

from cowork_gym.trainers.data.views.shown import Piece, Shown, Stretch, visible

__all__ = ["page"]

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --faint: #6e7781; --rule: #d0d7de; --odd: rgba(110,119,129,.12); --on: 34,160,80 }
@media (prefers-color-scheme: dark) {
  :root { --paper: #0d1117; --ink: #e6edf3; --faint: #8b949e; --rule: #30363d; --odd: rgba(139,148,158,.18); --on: 63,185,100 }
}
body { background: var(--paper); color: var(--ink); font: 14px/1.55 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem }
h1 { font-size: 1.1rem; margin: 2rem 0 .25rem } p { margin: .25rem 0 } .note { color: #cf222e; font-weight: 600 }
.row { border-top: 1px solid var(--rule); display: grid; gap: 1rem; grid-template-columns: 8rem 1fr; padding: .35rem 0 }
.who { color: var(--faint); font-size: .85em } .said { font: 13px/1.6 ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap }
.between .said { color: var(--faint) } i { font-style: normal; border-radius: 2px } i:nth-child(odd) { background: var(--odd) }
i.on { background: rgba(var(--on), var(--share)); box-shadow: inset 0 -2px rgb(var(--on)) }
i.on:nth-child(odd) { box-shadow: inset 0 -2px var(--ink) }
i:hover { outline: 1px solid var(--ink) }
""".strip()
_SAFE = "default-src 'none'; style-src 'unsafe-inline'"


def page(samples: Sequence[Shown]) -> str:
    """The page.

    Args:
        samples: What is on it, in order.

    Returns:
        HTML, for a file in UTF-8. It loads nothing and runs nothing.
    """
    title = samples[0].title if samples else "no sample"
    body = "".join(_sample(one) for one in samples)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{_SAFE}">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>\n'
        f"<style>\n{_STYLE}\n</style></head><body>\n{body}</body></html>\n"
    )


def _sample(shown: Shown) -> str:
    most = max((one.weight for stretch in shown.stretches for one in stretch.pieces), default=0.0)
    note = f'<p class="note">{escape(shown.note)}</p>\n' if shown.note else ""
    rows = "".join(_row(one, most) for one in shown.stretches)
    return f"<h1>{escape(shown.title)}</h1>\n<p>{escape(shown.facts)}</p>\n{note}{_legend(shown, most)}\n{rows}"


def _legend(shown: Shown, most: float) -> str:
    weights = sorted({one.weight for stretch in shown.stretches for one in stretch.pieces if one.learned})
    learned = " ".join(f'<i class="on" style="--share:{_share(one, most)}">learned, weight {one:g}</i>' for one in weights)
    what = "token" if shown.text else "id"
    others = '<i>context</i> <span class="who">template</span>'
    return f'<p class="legend said">{learned} {others} &mdash; one shade a {what}; rest on it for id and weight</p>'


def _row(stretch: Stretch, most: float) -> str:
    kind = "row" if stretch.message >= 0 else "row between"
    count = f"{len(stretch.pieces):,} tokens" + (f", {stretch.learned:,} learned" if stretch.learned else "")
    which = f" {stretch.message}" if stretch.message >= 0 else ""
    who = f"<b>{escape(stretch.role)}{which}</b><br>{count}"
    return f'<div class="{kind}"><div class="who">{who}</div><div class="said">{"".join(_tokens(stretch.pieces, most))}</div></div>\n'


def _tokens(pieces: Sequence[Piece], most: float) -> Iterable[str]:
    for one in pieces:
        style = f' class="on" style="--share:{_share(one.weight, most)}"' if one.learned else ""
        told = f"id {one.id}, weight {one.weight:g}" if one.learned else f"id {one.id}"
        yield f'<i{style} title="{told}">{escape(visible(one.text)) or "·"}</i>'


def _share(weight: float, most: float) -> str:
    """How strong the colour of a weight is: fainter for less, never so faint that it is none."""
    return f"{0.15 + 0.35 * weight / most:.2f}" if most else "0.50"
