"""The verbs `data ...`: sealed episodes become training data, and training data can be looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cowork_gym.cli.apart import apart
from cowork_gym.cli.complaint import complain
from cowork_gym.cli.document import print_document
from cowork_gym.core.errors import UserError, nearest
from cowork_gym.core.wording import counted

if TYPE_CHECKING:
    from cowork_gym.trainers.data.sft.build import Report
    from cowork_gym.trainers.data.sft.choice import Authorisation
    from cowork_gym.trainers.data.sft.recipes import Recipe

__all__ = ["add_to", "build"]

_SHOWN = 5
"""Unreadable files that are named one by one."""
_EPILOG = "\n".join([
    "\b",
    "Example: cowork data build runs/first --out data/first",
    "Example: cowork data build runs/a runs/b --out data/ab --recipe coworkenv --release releases/core-1 --tokenizer models/qwen3",
])

app = typer.Typer(help="Make training data of episodes, and look at them.", rich_markup_mode=None)


def add_to(parent: typer.Typer) -> None:
    """Add the verbs to the command."""
    from cowork_gym.cli.data_inspect import inspect

    app.command("build", epilog=_EPILOG)(build)
    app.command("inspect")(inspect)
    parent.add_typer(app, name="data")


def build(
    runs: Annotated[list[Path], typer.Argument(metavar="RUNS", help="Directories of rollouts, folders or files of sealed episodes.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The data set's folder; it must not be there yet.")],
    recipe: Annotated[str, typer.Option("--recipe", metavar="NAME", help="plain, coworkenv, navalia or occamy; what follows changes it.")] = "plain",
    keep: Annotated[str | None, typer.Option("--keep", metavar="LOW,HIGH", help="Label tasks by mean completion, such as 0.2,0.95, or none.")] = None,
    min_reward: Annotated[str | None, typer.Option("--min-reward", metavar="X", help="The least reward, such as 0.75 or 0.5,safety=0.8.")] = None,
    best: Annotated[bool | None, typer.Option("--best/--all", help="Only the highest-scoring trial of each task, or all of them.")] = None,
    unit: Annotated[Literal["run", "segment"] | None, typer.Option("--unit", help="What a dialogue is, where history was rewritten.")] = None,
    children: Annotated[bool | None, typer.Option("--children/--no-children", help="Child runs as dialogues of their own.")] = None,
    sanitise: Annotated[bool | None, typer.Option("--sanitise/--no-sanitise", help="Discard and truncate what the record shows to be bad.")] = None,
    limits: Annotated[bool | None, typer.Option("--limits/--no-limits", help="CoworkEnv's structural limits.")] = None,
    distinct: Annotated[bool | None, typer.Option("--distinct/--repeats", help="Of equal conversations, keep the first or all.")] = None,
    audited: Annotated[bool, typer.Option("--audited", help="Take segments whose tokens are for audit only, too.")] = False,
    tools: Annotated[Literal["task", "none"] | None, typer.Option("--tools", help="Where tool schemas come from.")] = None,
    task: Annotated[list[Path] | None, typer.Option("--task", metavar="FOLDER", help="A package that was played and is not registered.")] = None,
    pool: Annotated[str | None, typer.Option("--pool", metavar="BY", help="Sample evenly by capability, category or task; none for all.")] = None,
    per_pool: Annotated[int | None, typer.Option("--per-pool", min=1, help="Episodes of each pool; by default as many as the smallest has.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Decides which ones of a pool are drawn.")] = 0,
    replacement: Annotated[list[Path] | None, typer.Option("--replace", metavar="RUN", help="A collection that replaces its tasks' records.")] = None,
    release: Annotated[list[Path] | None, typer.Option("--release", metavar="FOLDER", help="A release that says what its tasks are for.")] = None,
    use: Annotated[str, typer.Option("--for", metavar="USE", help="training, evaluation or diagnosis.")] = "training",
    author: Annotated[list[str] | None, typer.Option("--author", metavar="WHO", help="Who wrote the tasks.")] = None,
    teacher: Annotated[list[str] | None, typer.Option("--teacher", metavar="WHO", help="Who made the demonstrations.")] = None,
    tokenizer: Annotated[Path | None, typer.Option("--tokenizer", metavar="FOLDER", help="Count tokens by it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make a data set for supervised fine-tuning of sealed episodes. Quarantined ones never become data; what is left out is counted by reason."""
    shape = {"unit": unit, "children": children, "audited": audited or None, "tools": tools}
    what = {"keep": keep, "min_reward": min_reward, "best": best, "sanitise": sanitise, "limits": limits, "distinct": distinct}
    chosen = _changed(_recipe(recipe), shape=shape, pool=pool, per_pool=per_pool, **what)
    if min_reward is not None:
        _check_categories(chosen, task or ())
    with apart(as_json):
        report = _build(
            replace(chosen, use=_use(use)), runs, out, replacement or (), task or (), release or (), (author or (), teacher or ()), seed, tokenizer,
        )
    _tell(report, out, as_json)


def _build(
    recipe: "Recipe", runs: Sequence[Path], out: Path, replacements: Sequence[Path], tasks: Sequence[Path], releases: Sequence[Path],
    roles: tuple[Sequence[str], Sequence[str]], seed: int, tokenizer: Path | None,
) -> "Report":
    from cowork_gym.trainers.data.sft.build import Order, build
    from cowork_gym.trainers.data.sft.manifest import Authorship

    authors, teachers = map(tuple, roles)
    order = Order(
        tuple(runs), out, recipe, tuple(replacements), tuple(tasks), _authorisation(releases), Authorship(authors, teachers), seed,
    )
    if tokenizer is not None:
        from cowork_gym.trainers.data.sft.token_count import token_counter

        counter = token_counter(tokenizer)
        order = replace(order, count=counter.count, tokenizer=f"{tokenizer.resolve().name} {counter.fingerprint[:16]}")
    return build(order)


def _recipe(name: str) -> "Recipe":
    from cowork_gym.trainers.data.sft.recipes import RECIPES

    if name not in RECIPES:
        raise UserError(f"unknown recipe {name[:80]!r}, {nearest(name[:80], RECIPES)}")
    return RECIPES[name]


def _changed(
    recipe: "Recipe", *, shape: Mapping[str, Any], pool: str | None, per_pool: int | None, keep: Any, min_reward: Any, best: Any, sanitise: Any,
    limits: Any, distinct: Any,
) -> "Recipe":
    """A recipe with what the command line says otherwise."""
    from cowork_gym.trainers.data.sft.converter import Limits
    from cowork_gym.trainers.data.sft.findings import examine_record
    from cowork_gym.trainers.data.sft.recipes import PoolPlan

    changes: dict[str, Any] = {"shape": replace(recipe.shape, **{name: value for name, value in shape.items() if value is not None})}
    if keep is not None:
        changes["thresholds"] = None if keep == "none" else _thresholds(keep)
    if min_reward is not None:
        changes["rewards"] = _rewards(min_reward)
    if best is not None:
        changes["best"] = "all" if best else "none"
    if sanitise is not None:
        changes["examine"] = examine_record if sanitise else None
    if limits is not None:
        changes["limits"] = Limits() if limits else None
    if distinct is not None:
        changes["distinct"] = distinct
    if pool is not None or per_pool is not None:
        by: Any = pool or (recipe.pools.by if recipe.pools else "capability")
        changes["pools"] = None if by == "none" else PoolPlan(by, per_pool if per_pool is not None or not recipe.pools else recipe.pools.each)
    return replace(recipe, **changes)


def _thresholds(text: str) -> Any:
    from cowork_gym.trainers.data.sft.selection import Thresholds

    parts = text.split(",")
    if len(parts) != 2:
        raise UserError(f"--keep takes two numbers, such as 0.2,0.95, or none, not {text[:80]!r}")
    return Thresholds(*(_number(one, "--keep") for one in parts))


def _rewards(text: str) -> Any:
    from cowork_gym.trainers.data.sft.selection import Rewards

    default, named = 0.0, list[tuple[str, float]]()
    for one in text.split(","):
        name, equals, value = one.rpartition("=")
        if equals:
            named.append((name.strip(), _number(value, "--min-reward")))
        else:
            default = _number(one, "--min-reward")
    return Rewards(default, tuple(named))


def _check_categories(recipe: "Recipe", folders: Sequence[Path]) -> None:
    """See that each category with a least reward of its own is that of a task: a misspelt one would be passed over."""
    from cowork_gym.envs.registration import REGISTRY, load_task
    from cowork_gym.trainers.data.sft.selection import REWARDS

    if not recipe.rewards.by_category:
        return
    known = {load_task(one).category for one in (*REGISTRY.tasks().values(), *folders)} | REWARDS.keys()
    for name, _ in recipe.rewards.by_category:
        if name not in known:
            raise UserError(f"--min-reward: no task is of the category {name!r}, {nearest(name, known)}")


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{option}: {text[:80]!r} is no number") from None


def _use(word: str) -> str:
    from cowork_gym.synthesis.release import Use

    if word not in [*Use]:
        raise UserError(f"--for: unknown use {word[:80]!r}, {nearest(word[:80], map(str, Use))}")
    return word


def _authorisation(folders: Sequence[Path]) -> "Authorisation":
    """What the given releases say of their tasks; a use counts where all releases of a task authorise it."""
    from cowork_gym.synthesis.release import load_release
    from cowork_gym.trainers.data.sft.choice import Authorisation

    releases = [load_release(one, public=not (one / "private").exists()) for one in folders]
    uses: dict[str, frozenset[str]] = {}
    for task in (task for one in releases for task in one.tasks):
        uses[task.release_id] = uses.get(task.release_id, frozenset(map(str, task.uses))) & frozenset(map(str, task.uses))
    roles = [one.provenance for one in releases]
    return Authorisation(
        uses, tuple(one.citation for one in releases), tuple(dict.fromkeys(name for one in roles for name in one.authors)),
        tuple(dict.fromkeys(name for one in roles for name in one.teachers)),
    )


def _tell(report: "Report", out: Path, as_json: bool) -> None:
    counts = report.counts
    if as_json:
        print_document({"out": str(out), **counts, "content": report.manifest["content"], "statistics": report.manifest["statistics"]})
        return
    for one in report.unreadable[:_SHOWN]:
        complain(f"not read: {one}")
    if len(report.unreadable) > _SHOWN:
        complain(f"not read: {len(report.unreadable) - _SHOWN} more")
    numbers = report.manifest["statistics"]
    print(f"{out}: {counted(counts['rows'], 'dialogue')} of {counted(numbers['episodes'], 'episode')}, from {counted(counts['records'], 'record')}")
    for title, group in (("left out", "left_out"), ("rejected", "rejected"), ("sanitised", "sanitised"), ("labels", "labels")):
        if counts[group]:
            print(f"{title}: {', '.join(f'{name} {count}' for name, count in counts[group].items())}")
    for name, pool in counts["pools"].items():
        print(f"pool {name or 'without a name'}: {pool['drawn']} of {pool['episodes']}")
    if numbers["not_learned"]:
        print(f"answers not learned: {', '.join(f'{name} {count}' for name, count in numbers['not_learned'].items())}")
    if "tokens" in numbers["lengths"]:
        tokens, learned = (numbers["lengths"][name].get("sum", 0) for name in ("tokens", "learned_tokens"))
        print(f"{tokens} tokens, {learned} of them learned")
        for name, count in numbers["unrendered"].items():
            print(f"not rendered: {name} {count}")
