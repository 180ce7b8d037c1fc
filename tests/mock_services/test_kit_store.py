"""What handlers see of a world: rows as they are stored, duplicates refused, marks held to, and generators that can be replayed."""

from decimal import Decimal
from typing import Any, ClassVar

import pytest
from office import ask, world_of

from cowork_gym.core.errors import Fault
from cowork_gym.envs.world import World
from cowork_gym.mock_services.kit import Effect, Exact, Field, Json, Labels, Record, Service, View, tool


class Card(Record, table=True):
    wire: ClassVar = {"seen": "is_read"}
    searched: ClassVar = {"title": 1.0}
    card_id: str = Field(primary_key=True)
    title: str = ""
    labels: list[str] = Field(default_factory=list, sa_type=Labels)
    share: Decimal | None = Field(default=None, sa_type=Exact)
    more: dict[str, Any] | None = Field(default=None, sa_type=Json)
    ratio: float = 0.0
    seen: bool = False


class Stamp(Record, table=True):
    number: int = Field(primary_key=True)
    title: str


class Shelf(Service):
    """Cards on a shelf."""

    name = "shelf"
    tables: ClassVar = [Card, Stamp]

    @tool(Effect.WRITE, audit="cards")
    def add(self, card_id: str) -> View:
        """Add a card."""
        row = self.store.insert(
            Card, card_id=card_id, labels=["b", "a", "b"], share=Decimal("0.10"), more={"at": (1, 2.50)}, ratio=1, seen=1,
        )
        assert row == self.store.get(Card, card_id)
        self.audit(Card.shown(row))
        return Card.shown(row)

    @tool(Effect.WRITE)
    def stamp_it(self, number: int | None = None, title: str | None = "t", key: int | None = None) -> View:
        """Add a stamp, and give it another number."""
        row = self.store.insert(Stamp, number=number, title=title)
        return Stamp.shown(self.store.update(Stamp, row.number, number=key) if key is not None else row)

    @tool(Effect.READ, marks=["seen"])
    def look(self, card_id: str, then: str = "") -> View:
        """Look at a card, and do something else in passing."""
        row = self.store.update(Card, card_id, seen=True)
        if then == "update":
            self.store.update(Card, card_id, title="new")
        elif then == "insert":
            self.store.insert(Card, card_id="new")
        elif then == "new_id":
            self.store.new_id("C")
        elif then:
            self.store.connection.execute(then)
        return Card.shown(row)

    @tool(Effect.READ)
    def draw(self) -> list[float]:
        """Draw numbers."""
        return [self.random().random(), self.random().random(), self.random("other").random()]


def shelf(*cards: dict[str, Any]) -> World:
    return world_of(Shelf, cards=[*cards])


def test_an_inserted_row_is_returned_as_it_is_stored():
    world = shelf()
    card = ask(world, "shelf_add", card_id="C")
    assert card == {
        "card_id": "C", "title": "", "labels": ["a", "b"], "share": Decimal("0.10"), "more": {"at": [1, Decimal("2.5")]}, "ratio": 1.0,
        "is_read": True,
    }
    assert card["is_read"] is True and world.rows("shelf.cards") == {"C": card} and world.ledger[0].record == card
    assert ask(world, "shelf_stamp_it") == {"number": 1, "title": "t"}


@pytest.mark.parametrize(("tool_name", "arguments", "said"), [
    ("shelf_add", {"card_id": "C"}, "Card C exists already"), ("shelf_stamp_it", {"number": 7}, "Stamp 7 exists already"),
    ("shelf_stamp_it", {"number": 8, "key": 7}, "Stamp 7 exists already"),
])
def test_a_key_that_is_taken_is_a_conflict(tool_name, arguments, said):
    world = world_of(Shelf, cards=[{"card_id": "C"}], stamps=[{"number": 7, "title": "t"}])
    outcome = world.call(tool_name, arguments)
    assert (outcome.status, outcome.value) == (409, {"error": said, "type": "conflict"})
    assert world.diff() == ()


def test_another_broken_rule_of_a_table_is_a_fault():
    with pytest.raises(Fault, match="NOT NULL"):
        shelf().call("shelf_stamp_it", {"title": None})


@pytest.mark.parametrize("then", [
    "update", "insert", "new_id", f"UPDATE {Card.__tablename__} SET title = 'new'", f"DELETE FROM {Card.__tablename__}",
    f"UPDATE {Card.__tablename__} SET seen = 1", f"INSERT OR REPLACE INTO {Stamp.__tablename__} VALUES (NULL, 1, 't')", "DELETE FROM _dirty",
])
def test_a_tool_with_marks_sets_them_by_the_store_and_nothing_else(then):
    world = shelf({"card_id": "C", "title": "old"}, {"card_id": "D"})
    before = world.fingerprint()
    with pytest.raises(Fault, match="a reading tool"):
        world.call("shelf_look", {"card_id": "C", "then": then})
    assert (world.fingerprint(), len(world.ledger)) == (before, 0)
    assert ask(world, "shelf_look", card_id="C")["is_read"] is True
    assert [(change.key, change.fields()) for change in world.diff()] == [("C", {"is_read"})]


def test_a_generator_follows_from_seed_names_and_place():
    def drawn(seed):
        world = World.open([Shelf], seed=seed)
        return [ask(world, "shelf_draw") for _ in range(2)]

    (one, same, other), later = drawn(1)
    assert one == same != other and later[0] != one
    assert drawn(1) == [[one, same, other], later] and drawn(2)[0][0] != one
