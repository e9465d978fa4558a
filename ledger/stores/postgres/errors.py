"""What PostgreSQL's errors mean to the store and to a caller.

SQLSTATE and constraint names decide, never texts.

Source: PostgreSQL documentation, appendix A, "PostgreSQL Error Codes".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import Any

import psycopg
from psycopg.pq import ConnStatus

from ledger.errors import IntegrityError, InvalidInput, LedgerError, StoreBusy, StoreUnavailable

DRIVER_ERRORS = (psycopg.Error, UnicodeEncodeError, OverflowError)
"""What the driver raises, its refusals to encode a value included."""


class Trouble(Enum):
    """What an error asks the writer to do."""

    LOST = "lost"
    """The connection is gone; what it was doing may have been done. Ask again on another one."""
    PLACE_TAKEN = "place taken"
    """A rival in flight was first at a position. Look again."""
    COLLISION = "collision"
    """A claim was taken, or two groups waited for each other. Go append by append."""
    LOCKED = "locked"
    """Somebody holds a lock for too long. Nothing was stored."""
    CANCELLED = "cancelled"
    """The server ended the statement: it took too long, or somebody said so. Nothing was stored."""
    INPUT = "input"
    """One append holds what cannot be stored. Go append by append."""
    ORDER = "order"
    """The global order has a place taken: the server is not the one the epoch was made for."""
    OTHER = "other"


def trouble(error: Exception) -> Trouble:
    """Classify an error of the driver."""
    if not isinstance(error, psycopg.Error):
        return Trouble.INPUT
    state = error.sqlstate
    if state is None:
        # The driver's own: the line broke, or a value could not be encoded.
        return Trouble.LOST if _is_broken(error) else _of_the_driver(error)
    if state in _LOST or state[:2] == "08":
        return Trouble.LOST
    if state == "23505":
        return _CONSTRAINTS.get(error.diag.constraint_name or "", Trouble.OTHER)
    if state in {"40P01", "40001"}:
        return Trouble.COLLISION
    if state == "55P03":
        return Trouble.LOCKED
    if state == "57014":
        return Trouble.CANCELLED
    if state[:2] in {"22", "23", "54"}:
        return Trouble.INPUT
    return Trouble.OTHER


def translate(error: Exception, where: str, holders: Sequence[dict[str, Any]] = ()) -> LedgerError:
    """Build the ledger's error for one of the driver's; `reason` names the cause as a stable word."""
    kind = trouble(error)
    if kind is Trouble.INPUT:
        told = words(error)
        return InvalidInput(f"PostgreSQL cannot store this: {told}", path="append", reason=told)
    if kind is Trouble.LOCKED:
        return locked(where, holders)
    if kind is Trouble.CANCELLED:
        return _cancelled(where, words(error))
    if kind in {Trouble.PLACE_TAKEN, Trouble.COLLISION, Trouble.ORDER}:
        return contended(where)
    if kind is Trouble.LOST:
        advice = f"the connection broke: repeat the same call ({words(error)})"
        return unavailable(where, "connection_lost", advice)
    state = getattr(error, "sqlstate", None)
    if state in {"XX001", "XX002"}:
        return IntegrityError(
            f"{where} is damaged ({words(error)}): keep a copy, then restore a backup",
            reason="damaged",
            where=where,
        )
    unknown = "unexpected", "the database failed in a way the ledger does not know"
    reason, advice = reason_of(state) or unknown
    return unavailable(where, reason, f"{advice} ({words(error)})")


def reason_of(state: str | None) -> tuple[str, str] | None:
    """Return the stable word for an SQLSTATE and what to do; None where nothing is known of it."""
    return _REASONS.get(state or "")


def words(error: Exception) -> str:
    """Return what an error says, on one line and without the statement it points into."""
    if isinstance(error, psycopg.Error):
        told = error.diag
        parts = [told.message_primary, told.message_detail, told.message_hint]
        said = " ".join(part for part in parts if part) or re.sub(r"\n[^\n]*\n *\^", "", str(error))
    else:
        said = str(error)
    return " ".join(said.split())


def unavailable(where: str, reason: str, advice: str) -> StoreUnavailable:
    """Build a StoreUnavailable about a server; its `retryable` is False where no repeat helps."""
    message = f"{where}: {advice}"
    if reason in FINAL:
        return StoreUnavailable(message, reason=reason, where=where, retryable=False)
    return StoreUnavailable(message, reason=reason, where=where)


def closed(where: str) -> StoreUnavailable:
    """Build the error of a store that was closed."""
    return unavailable(where, "closed", "this ledger was closed: open it again")


def locked(where: str, holders: Sequence[dict[str, Any]]) -> StoreBusy:
    """Build the error of waiting in vain for a lock; `holders` may have it."""
    return StoreBusy(
        f"{where}: a transaction kept what this needs, nothing was stored: {named(holders)}",
        reason="locked",
        where=where,
        holders=list(holders),
    )


def _cancelled(where: str, told: str) -> StoreBusy:
    return StoreBusy(
        f"{where}: the server ended this statement, nothing was stored: repeat it, and where it takes "
        f"too long each time, see what keeps the server busy and what statement_timeout it has ({told})",
        reason="cancelled",
        where=where,
    )


def contended(where: str) -> StoreBusy:
    """Build the error of losing every try to somebody who then did not keep what he took."""
    return StoreBusy(
        f"{where}: others were in the way each time, nothing was stored: back off and repeat",
        reason="contended",
        where=where,
    )


def named(holders: Sequence[dict[str, Any]]) -> str:
    """Say in words who holds."""
    if not holders:
        return "who it is could not be told"
    return ", ".join(_name(holder) for holder in holders)


def _name(holder: dict[str, Any]) -> str:
    who = (
        f"pid {holder['pid']}"
        if holder["prepared"] is None
        else f"prepared transaction {holder['prepared']!r}"
    )
    facts = [
        f"application {holder['application']!r}" if holder["application"] else None,
        f"database {holder['database']!r}" if holder["database"] else None,
        holder["state"],
        f"for {holder['seconds']:.0f} s" if holder["seconds"] is not None else None,
    ]
    return f"{who} ({', '.join(fact for fact in facts if fact)})"


def _is_broken(error: psycopg.Error) -> bool:
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    connection = error.pgconn
    return connection is None or connection.status != ConnStatus.OK


def _of_the_driver(error: psycopg.Error) -> Trouble:
    return Trouble.INPUT if isinstance(error, psycopg.DataError | psycopg.ProgrammingError) else Trouble.OTHER


FINAL = frozenset(
    {
        "closed",
        "empty",
        "encoding",
        "forked",
        "incomplete",
        "login_refused",
        "missing",
        "no_database",
        "no_privilege",
        "no_ssl",
        "no_tenant",
        "not_a_ledger",
        "not_a_replica",
        "pooled",
        "too_old",
    }
)
"""Reasons that stay until somebody does something about them."""

_POOLED = (
    "pooled",
    "a pooler that lends sessions is in between: write prepare_threshold=none into the query of the address",
)
_LOGIN_REFUSED = (
    "login_refused",
    "the server does not let this login in: check user and password, and what pg_hba.conf asks of it",
)

_LOST = frozenset({"57P01", "57P02", "57P03", "57P05", "25P03", "25P04"})
"""Ends of a session that the server tells about: shut down, crashed, starting, or too long idle."""

_CONSTRAINTS = {
    "events_place": Trouble.PLACE_TAKEN,
    "events_claim": Trouble.COLLISION,
    "events_gid": Trouble.ORDER,
    "heads_place": Trouble.COLLISION,
    "blobs_place": Trouble.COLLISION,
}

_REASONS = {
    "25006": ("read_only", "the server only reads: connect to the primary, not to a replica"),
    "26000": _POOLED,
    "28000": _LOGIN_REFUSED,
    "28P01": _LOGIN_REFUSED,
    "3D000": ("no_database", "the database is not there: create it, or name another"),
    "3F000": ("missing", "the ledger's schema is not there"),
    "42P01": ("missing", "the ledger's tables are not there"),
    "42P05": _POOLED,
    "42501": ("no_privilege", "this role may not do that: grant it, or connect as another"),
    "53100": ("disk_full", "the server's disk is full: make room and repeat"),
    "53200": ("no_memory", "the server has not enough memory"),
    "53300": ("too_many_connections", "the server takes no more connections: repeat later"),
    "58030": ("io_error", "the server's disk failed: check it, then repeat"),
}
