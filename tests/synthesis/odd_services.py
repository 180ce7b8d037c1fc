"""Services that break what every service promises."""

from cowork_gym.mock_services.kit import Effect, Field, Record, Service, tool

__all__ = ["Desks"]


class Desk(Record, table=True):
    """A desk."""

    desk_id: str = Field(primary_key=True)
    name: str


class Desks(Service):
    """Teams and their desks."""

    name = "desks"
    tables = (Desk,)

    @tool(Effect.READ)
    def list_desks(self, floor: int | None = None) -> list[str]:
        """List the desks.

        Args:
            floor: Only desks on this floor.
        """
        return [row.name for row in self.store.find(Desk)]

    @tool(Effect.READ)
    def count_desks(self) -> list[str]:
        """Count the desks."""
        return len(self.store.find(Desk))  # type: ignore[return-value]
