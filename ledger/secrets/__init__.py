"""What is taken for a secret, where one stands in a value, and the value without it.

The ledger stores no secret. Arguments that hold one are refused; reports cannot be refused, so in them it is
replaced. Secrets are known by the names of fields and by the shapes of tokens; one that has neither is not
known for a secret.
"""

from ledger.secrets.finding import (
    Found,
)
from ledger.secrets.names import (
    DEFAULT_NAMES,
)
from ledger.secrets.policy import (
    Secrets,
)
from ledger.secrets.resolved import (
    without_values,
)
from ledger.secrets.shapes import (
    DEFAULT_SHAPES,
    Shape,
)

__all__ = [
    "DEFAULT_NAMES",
    "DEFAULT_SHAPES",
    "Found",
    "Secrets",
    "Shape",
    "without_values",
]
