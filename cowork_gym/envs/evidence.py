"""Evidence: what a grader may look at, taken from a world as it stands."""

from cowork_gym.core.episode import Dispatch
from cowork_gym.envs.world import World
from cowork_gym.graders.evidence import Evidence

__all__ = ["collect"]


def collect(world: World, dispatches: tuple[Dispatch, ...], answer: str | None) -> Evidence:
    """The evidence of a world as it stands.

    Args:
        world: The world.
        dispatches: Every call, refused ones included.
        answer: The final answer, if there was one.
    """
    blueprint = world.blueprint
    return Evidence(
        start=blueprint.start_rows, changes=world.diff(), ledger=world.ledger, dispatches=dispatches, answer=answer, marks=blueprint.marks,
        aliases=blueprint.aliases,
    )
