"""The data card: what a data set is, for people and for the hub. Its tables follow tables 3 and 7 of Occamy-1.0."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cowork_gym.trainers.data.sft.output import LINES

__all__ = ["data_card"]

_HEAD = """---
configs:
- config_name: default
  data_files:
  - split: train
    path: data/train.parquet
task_categories:
- text-generation
tags:
- agents
- tool-use
- sft
---
"""
_FORMAT = """## Format

`dialogues.jsonl` and `data/train.parquet` have the same rows. `messages` are in OpenAI's form, each with `trained`: whether its text is to be
learned. An answer that is not says `why`. All other messages condition. `tools` (OpenAI tool schemas) and `scores` are JSON texts. `source` names the
sealed record by its seal, and the run and segment of it; `manifest.json` lists all records."""


def data_card(manifest: Mapping[str, Any]) -> str:
    """The card of a data set.

    Args:
        manifest: What `manifest.describe` gives.
    """
    numbers, settings = manifest["statistics"], manifest["settings"]
    made = f"Demonstrations for supervised fine-tuning, made by `cowork data build` (recipe `{settings['recipe']}`) from sealed episodes."
    what = f"{numbers['samples']} samples of {numbers['episodes']} episodes, {numbers['tasks']} task releases."
    parts = [
        f"# Demonstrations {manifest['content'][LINES][:12]}\n\n{made} {what}",
        "## Composition\n\n" + _composition(numbers), "## Account\n\n" + _account(manifest),
        "## Lengths\n\n" + _lengths(numbers["lengths"]), "## Left out\n\n" + _left_out(manifest["counts"], numbers), _settings(settings), _FORMAT,
    ]
    return _HEAD + "\n" + "\n\n".join(parts) + "\n"


def _composition(numbers: Mapping[str, Any]) -> str:
    """As Occamy's table 3: each source with its samples, their share and their lengths."""
    unit = "tokens" if "tokens" in numbers["lengths"] else "characters"
    rows = [(name, one["samples"], one[unit]) for name, one in numbers["domains"].items()]
    rows.append(("Overall", numbers["samples"], sum(size for _, _, size in rows)))
    whole = max(numbers["samples"], 1)
    told = [(name, f"{count:,}", f"{count / whole:.1%}", f"{size / max(count, 1):,.0f}", f"{size:,}") for name, count, size in rows]
    return _table(("Data source", "Samples", "Share", "Avg. len.", unit.capitalize()), told)


def _account(manifest: Mapping[str, Any]) -> str:
    """As Occamy's table 7: what has to be told of demonstrations."""
    numbers, roles, use = manifest["statistics"], manifest["roles"], manifest["authorisation"]
    lengths = numbers["lengths"]

    def sums(name: str) -> str:
        return f"{lengths[name].get('sum', 0):,}"

    rows = [
        ("Unit", "verified episode and trainable tokens"),
        ("Source releases", ", ".join(use["releases"]) or "none was given: nobody says what the tasks may be used for"),
        ("Authorised use", f"{use['use']}" + ("" if use["declared"] else " (asked for, not declared by a release)")),
        ("Authors of the tasks", ", ".join(roles["authors"]) or "not named"),
        ("Teachers", ", ".join(roles["teachers"]) or "not named"),
        ("Answers by", "; ".join(f"{name} ({one['answers']:,} in {one['samples']:,} samples)" for name, one in roles["answers"].items())),
        ("Domains", ", ".join(numbers["domains"])),
        ("Verification", f"sealed and graded; mean reward {numbers['mean_reward']}"),
        ("Messages", sums("messages")), ("Turns", f"{sums('turns')}, {sums('learned')} of them learned"), ("Tool calls", sums("tool_calls")),
        ("Characters", sums("characters")),
    ]
    if "tokens" in lengths:
        rows.append(("Rendered tokens", f"{sums('tokens')}, {sums('learned_tokens')} of them learned ({manifest['settings']['tokenizer']})"))
    return _table(("SFT demonstration", ""), rows)


def _lengths(lengths: Mapping[str, Mapping[str, float]]) -> str:
    columns = ("mean", "min", "p5", "p25", "p50", "p75", "p95", "p99", "max")
    rows = [(name.replace("_", " "), *(f"{one[each]:,.1f}" if each == "mean" else f"{one[each]:,}" for each in columns)) for name, one in
            lengths.items() if one]
    return _table(("Of a sample", *columns), rows)


def _left_out(counts: Mapping[str, Any], numbers: Mapping[str, Any]) -> str:
    rows = [("records read", f"{counts['records']:,}"), ("unreadable files", f"{counts['unreadable']:,}")]
    for what, title in (("left_out", "records"), ("rejected", "dialogues"), ("sanitised", "sanitised")):
        rows += [(f"{title}: {reason}", f"{count:,}") for reason, count in counts[what].items()]
    rows += [(f"answers not learned: {why or 'unsaid'}", f"{count:,}") for why, count in numbers["not_learned"].items()]
    rows += [(f"not rendered: {why}", f"{count:,}") for why, count in numbers.get("unrendered", {}).items()]
    return _table(("What", "Count"), rows)


def _settings(settings: Mapping[str, Any]) -> str:
    return "## Settings\n\n" + _table(("Setting", "Value"), [(name, _shown(value)) for name, value in settings.items()])


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_shown(one)}" for name, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "none"
    return "none" if value is None else str(value)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = [*head]
    return "\n".join([_row(names), _row(["---"] * len(names)), *map(_row, rows)])


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_escaped(cells)) + " |"


def _escaped(cells: Iterable[str]) -> Iterator[str]:
    return (" ".join(one.replace("|", "\\|").split()) for one in cells)
