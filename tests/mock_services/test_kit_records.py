from decimal import Decimal
from typing import ClassVar

import pytest
from office import ask, refusal, world_of
from typing_extensions import TypedDict

from cowork_gym.core.errors import ToolError
from cowork_gym.mock_services.kit import Caseless, Effect, Field, Labels, Record, Service, View, given, summary, tool
from cowork_gym.mock_services.kit.excerpt import excerpt
from cowork_gym.mock_services.kit.types import Amount, Day, Ids, Text


class Parcel(Record, table=True):
    __tablename__ = "depot_parcels"
    wire: ClassVar = {"fee": "price"}
    money: ClassVar = {"fee": "currency"}
    parcel_id: str = Field(primary_key=True)
    size: str | None = Field(default=None, sa_type=Caseless)
    marks: list[str] = Field(default_factory=list, sa_type=Labels)
    fee: int | None = None
    currency: str | None = None


class Depot(Service):
    """Parcels."""

    name = "depot"
    tables: ClassVar = [Parcel]

    @tool(Effect.READ)
    def list_parcels(self, size: Text | None = None) -> list[View]:
        """List parcels.

        Args:
            size: Only parcels of this size,
                however it is written.
        """
        return [Parcel.shown(row) for row in self.store.find(Parcel, **given(size=size))]

    @tool(Effect.READ)
    def pick(self, parcels: Ids, day: Day | None = None, worth: Amount = Decimal(0)) -> list[View]:
        """Pick parcels."""
        return [Parcel.shown(row) | {"day": day, "worth": worth} for row in self.store.get_all(Parcel, parcels)]


def depot(*parcels):
    return world_of(Depot, parcels=[*parcels])


def test_money_is_minor_units_inside_and_exact_outside():
    world = depot({"parcel_id": "P", "price": 12.30, "currency": "USD", "fee": "unknown"}, {"parcel_id": "Q", "price": None})
    assert ask(world, "depot_list_parcels") == [
        {"parcel_id": "P", "price": Decimal("12.30"), "currency": "USD", "marks": [], "fee": "unknown"}, {"parcel_id": "Q", "marks": []},
    ]
    assert Parcel.from_fixture({"price": "12.30", "currency": "USD"}) == {"fee": 1230, "currency": "USD"}


def test_an_amount_is_refused_under_the_name_that_its_author_knows():
    with pytest.raises(ValueError, match=r"^price: .*decimals"):
        Parcel.from_fixture({"price": 0.125, "currency": "USD"})


def test_case_is_kept_and_not_compared():
    world = depot({"parcel_id": "P", "size": "Large"})
    assert [one["size"] for one in ask(world, "depot_list_parcels", size="LARGE")] == ["Large"]
    assert ask(world, "depot_list_parcels", size="larg") == []


def test_labels_are_sets():
    one, other = depot({"parcel_id": "P", "marks": ["b", "a", "b"]}), depot({"parcel_id": "P", "marks": ["a", "b"]})
    assert one.fingerprint() == other.fingerprint()
    assert ask(one, "depot_list_parcels")[0]["marks"] == ["a", "b"]


def test_several_records_come_in_the_order_asked_for():
    world = depot({"parcel_id": "P"}, {"parcel_id": "Q"})
    assert [one["parcel_id"] for one in ask(world, "depot_pick", parcels=["Q", "P"])] == ["Q", "P"]
    assert refusal(world, "depot_pick", parcels=["R", "P", "S"]).value["error"] == "Parcel R, S not found"


@pytest.mark.parametrize(("arguments", "said"), [
    ({"parcels": ["P", "P"]}, "repeats P"), ({"parcels": []}, "at least 1"), ({"parcels": ["P", ""]}, "parcels.1"), ({"parcels": "P"}, "list"),
    ({"parcels": ["P"], "day": "10.3."}, "such as 2026-03-10"), ({"parcels": ["P"], "worth": "1"}, "a number"),
    ({"parcels": ["P"], "worth": True}, "a number"),
])
def test_argument_types_say_what_they_want(arguments, said):
    outcome = refusal(depot({"parcel_id": "P"}), "depot_pick", **arguments)
    assert outcome.status == 422 and said in outcome.value["error"]


@pytest.mark.parametrize(("written", "day"), [("2026-03-10", "2026-03-10"), ("20260310", "2026-03-10")])
def test_days_have_one_spelling(written, day):
    assert ask(depot({"parcel_id": "P"}), "depot_pick", parcels=["P"], day=written)[0]["day"] == day


def test_a_docstring_describes_tool_and_arguments():
    listed, picked = Depot.tools().values()
    assert listed.description == "List parcels."
    assert listed.parameters["properties"]["size"]["description"] == "Only parcels of this size, however it is written."
    items = {"type": "string", "minLength": 1}
    assert picked.parameters["properties"]["parcels"] == {"type": "array", "items": items, "minItems": 1, "uniqueItems": True}


def test_a_refusal_is_what_the_validator_says():
    with pytest.raises(ToolError, match="unknown argument 'sizes', did you mean 'size'"):
        Depot.tools()["depot_list_parcels"].validate({"sizes": "L"})


def test_a_summary_has_the_fields_of_its_shape():
    shape = TypedDict("shape", {"from": str, "size": str})
    assert summary(shape, {"size": "L", "other": 1, "from": "a"}) == {"from": "a", "size": "L"}
    assert summary(shape, {"size": "L"}) == {"size": "L"}
    assert given(a=None, b=0, c="") == {"b": 0, "c": ""}


@pytest.mark.parametrize(("text", "query", "shown"), [
    ("short text", "none", "short text"), ("a b c d e f g h i j", "none", "a b c d e…"), ("a b c d e f g h i j", "j", "…f g h i j"),
    ("a b c target e f g h i", "target", "…c target…"), ("thistle is here, this is it", "this", "…this is…"),
    ("一二三四五六七八九十证书续期一二三四", "证书", "…八九十证书续期一二三…"),
    ("x\n\n\ny z " + "w " * 20, "none", "x y z w…"), ("Zu\u0308rich " + "w " * 20, "zurich", "Zu\u0308rich w…"),
])
def test_an_excerpt_is_the_place_of_the_words(text, query, shown):
    assert excerpt(text, query, 10) == shown


def test_an_excerpt_prefers_more_of_the_words():
    text = "one " + "pad " * 30 + "one two " + "pad " * 30
    assert "one two" in excerpt(text, "two one", 40)
