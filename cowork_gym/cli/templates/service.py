"""A complete small service: a table, three tools, its entry point and its test."""

__all__ = ["FILES"]

_MODULE = '''\
"""The service `$name`: a list of items."""

from typing import Any, ClassVar

from cowork_gym.mock_services.kit import Effect, Field, Record, Service, View, given, tool
from cowork_gym.mock_services.kit.types import Text

__all__ = ["$class_name", "Item"]


class Item(Record, table=True):
    """An item on the list."""

    item_id: str = Field(primary_key=True)
    title: str
    owner: str | None = None
    created_at: str


class $class_name(Service):
    """A list of items, each with a title and perhaps an owner."""

    name = "$name"
    tables: ClassVar = [Item]

    @tool(Effect.READ)
    def list_items(self, owner: Text | None = None) -> dict[str, Any]:
        """List the items, ordered by id.

        Args:
            owner: Only items of this owner.
        """
        rows = self.store.find(Item, **given(owner=owner))
        return {"items": [Item.shown(row) for row in rows], "total": len(rows)}

    @tool(Effect.READ)
    def get_item(self, item_id: str) -> View:
        """Get one item with every field on record.

        Args:
            item_id: The item's id.
        """
        return Item.shown(self.store.get(Item, item_id))

    @tool(Effect.WRITE, audit="added_items")
    def add_item(self, title: Text, owner: Text | None = None) -> View:
        """Add an item to the list.

        Args:
            title: What the item is about.
            owner: Who takes care of it.
        """
        row = self.store.insert(Item, item_id=self.store.new_id("ITEM"), title=title, owner=owner, created_at=self.stamp)
        self.audit(Item.shown(row))
        return Item.shown(row)
'''

_TEST = '''\
"""The service `$name` keeps what every service promises."""

from cowork_gym import World
from cowork_gym.testing import check_service
from ${name}_service import $class_name

RECORDS = {"items": [{"item_id": "ITEM-1", "title": "Order paper", "owner": "Ana", "created_at": "2026-03-09T08:00:00Z"}]}


def test_it_conforms():
    check_service($class_name, RECORDS)


def test_an_item_that_was_added_is_listed():
    world = World.open([$class_name], {"$name": RECORDS})
    world.call("${name}_add_item", {"title": "Fix the lamp"})
    listed = world.call("${name}_list_items", {}).value
    assert [one["title"] for one in listed["items"]] == ["Order paper", "Fix the lamp"]
'''

_PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "$package"
version = "0.1.0"
dependencies = ["cowork-gym"]

[project.entry-points."cowork_gym.services"]
$name = "${name}_service:$class_name"

[tool.setuptools]
py-modules = ["${name}_service"]

[tool.pytest.ini_options]
pythonpath = ["."]
"""

FILES = {"${name}_service.py": _MODULE, "test_${name}_service.py": _TEST, "pyproject.toml": _PROJECT}
"""The project's files, by path."""
