"""Executions as people write them."""

from decimal import Decimal
from pathlib import Path

import pytest

from cowork_gym.core.errors import PackageError
from cowork_gym.core.messages import call, final, message
from cowork_gym.core.task import Execution
from cowork_gym.envs.executions import read_negatives, read_references, read_script


def _write(folder: Path, text: str, name: str = "steps.yaml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_turn_is_one_call_or_a_list_of_calls(tmp_path: Path) -> None:
    path = _write(tmp_path, """
        executions:
          - name: direct
            turns:
              - crm_list_customers:
              - - crm_get_customer: {customer_id: C-1}
                - crm_get_customer: {customer_id: C-2}
              - finance_submit_report: {title: March, transactions: [T-1], total_amount: 12.50}
            final: Done.
    """)
    expected = (
        call("crm_list_customers"), message(None, call("crm_get_customer", customer_id="C-1"), call("crm_get_customer", customer_id="C-2")),
        call("finance_submit_report", title="March", transactions=["T-1"], total_amount=Decimal("12.50")), final("Done."),
    )
    assert read_references(path) == (Execution("direct", expected),)


def test_a_negative_has_a_bound_and_a_reason(tmp_path: Path) -> None:
    first = "{name: a, max_reward: 0.84, why: It skips., turns: [kb_search: {query: x}]}"
    one, other = read_negatives(_write(tmp_path, f"executions: [{first}, {{name: b, max_reward: 0, why: w}}]"))
    assert one == Execution("a", (call("kb_search", query="x"),), 0.84, "It skips.")
    assert (other.actions, other.max_reward) == ((), 0.0)


@pytest.mark.parametrize(("name", "text"), [
    ("steps.yaml", "turns:\n  - kb_search: {query: x}\nfinal: Done.\n"),
    ("steps.json", '{"schema_version": 1, "turns": [{"kb_search": {"query": "x"}}], "final": "Done."}'),
])
def test_a_script_is_named_after_its_file(tmp_path: Path, name: str, text: str) -> None:
    assert read_script(str(_write(tmp_path, text, name))) == Execution("steps", (call("kb_search", query="x"), final("Done.")))


@pytest.mark.parametrize(("text", "problem"), [
    ("turns: [[]]", "turns[0]: a turn is `tool: {arguments}`"),
    ("turns: [3]", "turns[0]: a turn is `tool: {arguments}`, a list of these for calls in one message, or a text, not 3"),
    ("turns: [{}]", "turns[0]: a turn is `tool: {arguments}`"),
    ("turns: [[[a: {}]]]", "turns[0]: a turn is `tool: {arguments}`"),
    ("turns: [a: text]", "turns[0]: the arguments of a are a mapping, not \"text\""),
    ("turns: {a: {}}", "turns: input should be a valid list"),
    ("final: 3", "final: input should be a valid string, not 3"),
    ("turn: [a: {}]", "turn: unknown key: did you mean 'turns'?"),
    ("schema_version: 2", "schema_version: input should be 1, not 2"),
])
def test_a_script_with_a_mistake_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(PackageError) as caught:
        read_script(path)
    assert str(caught.value).startswith(f"{path}: {problem}")


def test_a_script_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=r"none\.yaml: no such file"):
        read_script(tmp_path / "none.yaml")


@pytest.mark.parametrize("bound", ["1", "1.5", "-0.1", "true", "half", "null"])
def test_a_bound_is_less_than_one(tmp_path: Path, bound: str) -> None:
    path = _write(tmp_path, f"executions: [{{name: a, why: w, max_reward: {bound}}}]")
    with pytest.raises(PackageError, match="a bound is a number from 0 to less than 1"):
        read_negatives(path)
