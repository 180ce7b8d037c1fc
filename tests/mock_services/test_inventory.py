import json
from pathlib import Path

import pytest
from office import RECORDS, ask, office, refusal, world_of

from cowork_gym.core.errors import PackageError
from cowork_gym.mock_services.inventory import Inventory, Order
from cowork_gym.testing import check_service


def _ids(answer, collection, key):
    return [one[key] for one in answer[collection]]


def _product(world, product_id="S-1"):
    return ask(world, "inventory_get_product", product_id=product_id)


def test_it_keeps_what_every_service_promises():
    check_service(Inventory, RECORDS["inventory"])


def test_the_list_shows_whole_products():
    answer = ask(office(), "inventory_list_products")
    assert answer["total"] == 3 and answer["products"][0] == RECORDS["inventory"]["products"][0]
    assert answer["products"][1]["reserved"] == 0


@pytest.mark.parametrize(("filters", "found"), [
    ({"category": "AV"}, ["S-1", "S-3"]), ({"category": "a"}, []), ({"low_stock": True}, ["S-1"]), ({"low_stock": False}, ["S-1", "S-2", "S-3"]),
    ({"category": "智能硬件", "low_stock": True}, []),
])
def test_filters_of_products(filters, found):
    assert _ids(ask(office(), "inventory_list_products", **filters), "products", "product_id") == found


@pytest.mark.parametrize(("on_hand", "reserved", "reorder_point", "low"), [
    (9, 0, 8, False), (8, 0, 8, True), (9, 1, 8, True), (0, 0, 0, True), (0, 0, None, False), (5, 9, 1, True),
])
def test_stock_is_low_when_no_more_is_available_than_the_reorder_point(on_hand, reserved, reorder_point, low):
    record = {"product_id": "P", "name": "n", "on_hand": on_hand, "reserved": reserved, "reorder_point": reorder_point}
    assert ask(world_of(Inventory, products=[record]), "inventory_list_products", low_stock=True)["total"] == low


@pytest.mark.parametrize(("filters", "found"), [
    ({}, ["O-1", "O-2"]), ({"status": "Cancelled"}, ["O-2"]), ({"product_id": "S-1"}, ["O-1"]), ({"product_id": "S-1", "status": "cancelled"}, []),
])
def test_filters_of_orders(filters, found):
    assert _ids(ask(office(), "inventory_list_orders", **filters), "orders", "order_id") == found


@pytest.mark.parametrize(("filters", "found"), [({}, ["V-1", "V-2"]), ({"reference": "t-2"}, ["V-2"]), ({"product_id": "S-2"}, [])])
def test_filters_of_reservations(filters, found):
    assert _ids(ask(office(), "inventory_list_reservations", **filters), "reservations", "reservation_id") == found


def test_an_order_goes_to_the_products_supplier_and_leaves_the_stock_alone():
    world = office()
    order = ask(world, "inventory_create_order", product_id="S-1", quantity=15, notes="urgent")["order"]
    assert order == {
        "order_id": order["order_id"], "product_id": "S-1", "quantity": 15, "supplier": "Fjord Optics", "status": "ordered",
        "ordered_at": "2026-03-10T09:00:01Z", "notes": "urgent",
    }
    entry = world.ledger[-1]
    assert (entry.audit, entry.record) == ("created_orders", {**order, "timestamp": "2026-03-10T09:00:01Z"})
    assert Inventory.aliases["orders"] == "created_orders"
    assert [(change.table, change.key) for change in world.diff()] == [("inventory.orders", order["order_id"])]
    assert ask(world, "inventory_create_order", product_id="S-1", quantity=1, supplier="Other AG")["order"]["supplier"] == "Other AG"


def test_an_order_needs_a_product_and_somebody_to_order_from():
    world = office()
    assert refusal(world, "inventory_create_order", product_id="S-9", quantity=1, supplier="Other AG").value["type"] == "not_found"
    outcome = refusal(world, "inventory_create_order", product_id="S-2", quantity=1)
    assert outcome.status == 422 and "S-2 has no supplier" in outcome.text
    assert ask(world, "inventory_create_order", product_id="S-2", quantity=1, supplier="Other AG")["status"] == "created"


@pytest.mark.parametrize("quantity", [0, -1, 10**9, 2.5, "3", True, None])
@pytest.mark.parametrize(("tool", "others"), [
    ("inventory_create_order", {"product_id": "S-1"}), ("inventory_reserve", {"product_id": "S-1", "reference": "r"}),
])
def test_a_quantity_is_a_whole_number_above_zero(tool, others, quantity):
    assert refusal(office(), tool, quantity=quantity, **others).status == 422


def test_an_order_is_changed_until_it_is_over():
    world = office()
    before = ask(world, "inventory_get_order", order_id="O-1")
    changes = {"status": "confirmed", "quantity": 25, "expected_date": "2026-03-20", "notes": "by air"}
    order = ask(world, "inventory_update_order", order_id="O-1", **changes)["order"]
    assert order == {**before, **changes, "updated_at": "2026-03-10T09:00:02Z"} and Order.stamps == {"updated_at"}
    assert (world.ledger[-1].audit, world.ledger[-1].record) == ("updated_orders", order)
    assert ask(world, "inventory_update_order", order_id="O-1", status="cancelled")["order"]["status"] == "cancelled"
    again = refusal(world, "inventory_update_order", order_id="O-1", status="ordered")
    assert (again.status, again.value) == (409, {"error": "Order O-1 is cancelled already", "type": "conflict"})
    assert _product(world)["on_hand"] == 12


def test_what_is_received_adds_to_the_stock_once():
    world = office()
    ask(world, "inventory_update_order", order_id="O-1", status="received", quantity=18)
    assert (_product(world)["on_hand"], _product(world)["reserved"]) == (30, 4)
    assert {(change.table, change.key) for change in world.diff()} == {("inventory.orders", "O-1"), ("inventory.products", "S-1")}
    assert refusal(world, "inventory_update_order", order_id="O-1", status="received").status == 409
    assert _product(world)["on_hand"] == 30


def test_an_order_of_a_product_that_is_gone_cannot_be_received():
    world = world_of(Inventory, orders=[{"order_id": "O", "product_id": "gone", "quantity": 1}])
    assert refusal(world, "inventory_update_order", order_id="O", status="received").value["error"] == "Product gone not found"


@pytest.mark.parametrize("change", [{}, {"notes": None}, {"status": "lost"}, {"expected_date": "soon"}, {"quantity": 0}, {"supplier": "x"}])
def test_order_changes_that_make_no_sense_are_refused(change):
    assert refusal(office(), "inventory_update_order", order_id="O-1", **change).status == 422


def test_a_reservation_takes_from_what_is_available():
    world = office()
    answer = ask(world, "inventory_reserve", product_id="S-1", quantity=5, reference="C-1")
    kept = answer["reservation"]
    assert kept == {
        "reservation_id": kept["reservation_id"], "product_id": "S-1", "quantity": 5, "reference": "C-1", "reserved_at": "2026-03-10T09:00:01Z",
    }
    assert answer["available"] == 3
    assert (world.ledger[-1].audit, world.ledger[-1].record) == ("reservations", {**kept, "timestamp": "2026-03-10T09:00:01Z"})
    reserved, made = sorted(world.diff(), key=lambda change: change.table)
    assert (reserved.table, reserved.fields(), reserved.after["reserved"]) == ("inventory.products", {"reserved"}, 9)
    assert (made.table, made.before, made.after) == ("inventory.reservations", None, kept)


def test_no_more_can_be_reserved_than_is_available():
    world = office()
    outcome = refusal(world, "inventory_reserve", product_id="S-1", quantity=9, reference="C-1")
    assert outcome.status == 409 and "12 on hand, 4 of them reserved" in outcome.text
    assert ask(world, "inventory_reserve", product_id="S-1", quantity=8, reference="C-1")["available"] == 0
    assert refusal(world, "inventory_reserve", product_id="S-1", quantity=1, reference="C-2").value["type"] == "conflict"
    assert refusal(world, "inventory_reserve", product_id="S-9", quantity=1, reference="C-2").value["type"] == "not_found"


def test_fixtures_may_have_the_names_of_other_projects():
    records = [
        {"product_id": "A", "name": "a", "current_stock": 3, "min_stock_threshold": 5, "location": "B-02"},
        {"product_id": "B", "name": "b", "quantity": 3, "reorder_level": 1, "on_hand": 9, "unit_price": 2.5},
    ]
    one, other = ask(world_of(Inventory, products=records), "inventory_list_products")["products"]
    assert one == {"product_id": "A", "name": "a", "on_hand": 3, "reserved": 0, "reorder_point": 5, "warehouse": "B-02"}
    assert other == {"product_id": "B", "name": "b", "on_hand": 9, "reserved": 0, "reorder_point": 1, "quantity": 3, "unit_price": 2.5}


@pytest.mark.parametrize(("record", "place"), [
    ({"product_id": "P", "name": "n"}, r"products\[0\]\.on_hand"), ({"product_id": "P", "name": "n", "on_hand": 1, "unit_cost": 0.001}, "unit_cost"),
])
def test_a_product_that_cannot_be_is_refused_by_name(record, place):
    with pytest.raises(PackageError, match=place):
        world_of(Inventory, products=[record])


@pytest.mark.data
def test_products_of_another_project_load(data_folder: Path):
    ours = {"current_stock": "on_hand", "quantity": "on_hand", "min_stock": "reorder_point", "min_stock_threshold": "reorder_point",
            "reorder_level": "reorder_point", "location": "warehouse"}
    found = sorted(data_folder.glob("claw_eval/tasks/*/fixtures/inventory/*.json"))
    assert found
    for path in found:
        records = json.loads(path.read_text(encoding="utf-8"))
        records = records if isinstance(records, list) else next(value for value in records.values() if isinstance(value, list))
        world = world_of(Inventory, products=records)
        for record in records:
            read = json.loads(world.call("inventory_get_product", {"product_id": record["product_id"]}).text)
            assert read == {"reserved": 0, **{ours.get(name, name): value for name, value in record.items() if value is not None}}
