"""The inventory: products in stock, orders that refill them, and reservations of what is there."""

from cowork_gym.mock_services.inventory.records import Order, Product, Reservation
from cowork_gym.mock_services.inventory.service import Inventory

__all__ = ["Inventory", "Order", "Product", "Reservation"]
