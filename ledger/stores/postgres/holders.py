"""Who keeps others waiting: sessions and prepared transactions, as plain values for an error's data."""

from __future__ import annotations

from typing import Any

from ledger.stores.postgres.session import Session


def holders_of_transaction(session: Session, transaction: int) -> list[dict[str, Any]]:
    """Name who holds a transaction open, in whatever database; nobody where it has ended meanwhile."""
    return list(map(described, session.fetch("holders", transaction)))


def lock_holders(session: Session, schema: str, seconds: float) -> list[dict[str, Any]]:
    """Name who has kept locks on tables of a schema for so long.

    What the server does not show this role (state and age of other roles' sessions) is None.
    """
    return list(map(described, session.fetch("lock_holders", schema, float(seconds))))


def described(row: tuple[Any, ...]) -> dict[str, Any]:
    """Return one who keeps others waiting as plain values."""
    pid, database, user, application, state, seconds, prepared = row
    return {
        "pid": pid,
        "database": database,
        "user": user,
        "application": application,
        "state": state,
        "seconds": seconds,
        "prepared": prepared,
    }
