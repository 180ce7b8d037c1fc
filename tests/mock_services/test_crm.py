import pytest
from office import ask, office, refusal, world_of

from cowork_gym.core.errors import PackageError
from cowork_gym.mock_services.crm import CRM


def test_the_list_is_short_and_ordered():
    answer = ask(office(), "crm_list_customers")
    assert answer["total"] == 3
    assert answer["customers"][1] == {
        "customer_id": "C-2", "name": "鼎新软件", "contact_person": "周经理", "industry": "软件", "tier": "vip", "status": "active",
    }


@pytest.mark.parametrize(("filters", "found"), [
    ({}, ["C-1", "C-2", "C-3"]), ({"tier": "vip"}, ["C-1", "C-2"]), ({"tier": "VIP", "industry": "retail"}, ["C-1"]),
    ({"status": "at_risk"}, ["C-1"]), ({"status": "risk"}, []), ({"industry": "软件"}, ["C-2"]), ({"tier": None}, ["C-1", "C-2", "C-3"]),
])
def test_filters_match_whole_values_in_any_case(filters, found):
    assert [one["customer_id"] for one in ask(office(), "crm_list_customers", **filters)["customers"]] == found


def test_a_customer_has_every_field():
    customer = ask(office(), "crm_get_customer", customer_id="C-1")
    assert customer["notes"] == "renewal due"
    assert customer["recent_orders"] == [{"order_id": "O-9", "total_price": 12.5}]
    assert float(customer["annual_revenue"]) == 1200000.5


def test_an_export_leaves_a_report_and_its_audit_record():
    world = office()
    answer = ask(world, "crm_export_report", title="Risk", customer_ids=["C-2", "C-1"], summary="two")
    report = {"report_id": answer["report"]["report_id"], "title": "Risk", "customer_ids": ["C-2", "C-1"], "summary": "two"}
    report["timestamp"] = "2026-03-10T09:00:01Z"
    assert answer == {"status": "exported", "report": report}
    assert world.ledger[-1].record == report
    [change] = world.diff()
    assert (change.table, change.before, change.after) == ("crm.reports", None, report)


def test_an_export_names_all_unknown_customers_at_once():
    world = office()
    outcome = refusal(world, "crm_export_report", title="t", customer_ids=["C-1", "C-8", "C-9"], summary="s")
    assert outcome.value == {"error": "Customer C-8, C-9 not found", "type": "not_found"}
    assert world.ledger[-1].record is None


def test_an_export_takes_each_customer_once_and_at_least_one():
    assert "repeats C-1" in refusal(office(), "crm_export_report", title="t", customer_ids=["C-1", "C-2", "C-1"], summary="s").text
    assert refusal(office(), "crm_export_report", title="t", customer_ids=[], summary="s").status == 422


def test_a_fixture_of_a_wrong_type_is_refused_by_name():
    with pytest.raises(PackageError, match=r"crm\.yaml: customers\[0\]\.name"):
        world_of(CRM, customers=[{"customer_id": "C-1", "name": 5}])
