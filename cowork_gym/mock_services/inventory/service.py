"""The inventory's tools."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field as Bounds
from typing_extensions import TypedDict

from cowork_gym.mock_services.inventory.records import Order, Product, Reservation
from cowork_gym.mock_services.kit import Effect, ErrorKind, Service, ToolError, View, given, tool
from cowork_gym.mock_services.kit.types import Day, Text

__all__ = [
    "Inventory", "OrderCreated", "OrderList", "OrderStatus", "OrderUpdated", "ProductList", "Quantity", "ReservationList", "Reserved",
]

Quantity = Annotated[int, Bounds(ge=1, le=1_000_000)]
"""How many pieces."""
OrderStatus = Literal["ordered", "confirmed", "shipped", "received", "cancelled"]
"""How far an order is."""
_OVER = ("received", "cancelled")


class ProductList(TypedDict):
    """Whole products, ordered by id."""

    products: list[View]
    total: int


class OrderList(TypedDict):
    """Whole orders, ordered by id."""

    orders: list[View]
    total: int


class ReservationList(TypedDict):
    """Whole reservations, ordered by id."""

    reservations: list[View]
    total: int


class OrderCreated(TypedDict):
    """An order that went out."""

    status: Literal["created"]
    order: View


class OrderUpdated(TypedDict):
    """An order after an update."""

    status: Literal["updated"]
    order: View


class Reserved(TypedDict):
    """A reservation that was made, and how many pieces are still available."""

    status: Literal["reserved"]
    reservation: View
    available: int


class Inventory(Service):
    """Stock keeping: products with stock and reorder point, orders from suppliers, reservations."""

    name = "inventory"
    tables = (Product, Order, Reservation)
    aliases: ClassVar = {"orders": "created_orders"}

    @tool(Effect.READ)
    def list_products(self, category: Text | None = None, low_stock: bool = False) -> ProductList:
        """List products with every field, ordered by id. Without filters all are listed; both filters must hold.

        Available is what is on hand less what is reserved.

        Args:
            category: Only products of this category, in any case.
            low_stock: Only products of which no more are available than their reorder point says; those without one are never low.
        """
        rows = self.store.find(Product, **given(category=category))
        found = [Product.shown(row) for row in rows if not low_stock or _is_low(row)]
        return {"products": found, "total": len(found)}

    @tool(Effect.READ)
    def get_product(self, product_id: str) -> View:
        """Get one product with every field on record.

        Args:
            product_id: The product's id, as inventory_list_products gives it.
        """
        return Product.shown(self.store.get(Product, product_id))

    @tool(Effect.READ)
    def list_orders(self, status: Text | None = None, product_id: Text | None = None) -> OrderList:
        """List orders from suppliers with every field, ordered by id. Without filters all are listed; both filters must hold.

        Args:
            status: Only orders with this status, in any case, such as ordered, shipped or cancelled.
            product_id: Only orders of this product.
        """
        rows = self.store.find(Order, **given(status=status, product_id=product_id))
        return {"orders": [Order.shown(row) for row in rows], "total": len(rows)}

    @tool(Effect.READ)
    def get_order(self, order_id: str) -> View:
        """Get one order with every field on record.

        Args:
            order_id: The order's id, as inventory_list_orders gives it.
        """
        return Order.shown(self.store.get(Order, order_id))

    @tool(Effect.WRITE, audit="created_orders")
    def create_order(self, product_id: str, quantity: Quantity, supplier: Text | None = None, notes: Text | None = None) -> OrderCreated:
        """Order more of a product at once. The stock grows when the order is received. Orders that are under way are not looked at.

        Args:
            product_id: The product to order.
            quantity: How many pieces.
            supplier: From whom; the product's own supplier unless given.
            notes: A remark for the order.

        Raises:
            ToolError: There is no such product, or nobody to order it from.
        """
        product = self.store.get(Product, product_id)
        supplier = supplier or product.supplier
        if not supplier:
            raise ToolError(f"product {product_id} has no supplier: name one")
        row = self.store.insert(
            Order, order_id=self.store.new_id("ORD"), product_id=product_id, quantity=quantity, supplier=supplier, status="ordered",
            ordered_at=self.stamp, notes=notes,
        )
        self.audit({**Order.shown(row), "timestamp": self.stamp})
        return {"status": "created", "order": Order.shown(row)}

    @tool(Effect.WRITE, audit="updated_orders")
    def update_order(
        self, order_id: str, status: OrderStatus | None = None, quantity: Quantity | None = None, expected_date: Day | None = None,
        notes: Text | None = None,
    ) -> OrderUpdated:
        """Change an order. What is not given stays as it is; at least one change must be given.

        An order that is received adds its quantity to the product's stock. One that was received or cancelled cannot be changed any more.

        Args:
            order_id: The order to change.
            status: The new status.
            quantity: How many pieces it is now to be.
            expected_date: The day on which it is now to arrive.
            notes: The new remark, in place of the present one.

        Raises:
            ToolError: There is no such order, it was received or cancelled, or no change was given.
        """
        changes = given(status=status, quantity=quantity, expected_date=expected_date, notes=notes)
        if not changes:
            raise ToolError("nothing to change: give at least one of status, quantity, expected_date, notes")
        present = self.store.get(Order, order_id).status.lower()
        if present in _OVER:
            raise ToolError(f"Order {order_id} is {present} already", ErrorKind.CONFLICT)
        row = self.store.update(Order, order_id, **changes, updated_at=self.stamp)
        if status == "received":
            self.store.update(Product, row.product_id, on_hand=self.store.get(Product, row.product_id).on_hand + row.quantity)
        self.audit(Order.shown(row))
        return {"status": "updated", "order": Order.shown(row)}

    @tool(Effect.READ)
    def list_reservations(self, product_id: Text | None = None, reference: Text | None = None) -> ReservationList:
        """List reservations with every field, ordered by id. Without filters all are listed; both filters must hold.

        Args:
            product_id: Only reservations of this product.
            reference: Only reservations for this reference, in any case.
        """
        rows = self.store.find(Reservation, **given(product_id=product_id, reference=reference))
        return {"reservations": [Reservation.shown(row) for row in rows], "total": len(rows)}

    @tool(Effect.WRITE, audit="reservations")
    def reserve(self, product_id: str, quantity: Quantity, reference: Text) -> Reserved:
        """Set pieces of a product aside. It cannot be taken back. Reservations for the same reference are not looked for.

        Args:
            product_id: The product.
            quantity: How many pieces: at most what is on hand less what is reserved already.
            reference: For whom or what, such as the id of a ticket, a customer or an order.

        Raises:
            ToolError: There is no such product, or fewer pieces are available.
        """
        product = self.store.get(Product, product_id)
        if quantity > _available(product):
            stock = f"{product.on_hand} on hand, {product.reserved} of them reserved"
            raise ToolError(f"{quantity} pieces of {product_id} are not available: {stock}", ErrorKind.CONFLICT)
        product = self.store.update(Product, product_id, reserved=product.reserved + quantity)
        row = self.store.insert(
            Reservation, reservation_id=self.store.new_id("RSV"), product_id=product_id, quantity=quantity, reference=reference,
            reserved_at=self.stamp,
        )
        self.audit({**Reservation.shown(row), "timestamp": self.stamp})
        return {"status": "reserved", "reservation": Reservation.shown(row), "available": _available(product)}


def _available(product: Any) -> int:
    return int(product.on_hand - product.reserved)


def _is_low(product: Any) -> bool:
    return product.reorder_point is not None and _available(product) <= product.reorder_point
