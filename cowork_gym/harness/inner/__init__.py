"""Tools that the harness answers itself: not the world's, so without a trace in its ledger."""

from collections.abc import Mapping

from cowork_gym.harness.inner.delegate import Delegate
from cowork_gym.harness.inner.tool import HarnessTool

__all__ = ["INNER", "Delegate", "HarnessTool"]

INNER: Mapping[str, type[HarnessTool]] = {Delegate.name: Delegate}
"""The tools that a composition may name. `read_skill` comes with skills."""
