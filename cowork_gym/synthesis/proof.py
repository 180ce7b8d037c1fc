"""The proof of a task: what every gate found, as a value, as JSON, and as a page."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from importlib.metadata import version
from typing import Any

from cowork_gym.core.html import table
from cowork_gym.synthesis.gates.gate import Problem, Result
from cowork_gym.synthesis.gates.registry import GATES

__all__ = ["Proof", "proof_html"]

_STYLE = "body{font:15px/1.4 sans-serif;margin:2rem auto;max-width:75rem}table{border-collapse:collapse;margin:1rem 0}" \
         "td,th{border-bottom:1px solid #ccc;padding:.3rem .6rem;text-align:left}.failed{color:#a00}"


@dataclass(frozen=True, slots=True)
class Proof:
    """What the gates found in a task."""

    task: str
    """Its id; the place of a package that cannot be loaded."""
    release_id: str
    """Empty for a package that cannot be loaded."""
    grader_version: str
    results: tuple[Result, ...]
    """One for each gate and seed, in the order in which they were asked."""

    @property
    def passed(self) -> bool:
        """Whether no gate found a problem."""
        return all(one.passed for one in self.results)

    @property
    def loaded(self) -> bool:
        """Whether the package could be loaded at all."""
        return bool(self.release_id)

    @property
    def failed(self) -> tuple[str, ...]:
        """The gates that found problems, each once, in order."""
        return tuple(dict.fromkeys(one.gate for one in self.results if not one.passed))

    @property
    def seeds(self) -> tuple[int, ...]:
        """The forms that were examined."""
        return tuple(sorted({one.seed for one in self.results}))

    @property
    def seconds(self) -> Mapping[str, float]:
        """The wall time of each gate, over all seeds."""
        total: dict[str, float] = {}
        for one in self.results:
            total[one.gate] = total.get(one.gate, 0.0) + one.seconds
        return total

    @property
    def problems(self) -> tuple[tuple[Result, Problem], ...]:
        """Every problem with the result that has it."""
        return tuple((one, problem) for one in self.results for problem in one.problems)

    def to_dict(self) -> dict[str, Any]:
        """The proof as plain JSON values."""
        return {
            "task": self.task, "release_id": self.release_id, "grader_version": self.grader_version, "passed": self.passed,
            "failed": [*self.failed], "seeds": [*self.seeds], "seconds": {gate: round(seconds, 4) for gate, seconds in self.seconds.items()},
            "results": [{**asdict(one), "seconds": round(one.seconds, 4), "passed": one.passed} for one in self.results],
        }

    def _repr_html_(self) -> str:
        verdict = "admitted" if self.passed else f"not admitted: {', '.join(self.failed)}"
        rows = [_row([one for one in self.results if one.gate == gate], seconds) for gate, seconds in self.seconds.items()]
        shown = table(("", "gate", "what it proves", "forms", "evidence", "seconds"), rows, f"{self.release_id or self.task}: {verdict}")
        if not self.passed:
            seeds = dict[tuple[str, Problem], list[int]]()
            for result, problem in self.problems:
                seeds.setdefault((result.gate, problem), []).append(result.seed)
            found = [(gate, _told(of), one.where, one.found, one.advice) for (gate, one), of in seeds.items()]
            shown += table(("gate", "seeds", "where", "found", "what to change"), found, "Problems")
        return shown


def _row(results: Sequence[Result], seconds: float) -> tuple[str, ...]:
    """What one gate found in all forms: each evidence once, with the seeds of its forms where there are several."""
    asks = {one.name: one.asks for one in GATES}
    seeds = dict[tuple[str, ...], list[int]]()
    for one in results:
        seeds.setdefault(one.evidence, []).append(one.seed)
    told = list[str]()
    for evidence, of in seeds.items():
        forms = [f"seed{'s' * (len(of) > 1)} {_told(of)}:"] if len(seeds) > 1 else []
        told.append("\n".join([*forms, *evidence]))
    passed, gate = sum(one.passed for one in results), results[0].gate
    sign = "✓" if passed == len(results) else "✗"
    return sign, gate, asks.get(gate, ""), f"{passed} of {len(results)}", "\n".join(told), f"{seconds:.3f}"


def _told(seeds: Sequence[int]) -> str:
    """Seeds, runs of them shortened: `0, 3-7`."""
    runs = list[list[int]]()
    for seed in seeds:
        if runs and runs[-1][-1] == seed - 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def proof_html(*proofs: Proof) -> str:
    """A page of its own with some proofs: a summary where there are several, then each one."""
    passed = sum(one.passed for one in proofs)
    title = f"{passed} of {len(proofs)} tasks admitted"
    if len(proofs) == 1:
        title = f"{proofs[0].task}: {'admitted' if passed else 'not admitted'}"
    made = ", ".join(dict.fromkeys([f"cowork-gym {version('cowork-gym')}", *(f"grader {one.grader_version}" for one in proofs)]))
    rows = [("✓" if one.passed else "✗", one.task, ", ".join(one.failed), len(one.seeds), f"{sum(one.seconds.values()):.2f}") for one in proofs]
    summary = table(("", "task", "failed gates", "forms", "seconds"), rows) if len(proofs) > 1 else ""
    body = "".join(f"<section>{one._repr_html_()}</section>" for one in proofs)
    head = f"<meta charset='utf-8'><title>{escape(title)}</title><style>{_STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body><h1>{escape(title)}</h1><p>{escape(made)}</p>{summary}{body}</body></html>\n"
