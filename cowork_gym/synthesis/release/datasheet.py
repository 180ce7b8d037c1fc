"""The datasheet of a release: its `README.md`, for people who did not make it."""

from collections.abc import Iterator, Sequence

from cowork_gym.synthesis.release.form import Release

__all__ = ["datasheet"]


def datasheet(release: Release) -> str:
    """The text, in Markdown."""
    parts = (_summary, _tasks, _gates, _handlers, _overlaps)
    return "\n".join([f"# {release.name}", "", *(line for part in parts for line in part(release)), *_files()])


def _summary(release: Release) -> Iterator[str]:
    counts = release.counts
    yield f"{counts['tasks']} tasks over {counts['services']} services, each with references and negatives, admitted by every gate."
    yield ""
    teachers = ", ".join(release.provenance.teachers) or "nobody: there are no demonstrations but the authors' references"
    division = "not divided" if release.fraction is None else f"{counts['train']} to train on, {counts['validation']} held out for validation"
    facts = {
        "authorised for": ", ".join(release.uses), "authors": ", ".join(release.provenance.authors), "teachers": teachers, "split": division,
        "forms examined": f"seeds {', '.join(map(str, release.seeds))}",
        "made with": ", ".join(f"{name} {version}" for name, version in release.made_with.items()),
    }
    yield from _table(["", ""], [[name, value] for name, value in facts.items()])
    yield from _table(["count", ""], [[name, str(number)] for name, number in counts.items()])


def _tasks(release: Release) -> Iterator[str]:
    yield from ["## Tasks", "", "A task is authorised for what its row says, and for nothing else.", ""]
    yield from _table(
        ["task", "title", "category", "difficulty", "language", "services", "split", "authorised for"],
        [[f"`{one.id}`", one.title, one.category, one.difficulty, one.language, ", ".join(one.services), one.split, ", ".join(one.uses)]
         for one in release.tasks],
    )


def _gates(release: Release) -> Iterator[str]:
    yield from ["## Admission", "", "Every gate was asked about every task; what each found is in `private/proofs/`.", ""]
    rows = [[one.gate, str(one.asked), str(one.passed), f"{one.seconds:.2f}"] for one in release.gates]
    yield from _table(["gate", "asked", "passed", "seconds"], rows)


def _handlers(release: Release) -> Iterator[str]:
    yield from ["## Tool handlers", "", "Requested: how many tasks permit the tool. Realised: how many calls of references it answered.", ""]
    handlers = {one.tool: one for task in release.tasks for one in task.requested}
    rows = []
    for tool in sorted(handlers):
        permitting = sum(any(one.tool == tool for one in task.requested) for task in release.tasks)
        answered = sum(task.realised.get(tool, 0) for task in release.tasks)
        rows.append([f"`{tool}`", str(permitting), str(answered), f"`{handlers[tool].code}`", f"`{handlers[tool].build[:16]}`"])
    yield from _table(["tool", "requested", "realised", "code", "build"], rows)


def _overlaps(release: Release) -> Iterator[str]:
    yield from ["## Other releases", ""]
    if not release.compared:
        yield from ["It was compared with no other release.", ""]
        return
    yield f"It was compared with {', '.join(release.compared)}: request, world, tools, grader and structure of each task. In common they have:"
    yield ""
    rows = [[f"`{one.task}`", f"`{one.other}`", one.release, one.part, f"{one.likeness:g}"] for one in release.overlaps]
    yield from _table(["task", "other task", "of", "part", "likeness"], rows or [["nothing", "", "", "", ""]])


def _files() -> Sequence[str]:
    return [
        "## Files", "",
        "`public/` has each task's card and world; it may be published as it is. `private/` has what decides the grade, and the proofs: it stays",
        "with those who train and evaluate. `release.json` is this page for machines; it names the tools that references call.", "",
        "`MANIFEST` has the sha256 of every file, `COMPLETE` that of the manifest. `cowork release --verify FOLDER` compares them all, with",
        "`--public` those of a copy without `private/`; so does `sha256sum -c MANIFEST`. Cite the release by its name and `COMPLETE`.", "",
    ]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for cells in (heads, ["---"] * len(heads), *rows):
        yield "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"
    yield ""
