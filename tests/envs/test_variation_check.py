"""What only the whole package can tell: each mistake of a variation is refused at its field, with what to do."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from variation_samples import FULL, certificates, desk, rotation

from cowork_gym.core.errors import PackageError
from cowork_gym.core.task import Task
from cowork_gym.envs.registration import CATALOG, load_task
from cowork_gym.envs.variation import check_variation

AMOUNT = {"value": "1240.50", "low": "200.00", "high": "4000.00"}
NOISE = {"table": "helpdesk.tickets", "max": 2, "record": {"ticket_id": {"id": "TCK"}}}


def _with(id: str, variation: dict[str, Any]) -> Task:
    return replace(load_task(id), variation={"schema_version": 1, **variation})


def _said(task: Task, text: str) -> Task:
    return replace(task, request=text)


@pytest.mark.parametrize("task", [rotation(), certificates(), desk(**FULL)], ids=lambda task: task.id)
def test_what_fits_is_accepted(task: Task) -> None:
    check_variation(task)


@pytest.mark.parametrize(("task", "where", "problem"), [
    (desk(ids=["all", "m-03"]), "ids[1]", "no field of a record is \"m-03\", did you mean 'm-02'?"),
    (replace(desk(ids="all"), world={}, stages=()), "ids[0]", "no record has an id with a digit: list those that may vary"),
    (desk(names={"Nora Vik": "person"}), "names.Nora Vik", "does not stand anywhere in the package"),
    (desk(names={"Ines Okafor": "person", "Inés Okafor": "person"}), "names.Inés Okafor",
     'differs from "Ines Okafor" in accents alone, which other names do not have'),
    (desk(names={"I": "last_name"}), "names.I", "is too short to be told from other text"),
    (_said(desk(names={"Will Okafor": "person"}), "Will Okafor will answer."), "names.Will Okafor",
     '"will" is also a word of task.yaml, and would be rewritten there: give the package another name'),
    (replace(_with("M1100", {"names": {"Active Freight": "company"}}), request="Find Active Freight."), "names.Active Freight",
     '"active" is also a word that the tools know: give the package another name'),
    (_said(desk(names={"Subject Line": "company"}), "Subject Line"), "names", '"subject" is also what a field is called (subject)'),
    (_said(desk(names={"Ines Okafor": "person", "Ian Okafor": "person"}), "Ian Okafor and i.okafor@x"), "names",
     '"I. Okafor" may also be of names: give one of the two another form in the package'),
    (_with("M1003", {"ids": ["FJORDHANDEL"], "names": {"Fjordhandel": "company"}}), "names",
     '"fjordhandel" may also be of ids (FJORDHANDEL): give one of the two another form in the package'),
    (desk(amounts={"a": {**AMOUNT, "value": "77.00"}}), "amounts.a.value", "77.00 does not stand anywhere in the package"),
    (_said(desk(amounts={"a": AMOUNT}), "Pay EUR1240.50"), "amounts.a", '"R1240.50" in task.yaml is not seen as the amount: put a blank between'),
    (_said(desk(amounts={"a": {"value": "40.00", "low": "50.00", "high": "80.00"}}), "Pay 40.00 EUR within 40 days."), "amounts.a",
     '"ay 40.00 EUR within 40 days." in task.yaml may mean a count: write 40.00 where it is meant'),
    (_said(desk(amounts={"a": {**AMOUNT, "low": 10, "high": 20}, "b": {"value": "12.40", "low": 30, "high": 40},
                         "c": {"value": "1228.10", "difference": ["a", "b"]}}), "Pay 1228.10 EUR."), "amounts",
     "for some seeds no values are left that the package does not have and that keep all above 0: give low and high more room"),
    (desk(amounts={"a": {"value": "1240.50", "low": 10, "high": 9000}, "b": {"value": "12.40", "low": 10, "high": 9000},
                   "c": {"value": "1228.10", "difference": ["a", "b"]}}), "amounts.c.value", "1228.10 does not stand anywhere in the package"),
    (desk(choose=[[{"blue": "blue"}, {"blue": "red"}]]), "choose[0]", '"blue" does not stand anywhere in the package'),
    (desk(choose=[[{"See": "See"}, {"See": "Dear"}]]), "choose[0]",
     '"Dear" stands in world/gmail.yaml already, so that the two could not be told apart'),
    (desk(choose=[[{"See": "See"}, {"See": "Look"}], [{"Dear": "Dear"}, {"Dear": "Look"}]]), "choose[1]", '"Look" is a text of choose[0], too'),
    (desk(choose=[[{"open": "open"}, {"open": "shut"}]]), "choose", '"open" is also what a field is called (open)'),
    (_with("M1003", {"dates": "weeks"}), "dates",
     '"17 March" in world/helpdesk.yaml cannot be moved: write it as 2026-03-10, 10 March 2026 or 2026年3月10日'),
    (replace(desk(dates="weeks"), mock_today=desk().mock_today.replace(year=2999, month=12, day=28)), "dates",
     "the task ends in the last week that a task may have"),
    (desk(noise=[{**NOISE, "table": "gmial.messages"}]), "noise[0].table", "the task has no service 'gmial', did you mean 'gmail'?"),
    (desk(noise=[{**NOISE, "record": {"title": "x"}}]), "noise[0].record",
     "needs a field such as {id: TCK}, by which each record has a key of its own"),
    (desk(wordings=["Answer her."]), "wordings[0]", 'does not say "m-01", which the request gives'),
    (desk(wordings=[desk().request]), "wordings[0]", "is no other wording"),
])
def test_what_does_not_fit_is_refused(task: Task, where: str, problem: str) -> None:
    with pytest.raises(PackageError) as caught:
        check_variation(task)
    assert (caught.value.path, caught.value.where, caught.value.problem) == ("private/variation.yaml", where, problem)


@pytest.mark.parametrize(("variation", "where"), [
    ({"amounts": {"a": {**AMOUNT, "high": "9" * 28}}}, "amounts.a.high"), ({"choose": [[{}, {}]]}, "choose[0]"),
    ({"noise": [{**NOISE, "record": {"id": {"id": "T"}, "x": {"amount": "12"}}}]}, "noise[0].record.x.amount"),
])
def test_what_is_not_of_the_form_is_refused(variation: dict[str, Any], where: str) -> None:
    with pytest.raises(PackageError) as caught:
        check_variation(desk(**variation))
    assert caught.value.where == where


def test_sums_and_products_of_great_amounts_are_exact_or_drawn_again() -> None:
    great = {"value": "12.40", "low": "1.00", "high": "999999999999999.99"}
    task = _said(desk(amounts={"fee": great, "square": {"value": "153.76", "product": ["fee", "fee"]}}), "Pay 12.40 EUR or 153.76 EUR.")
    with pytest.raises(PackageError, match="keep all above 0"):
        check_variation(task)


def test_a_table_that_is_not_there_is_refused_when_the_package_is_read(tmp_path: Path) -> None:
    package = shutil.copytree(CATALOG / "M1003_ticket_kb_resolution", tmp_path / "Copy")
    text = "schema_version: 1\nnoise:\n  - {table: helpdesk.tickts, max: 2, record: {ticket_id: {id: TCK}}}\n"
    (package / "private" / "variation.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(PackageError, match=r"variation\.yaml: noise\[0\]\.table: no table 'helpdesk.tickts', did you mean 'helpdesk.tickets'\?"):
        load_task(package)


def test_what_does_not_fit_is_told_with_the_package_that_it_is_in(tmp_path: Path) -> None:
    package = shutil.copytree(CATALOG / "M1003_ticket_kb_resolution", tmp_path / "Copy")
    path = package / "private" / "variation.yaml"
    path.write_text("schema_version: 1\nids: [TCK-0000]\n", encoding="utf-8")
    with pytest.raises(PackageError) as caught:
        load_task(package)
    assert (caught.value.path, caught.value.where) == (str(path), "ids[0]")


def test_names_in_addresses_and_as_whole_values_are_no_ordinary_words() -> None:
    task = desk(names={"Ines Okafor": "person"})
    check_variation(replace(task, world={"gmail": {"messages": [{"message_id": "m-01", "from": "okafor@x.example", "labels": ["okafor"]}]}}))
