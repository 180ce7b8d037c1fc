"""The proof of a task: what every gate found, as a value, as JSON, and as a page."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from cowork_gym.core.html import table
from cowork_gym.synthesis.gates.gate import Problem, Result

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
        rows = [("✓" if one.passed else "✗", one.gate, one.seed, "\n".join(one.evidence), f"{one.seconds:.3f}") for one in self.results]
        shown = table(("", "gate", "seed", "evidence", "seconds"), rows, f"{self.release_id or self.task}: {verdict}")
        if not self.passed:
            found = [(result.gate, result.seed, problem.where, problem.found, problem.advice) for result, problem in self.problems]
            shown += table(("gate", "seed", "where", "found", "what to change"), found, "Problems")
        return shown


def proof_html(*proofs: Proof) -> str:
    """A page of its own with some proofs: a summary where there are several, then each one."""
    title = f"{sum(one.passed for one in proofs)} of {len(proofs)} tasks admitted"
    rows = [("✓" if one.passed else "✗", one.task, ", ".join(one.failed), len(one.seeds), f"{sum(one.seconds.values()):.2f}") for one in proofs]
    summary = table(("", "task", "failed gates", "forms", "seconds"), rows) if len(proofs) > 1 else ""
    body = "".join(f"<section>{one._repr_html_()}</section>" for one in proofs)
    head = f"<meta charset='utf-8'><title>{escape(title)}</title><style>{_STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body><h1>{escape(title)}</h1>{summary}{body}</body></html>\n"
