"""The inventory's tables: products, orders, reservations."""

from collections.abc import Mapping
from typing import Any, ClassVar

from cowork_gym.mock_services.kit import Caseless, Field, Record
from cowork_gym.mock_services.kit.types import Time

__all__ = ["Order", "Product", "Reservation"]

_SPELLINGS = {
    "current_stock": "on_hand", "quantity": "on_hand", "min_stock": "reorder_point", "min_stock_threshold": "reorder_point",
    "reorder_level": "reorder_point", "location": "warehouse",
}
"""What fixtures of other projects call a column."""


class Product(Record, table=True):
    """Something that is kept in stock."""

    __tablename__ = "inventory_products"
    money: ClassVar = {"unit_cost": "currency"}
    product_id: str = Field(primary_key=True)
    name: str
    category: str | None = Field(default=None, sa_type=Caseless)
    on_hand: int
    reserved: int = 0
    reorder_point: int | None = None
    unit_cost: int | None = None
    currency: str | None = None
    supplier: str | None = None
    warehouse: str | None = None
    notes: str | None = None

    @classmethod
    def from_fixture(cls, fixture: Mapping[str, Any]) -> dict[str, Any]:
        """Stock, reorder point and warehouse may have the names that other projects give them."""
        named = dict(fixture)
        for name, column in _SPELLINGS.items():
            if name in named and column not in named:
                named[column] = named.pop(name)
        return super().from_fixture(named)


class Order(Record, table=True):
    """An order from a supplier."""

    __tablename__ = "inventory_orders"
    stamps: ClassVar = frozenset({"updated_at"})
    order_id: str = Field(primary_key=True)
    product_id: str
    quantity: int
    supplier: str | None = None
    status: str = Field(default="ordered", sa_type=Caseless)
    ordered_at: Time | None = None
    expected_date: Time | None = None
    notes: str | None = None
    updated_at: str | None = None


class Reservation(Record, table=True):
    """Pieces that are set aside."""

    __tablename__ = "inventory_reservations"
    reservation_id: str = Field(primary_key=True)
    product_id: str
    quantity: int
    reference: str = Field(sa_type=Caseless)
    reserved_at: Time | None = None
