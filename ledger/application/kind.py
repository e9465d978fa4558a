"""What a kind of stream means: how it is folded, decided, and kept in snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

from ledger.application.edge import Edge
from ledger.application.statements import Asking
from ledger.commands import Command
from ledger.events import Event
from ledger.record import ZERO_HASH, Record, TermsMark
from ledger.run.decision import Decision, Given, Judgement, Looked, PassedOn, Refusal
from ledger.stores.base import SnapshotRow

S = TypeVar("S")


class Head(NamedTuple):
    """Where a state stands in its stream."""

    position: int
    hash: bytes
    at: datetime | None
    terms: TermsMark | None


NOWHERE = Head(0, ZERO_HASH, None, None)


class Found(Generic[S], NamedTuple):
    """A state as it was read, and the snapshot it was read from."""

    state: S
    snapshot_at: int = 0
    """Position of the snapshot; 0: none."""
    snapshot_bytes: int = 0


class Seen(Generic[S], NamedTuple):
    """A state and where it stands: one value, so that no interrupt falls between the two."""

    state: S
    head: Head


class Beside(NamedTuple, Generic[S]):
    """What else a command is decided on: other streams of this kind, and its own in the past."""

    others: Mapping[str, S]
    """The states of the streams that exist, by name."""
    then: S | None = None
    passed_on: PassedOn = PassedOn()
    """What other streams have of a grant that is to end."""


class Prior(NamedTuple):
    """Which records to look up that a command is decided on: those under one of these digests."""

    key: bytes | None = None
    act: bytes | None = None
    limit: int = 8
    """The newest so many."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[S]):
    """What a kind of stream means: how it is folded, decided, and kept in snapshots."""

    head: Callable[[S], Head]
    evolve: Callable[[S, Record], S]
    replay: Callable[[Iterable[Record], S], S]
    """Apply several records at once, which leaves out what only a state in between would need."""
    decide: Callable[[S, Command, Given], Decision]
    load: Callable[[Edge, str], Found[S]]
    """Read the state as it is stored."""
    prior: Callable[[str, S, Command], Prior | None]
    """Say where to look for what a command speaks of and the state no longer holds."""
    sources: Callable[[S, Command], Iterable[str]]
    """Say on which source streams a command is decided."""
    judges_leases: Callable[[Command], bool] = lambda command: False
    """Tell whether a command is decided by the time of a lease."""
    is_wanted: Callable[[S, Command], bool] = lambda state, command: False
    """Tell whether the store has to be asked about an effect before the first try."""
    look_up: Callable[[Edge, S, Command, datetime], Looked | None] = lambda edge, state, command, now: None
    """Read what the store holds of the effect a command speaks of."""
    beside: Callable[[Edge, S, Command], Beside[S] | None] = lambda edge, state, command: None
    """Read the other streams that a command speaks of; None where it speaks of none."""
    is_bound_above: Callable[[S, Command], bool] = lambda state, command: False
    """Tell whether a command is decided on the streams above this one, beside those that speak of others."""
    past: Callable[[Edge, str, int], S] | None = None
    """Read the state as it was at a position."""
    told: Callable[[S, Command, Sequence[Record]], Refusal | None] = lambda state, command, records: None
    """Say what to tell who asked where what was recorded is not what they asked for, from the state then."""
    telling: tuple[type[Event], ...] = ()
    """Events of which that has to be asked."""
    weigh: Callable[[S, Command, Given], Any] | None = None
    """Say what a command would be told now."""
    judge: Callable[[Edge, S, Given, Asking], Judgement] | None = None
    """Ask the gate, for a command that was given an `Asking`."""
    snapshot: Callable[[S], SnapshotRow] | None = None
    is_source: bool = False
