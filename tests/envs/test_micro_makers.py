"""A function that writes forms: what it may change, how its mistakes are told, and what its first users brought to light."""

import time
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from cowork_gym.core.errors import PackageError
from cowork_gym.core.messages import call
from cowork_gym.core.task import PlannedFault, Task
from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import REGISTRY, load_task
from cowork_gym.envs.variation import check_variation, instance

READ = "helpdesk_get_ticket"


def other_words(task: Task, generator: Random) -> Task:
    return replace(task, request=f"Read it {generator.randint(2, 9)} times.")


def other_tools(task: Task, generator: Random) -> Task:
    return replace(task, tools=task.tools[:1])


def no_task(task: Task, generator: Random) -> Any:
    return task.request


def raises(task: Task, generator: Random) -> Task:
    raise ValueError("no such luck")


def _made_by(name: str) -> Task:
    return replace(load_task("Micro-Update"), variation={"schema_version": 1, "maker": f"{__name__}:{name}"})


def test_a_form_is_what_the_function_says_and_knows_its_seed() -> None:
    task = _made_by("other_words")
    forms = {instance(task, seed).request for seed in range(1, 30)}
    assert 4 < len(forms) <= 8 and task.request not in forms
    assert (instance(task, 4).variant, instance(task, 4).base, instance(task, 0)) == (4, task, task)
    assert instance(task, 4).release_id == task.release_id


@pytest.mark.parametrize(("name", "told"), [
    ("other_tools", "changes tools"), ("no_task", "returned a str"), ("raises", "no such luck"), ("missing", "missing"),
])
def test_what_a_function_does_wrong_is_told_when_the_package_is_read(name: str, told: str) -> None:
    with pytest.raises(PackageError, match=told) as caught:
        check_variation(_made_by(name))
    assert "private/variation.yaml" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(("also", "told"), [({"order": True}, "order"), ({"maker": "no colon"}, "maker")])
def test_a_maker_stands_alone_and_has_a_form(also: dict[str, Any], told: str) -> None:
    task = replace(_made_by("other_words"), variation={"schema_version": 1, "maker": "a:b", **also})
    with pytest.raises(PackageError, match=told):
        check_variation(task)


def test_forms_are_made_within_two_milliseconds() -> None:
    task, spent = load_task("Micro-Join"), []
    for batch in range(5):
        begun = time.process_time()
        for seed in range(100 * batch + 1, 100 * batch + 21):
            instance(task, seed)
        spent.append((time.process_time() - begun) / 20)
    assert min(spent) < 0.002


def test_worlds_of_the_same_services_share_their_tables() -> None:
    services, start = [REGISTRY.services()["helpdesk"]], load_task("Micro-Update").mock_today
    first, second = (Blueprint.build(services, {"helpdesk": {"tickets": rows}}, start=start) for rows in ([], [_row("T10")]))
    assert first.tables is second.tables and first.origin != second.origin
    assert [*first.start_rows["helpdesk.tickets"]] == [] and [*second.start_rows["helpdesk.tickets"]] == ["T10"]


def test_a_fault_that_is_met_before_anything_is_read_survives_a_snapshot() -> None:
    task = replace(load_task("Micro-Update"), faults=(PlannedFault(READ, 1, "transient"),), variation={})
    key = task.world["helpdesk"]["tickets"][0]["ticket_id"]
    env = CoworkEnv(task)
    env.reset(seed=0)
    env.step(call(READ, ticket_id=key))
    here, (fork,) = env.snapshot(), env.fork()
    env.restore(here)
    for one in (env, fork):
        one.step(call(READ, ticket_id=key))
        assert [(entry.status, entry.dispatch) for entry in one.world.ledger.entries] == [(503, "call_1"), (200, "call_2")]
        one.close()


def _row(key: str) -> dict[str, Any]:
    return {"ticket_id": key, "title": "login", "description": ""}
