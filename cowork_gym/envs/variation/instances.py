"""The forms of a task: one for each seed, the same in every process. Seed 0 is the form that its author wrote."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any

from cowork_gym.core.errors import PackageError
from cowork_gym.core.ids import generator
from cowork_gym.core.task import Task
from cowork_gym.envs.variation.amounts import amount_pairs, draw_amounts
from cowork_gym.envs.variation.fakes import CHINESE, ENGLISH
from cowork_gym.envs.variation.identifiers import Pool, draw_ids, forms_by_prefix, id_pairs, record_ids
from cowork_gym.envs.variation.makers import Source
from cowork_gym.envs.variation.making import made_form
from cowork_gym.envs.variation.noise import make_records
from cowork_gym.envs.variation.parts import changed_parts
from cowork_gym.envs.variation.plan import FILE, Plan, plan_of
from cowork_gym.envs.variation.rewriter import Rewriter

__all__ = ["instance"]

def instance(task: Task, seed: int) -> Task:
    """The form that a task has for a seed.

    Args:
        task: The task, or any form of it.
        seed: The seed. For 0, and for a task that does not vary, it is the task as its author wrote it.

    Raises:
        PackageError: The task's variation is not of the form, its amounts leave no values to draw, or its maker gives no form.
    """
    own = task.base or task
    return own if seed == 0 or not own.variation else _made(own, int(seed))


@lru_cache(maxsize=256)
def _made(task: Task, seed: int) -> Task:
    plan = plan_of(task)
    if plan.variation.maker is not None:
        return replace(made_form(task, plan.variation.maker, seed, FILE), base=task, variant=seed)
    pool = Pool(generator(seed, task.id, "ids"), plan.tokens)
    rewriter = _rewriter(plan, seed, pool)
    request = generator(seed, task.id, "wordings").choice([task.request, *plan.variation.wordings])
    form = changed_parts(replace(task, request=request), lambda place: rewriter.scalar)
    return replace(
        form, base=task, variant=seed, mock_today=rewriter.day(task.mock_today),
        stages=tuple(replace(one, day=rewriter.day(one.day)) for one in form.stages), world=_world(plan, form, seed, rewriter, pool),
    )


def _rewriter(plan: Plan, seed: int, pool: Pool) -> Rewriter:
    """What takes the place of everything that varies."""
    task, variation, corpus = plan.task, plan.variation, plan.corpus
    ids = draw_ids(plan.ids, sum(one.max for one in variation.noise), pool)
    names = plan.naming.draw(seed, task.id, corpus.holds)
    amounts = draw_amounts(variation.amounts, generator(seed, task.id, "amounts"), corpus.numbers)
    if amounts is None:
        raise PackageError(FILE, "amounts", f"no values for seed {seed} that the package does not have: give low and high more room")
    written = (amount_pairs(one, amounts[name]) for name, one in variation.amounts.items())
    texts: dict[str, str] = {}
    for old, new in chain(*(id_pairs(*one) for one in ids.items()), plan.naming.pairs(names), *written):
        texts.setdefault(old, new)
    numbers = {one.value: amounts[name] for name, one in variation.amounts.items()}
    weeks = generator(seed, task.id, "dates").choice(plan.weeks)
    inner = Rewriter(plan.inner, texts, numbers, weeks)
    chosen = [generator(seed, task.id, "choose", at).choice(one) for at, one in enumerate(variation.choose)]
    return Rewriter(plan.finder, {**texts, **{old: inner.text(new) for one in chosen for old, new in one.items()}}, numbers, weeks)


def _world(plan: Plan, form: Task, seed: int, rewriter: Rewriter, pool: Pool) -> Mapping[str, Mapping[str, list[Any]]]:
    """The records of a form, with noise among them and in an order of their own."""
    task, variation = plan.task, plan.variation
    world = {service: {name: list(records) for name, records in collections.items()} for service, collections in form.world.items()}
    forms = forms_by_prefix((one for noise in variation.noise for one in noise.prefixes()), record_ids(form)) if variation.noise else {}
    locale = CHINESE if task.language.startswith("zh") else ENGLISH
    for at, noise in enumerate(variation.noise):
        source = Source(generator(seed, task.id, "noise", at), locale, rewriter, pool, forms)
        service, _, name = noise.table.partition(".")
        world.setdefault(service, {}).setdefault(name, []).extend(make_records(noise, source))
    if variation.order:
        for service, collections in world.items():
            for name, records in collections.items():
                generator(seed, task.id, "order", service, name).shuffle(records)
    return world
