"""Look at the replica that an address names: whether it is one of this very server, and how far behind."""

from __future__ import annotations

from contextlib import closing
from typing import NamedTuple

from ledger.errors import LedgerError
from ledger.stores.postgres.errors import DRIVER_ERRORS, translate
from ledger.stores.postgres.server import Server
from ledger.stores.postgres.session import Session


class Replica(NamedTuple):
    """What a replica looks like from outside."""

    where: str
    trouble: str | None
    """Why nothing is read there; None where it is as it should be."""
    bytes_behind: int = 0
    """What of its primary's log it has not replayed yet."""
    seconds_behind: float = 0.0
    """Age of the last commit it shows, 0 where it shows all."""


def look_at(replica: Server, primary: Session) -> Replica:
    """Look at a replica beside a session of the server it should be one of."""
    origin, position = primary.fetch("identity")[0], primary.fetch("log_position")[0][0]
    try:
        with closing(replica.replica(origin)) as session:
            replayed, seconds = session.fetch("replayed")[0][0], session.fetch("shown")[0][0]
    except LedgerError as error:
        return Replica(replica.where, str(error))
    except DRIVER_ERRORS as error:
        return Replica(replica.where, str(translate(error, replica.where)))
    behind = max(position - replayed, 0)
    return Replica(replica.where, None, behind, seconds if behind else 0.0)
