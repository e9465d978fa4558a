"""The steps of the gateway's protocol, and the act that they are about: what its drivers are asked to do."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from ledger import commands as c
from ledger.gateway.tools import Tool
from ledger.run.history import EffectHistory
from ledger.values import Payload

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Act:
    """What is to be performed, by its names within the lineage."""

    tool: Tool
    key: str
    args: str
    """Canonical JSON of the arguments."""
    values: Any
    """What the tool is called with."""
    claim: c.ClaimEffect
    is_fork: bool = False
    once: bool = False
    """The body runs at most once here, whatever the tool's retry says."""
    patience: float = 0.0
    """How many seconds to wait for another worker, or until nothing that was sent can still land."""
    runtime: Any = None
    """The model and its settings, where a model is asked."""
    with_secret: bool = False
    """The arguments hold a secret, so that the claim will be refused."""
    clean: Callable[[str], str] = str
    """Replaces the secrets in what is told of it."""
    unsendable: str | None = None
    """Why who asks what became of it must not send it again; None: it may, while the outside remembers."""


# --- to perform ----------------------------------------------------------------------------------


class Claim(NamedTuple):
    """Say the claim; answered with an Attempt, or None where the act was done. Raises what a claim meets."""


class Attempt(NamedTuple):
    """A claimed attempt."""

    number: int
    lease_until: datetime | None


class Execute(NamedTuple):
    """Run the tool's function; answered with Returned, Raised or NotBegun."""

    attempt: Attempt


class Returned(NamedTuple):
    """The function returned."""

    value: Any


class Raised(NamedTuple):
    """The function, or the probe, raised."""

    error: Exception


class NotBegun(NamedTuple):
    """The lease, or the time that is left, ended before the function was called."""


class Observed(NamedTuple):
    """What was asked answered, and that is recorded."""

    result: Any
    stated: Any
    """What the report came to: a `Stated`."""


# --- to find out ---------------------------------------------------------------------------------


class Ask(NamedTuple):
    """Ask the probe; answered with what it answers, or Raised."""


class Weigh(NamedTuple):
    """Read what is known of the effect and what time it is; answered with a Moment."""


class Moment(NamedTuple):
    """What is known of an effect at one moment of the clock of leases."""

    known: EffectHistory | None
    now: datetime
    lease_until: datetime | None
    """Until when the last lease was renewed; None where it was not."""
    against: str | None = None
    """What the contract as it stands has against sending it again; None: nothing."""


class Resend(NamedTuple):
    """Run the tool's function under the same key, for no lease; answered as Execute is.

    NotBegun where the time is over right before the call.
    """

    attempt: int
    """Number of the last attempt, of which this sends the request again."""
    until: datetime | None
    """When the outside may forget the key, by the clock of leases; None: never."""


# --- to record and to read -----------------------------------------------------------------------


class Report(NamedTuple):
    """Say a report until it is stored; answered with what it came to: a `Stated`.

    `result` is packed, with secrets redacted, and goes with it under this name where there is one.
    """

    kind: type[c.Command]
    fields: dict[str, Any]
    result: Any = None
    name: str = "result"


class Again(NamedTuple):
    """Read a result that was just reported as a repeat reads it; where not all of it is kept, as it is."""

    result: Any


class Look(NamedTuple):
    """Read the history of the effect; answered with EffectHistory or None."""


class MayLook(NamedTuple):
    """Make sure that no rule of the run forbids to ask the outside; answered with nothing, or it raises."""


class See(NamedTuple):
    """Read the latest observation of the act's key that is fresh still; answered with a Payload or None."""


class Read(NamedTuple):
    """Read the value of a payload."""

    payload: Payload


class Wait(NamedTuple):
    """Wait so many seconds."""

    seconds: float


Step = Claim | MayLook | Execute | Ask | Weigh | Resend | Report | Again | Look | See | Read | Wait
Steps = Generator[Step, Any, T]
