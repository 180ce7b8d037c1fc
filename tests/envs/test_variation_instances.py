"""Forms of tasks: won by their own references alone, complete, and the same in every process."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from variation_samples import FULL, certificates, desk, grade_of, rotation

from cowork_gym.core.canonical import digest
from cowork_gym.core.task import Task
from cowork_gym.envs.variation import check_variation, instance
from cowork_gym.envs.variation.corpus import corpus_of
from cowork_gym.envs.variation.identifiers import record_ids

SEEDS = st.integers(1, 2**31)
MAKERS = {"rotation": rotation, "certificates": certificates, "desk": lambda: desk(**FULL)}


@cache
def _task(name: str) -> Task:
    task = MAKERS[name]()
    check_variation(task)
    return task


def _texts(task: Task) -> list[str]:
    return [text for _, text in corpus_of(task).texts]


def _whole(task: Task) -> str:
    parts = [task.title, task.request, task.notes, task.mock_today, task.given, task.world, {n: c.hex() for n, c in task.files.items()}, task.stages,
             task.grading, task.dialogue, task.references, task.negatives]
    return digest([repr(part) for part in parts])


@pytest.mark.parametrize("name", ["rotation", "certificates"])
@given(seed=SEEDS)
@settings(max_examples=8)
def test_the_grading_of_a_form_is_that_of_its_own_reference(name: str, seed: int) -> None:
    task = _task(name)
    form = instance(task, seed)
    assert [grade_of(task, one, seed).reward for one in form.references] == [1.0] * len(form.references)
    assert not grade_of(task, task.references[0], seed).passed


@pytest.mark.parametrize("name", ["rotation", "certificates"])
def test_negatives_stay_under_their_bounds(name: str) -> None:
    task = _task(name)
    for seed in (1, 2):
        assert [one.name for one in instance(task, seed).negatives if grade_of(task, one, seed).reward > (one.max_reward or 0)] == []


@pytest.mark.parametrize("name", MAKERS)
def test_seed_0_is_the_task_and_forms_lead_back_to_it(name: str) -> None:
    task = _task(name)
    form = instance(task, 3)
    assert instance(task, 0) is task
    assert instance(form, 0) is task
    assert instance(form, 3) is form
    assert instance(form, 4) is instance(task, 4)
    assert (form.base, form.variant, form.release_id) == (task, 3, task.release_id)


def test_a_task_without_variation_has_one_form() -> None:
    plain = replace(certificates(), variation={})
    assert instance(plain, 7) is plain


@pytest.mark.parametrize("name", MAKERS)
@given(seed=SEEDS)
@settings(max_examples=10)
def test_no_old_id_is_left_and_all_new_ones_differ(name: str, seed: int) -> None:
    task = _task(name)
    form, old = instance(task, seed), record_ids(task)
    seen = re.compile("|".join(rf"(?<![A-Za-z0-9]){re.escape(id)}(?![A-Za-z0-9])" for id in old), re.IGNORECASE)
    blanks = re.compile(r"\$\{[^}]*\}")
    fixed = {"m-01"} if name == "desk" else set()  # what a check and a fact are told by
    assert [text for text in _texts(form) if seen.search(blanks.sub("", text)) and text not in fixed] == []
    for service, collections in form.world.items():
        for collection, records in collections.items():
            keys = [next(value for field, value in record.items() if field.endswith("_id")) for record in records]
            before = [next(value for field, value in record.items() if field.endswith("_id")) for record in task.world[service][collection]]
            assert len({*keys}) == len(keys) >= len(before)
            assert not {*keys} & {one for one in before if re.search(r"\d", one)}


@pytest.mark.parametrize("name", MAKERS)
def test_two_seeds_differ(name: str) -> None:
    assert len({_whole(instance(_task(name), seed)) for seed in range(8)}) == 8


def test_everything_follows_the_same_variables() -> None:
    task = _task("desk")
    form = instance(task, 5)
    mail = next(one for one in form.world["gmail"]["messages"] if one["thread_id"] and one["subject"] != "")
    weeks = form.mock_today - task.mock_today
    id, total, fee = form.given[0], mail["total"], form.stages[0].changes[0].fields["total"]
    labels = form.grading["checks"][1]["matches"]["labelled"]
    company = next(key for key in labels if key.endswith("Logistics"))
    person, place = re.search(r"(\w+ \w+) <([\w.@]+)>", mail["from"]).groups()
    assert weeks.days % 7 == 0 and weeks.days and form.stages[0].day - task.stages[0].day == weeks
    assert labels[company] == {"number": total + fee} and labels["Sum"] == {"regex": rf"^{total + fee:,.2f} EUR$".replace(".", r"\.")}
    assert labels["Due"] == {"date": (date(2026, 3, 17) + weeks).isoformat()} and labels["Id"] == {"regex": rf"\b{id}\b"}
    assert place == f"{person.lower().replace(' ', '.')}@{company.split()[0].lower()}.example" == form.grading["checks"][0]["where"]["to"]
    assert form.request == f"Answer {person} about {id} by {labels['Due']['date']}."
    assert form.title == company.split()[0] and mail["body"].endswith(f"See {id}, not m-011. {company.split()[0]}")
    assert f"{total:,.2f} EUR and {fee:.2f} EUR" in mail["body"] and form.stages[0].changes[0].key == id
    assert form.files[f"{id}/note.txt"].decode().startswith(f"Pay {total:.2f}".removesuffix("0"))
    assert form.files["logo.png"] == task.files["logo.png"]
    assert form.references[0].actions[1].tool_calls[0].arguments == {"body": f"${{gmail_get_message.m-01}} {total + fee:.2f}"}
    assert form.negatives[0].why == f"{id} alone" and form.negatives[0].max_reward == 0.0


def test_what_checks_and_facts_are_told_by_stays() -> None:
    task = desk(amounts={"pair": {"value": 12, "low": 20, "high": 90}}, ids="all")
    form = instance(task, 2)
    check, fact = form.grading["checks"][0], form.dialogue["facts"][0]
    assert (check["id"], check["min"], check["max"], check["weight"]) == ("m-01", 12, 12, Decimal("0.5"))
    assert (fact["id"], form.dialogue["patience"]) == ("m-01", 12)
    count = form.world["gmail"]["messages"][0]["count"]
    assert type(count) is int and 20 <= count <= 90
    assert fact["says"] == f"It is {form.given[0]} of Brightwater." and form.dialogue["facts"][0]["asks"] == [["okafor", form.given[0]]]
    assert form.world["gmail"]["messages"][0]["open"] is True


def test_order_and_noise() -> None:
    task = _task("rotation")
    before = len(task.world["helpdesk"]["tickets"])
    sizes = {len(instance(task, seed).world["helpdesk"]["tickets"]) - before for seed in range(1, 25)}
    assert sizes == {1, 2, 3, 4}
    noise = [one for one in instance(task, 6).world["helpdesk"]["tickets"] if one["title"].startswith(("Export is", "Logo for"))]
    assert all(re.fullmatch(r"TCK-\d{4}", one["ticket_id"]) and "2026-03-02" <= one["created_at"] < "2026-03-10" and one["reporter"] for one in noise)
    assert not any("CUS-1018" in one["title"] for one in noise)
    firsts = [instance(task, seed).world["crm"]["customers"][0] for seed in range(1, 9)]
    assert len({(one["tier"], one["industry"]) for one in firsts}) > 3


def test_noise_of_a_chinese_task_is_chinese() -> None:
    template = {"message_id": {"id": "n"}, "from": {"person": True}, "body": {"sentence": 6}, "tags": [{"company": True}, {"integer": [3, 4]}],
                "to": {"email": True}, "total": {"amount": ["10.00", 20]}, "date": {"date": ["2026-03-01", "2026-03-02"]}}
    task = replace(desk(dates="weeks", noise=[{"table": "gmail.messages", "min": 3, "max": 3, "record": template}]), language="zh")
    form = instance(task, 1)
    days = {(date(2026, 3, day) + (form.mock_today - task.mock_today)).isoformat() for day in (1, 2)}
    for one in form.world["gmail"]["messages"][2:]:
        assert re.fullmatch(r"n-\d{4}", one["message_id"]) and re.fullmatch("[\u4e00-\u9fff]{2,4}", one["from"]) and not one["body"].isascii()
        assert one["tags"][1] in (3, 4) and one["to"].endswith(".example") and 10 <= one["total"] <= 20 and one["date"] in days


def test_choices_and_wordings_come_up_in_turn() -> None:
    task = _task("rotation")
    forms = [instance(task, seed) for seed in range(1, 30)]
    windows = {form.grading["outcomes"][0]["fields"]["resolution"]["form"]["Overlap"]["duration"] for form in forms}
    assert windows == {"36 hours", "42 hours", "30 hours"}
    assert {form.request.startswith("One at-risk account") for form in forms} == {True, False}


def test_an_alternative_may_exchange_ids_that_vary() -> None:
    task = desk(ids="all", choose=[[{"m-01": "m-01", "m-02": "m-02"}, {"m-01": "m-02", "m-02": "m-01"}]])
    check_variation(task)
    orders = set()
    for seed in range(1, 12):
        form = instance(task, seed)
        first, second = (one["message_id"] for one in form.world["gmail"]["messages"])
        assert form.given == (first,) != (second,) and not {first, second} & {"m-01", "m-02"}
        orders.add(form.given)
    assert len(orders) > 5


def test_a_crowded_form_gets_a_digit_more() -> None:
    records: list[dict[str, Any]] = [{"message_id": f"m-{at}", "thread_id": "t"} for at in range(8)]
    task = type(_task("desk"))("T", 0, "T", "T", date(2026, 3, 10), ("gmail",), (), world={"gmail": {"messages": records}},
                               variation={"schema_version": 1, "ids": "all"})
    assert all(re.fullmatch(r"m-\d\d", one["message_id"]) for one in instance(task, 1).world["gmail"]["messages"])


SCRIPT = """
import sys; sys.path.insert(0, sys.argv[1])
from test_variation_instances import MAKERS, _whole
from cowork_gym.envs.variation import instance
print(*(_whole(instance(make(), seed)) for make in MAKERS.values() for seed in (1, 2)))
"""


def test_a_form_is_the_same_in_every_process() -> None:
    here = str(Path(__file__).parent)
    said = set()
    for salt in ("0", "1"):
        command = [sys.executable, "-W", "error", "-c", SCRIPT, here]
        done = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": salt}, capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stderr
        said.add(done.stdout)
    assert len(said) == 1
    assert said == {" ".join(_whole(instance(make(), seed)) for make in MAKERS.values() for seed in (1, 2)) + "\n"}
