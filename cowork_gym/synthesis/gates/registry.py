"""The gates in the order in which they are asked. A new one is one import and one entry."""

from cowork_gym.synthesis.gates.allowlist import ALLOWLIST
from cowork_gym.synthesis.gates.completeness import COMPLETENESS
from cowork_gym.synthesis.gates.contracts import CONTRACTS
from cowork_gym.synthesis.gates.copycat import COPYCAT
from cowork_gym.synthesis.gates.degenerate import DEGENERATE
from cowork_gym.synthesis.gates.determinism import DETERMINISM
from cowork_gym.synthesis.gates.discoverable import DISCOVERABLE
from cowork_gym.synthesis.gates.drop_one import DROP_ONE
from cowork_gym.synthesis.gates.faults import FAULTS
from cowork_gym.synthesis.gates.gate import Gate
from cowork_gym.synthesis.gates.leaks import LEAKS
from cowork_gym.synthesis.gates.ledger import LEDGER
from cowork_gym.synthesis.gates.mutation import MUTATION
from cowork_gym.synthesis.gates.negatives import NEGATIVES
from cowork_gym.synthesis.gates.package import PACKAGE
from cowork_gym.synthesis.gates.reference import REFERENCE
from cowork_gym.synthesis.gates.silent import SILENT
from cowork_gym.synthesis.gates.simulator import SIMULATOR
from cowork_gym.synthesis.gates.values import VALUES
from cowork_gym.synthesis.gates.variation import VARIATION
from cowork_gym.synthesis.gates.weights import WEIGHTS

__all__ = ["GATES"]

GATES: tuple[Gate, ...] = (
    PACKAGE,
    CONTRACTS,
    WEIGHTS,
    LEAKS,
    REFERENCE,
    DISCOVERABLE,
    ALLOWLIST,
    DETERMINISM,
    VARIATION,
    COMPLETENESS,
    NEGATIVES,
    DEGENERATE,
    DROP_ONE,
    COPYCAT,
    VALUES,
    FAULTS,
    SILENT,
    SIMULATOR,
    MUTATION,
    LEDGER,  # last, since it looks at every episode that the others played
)
"""All gates."""
