"""The store as the transaction that is open on a connection sees it."""

from __future__ import annotations

from collections.abc import Sequence

from ledger.stores.postgres.session import Session
from ledger.stores.probe import NOTHING, Place, Stored


class View:
    """What the decision about an append looks at."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def last(self, tenant: str, stream: str) -> tuple[int, bytes]:
        found = self._session.fetch("last", tenant, stream)
        return found[0] if found else NOTHING

    def stored(self, tenant: str, stream: str, after: int, upto: int) -> Sequence[Stored]:
        return list(map(Stored._make, self._session.fetch("stored", tenant, stream, after, upto)))

    def head(self, tenant: str, stream: str) -> int | None:
        found = self._session.fetch("head", tenant, stream)
        return found[0][0] if found else None

    def holder(self, tenant: str, claim: bytes) -> Place | None:
        found = self._session.fetch("holder", tenant, claim)
        return Place._make(found[0]) if found else None

    def intended(self, tenant: str, act: bytes, known: int) -> Place | None:
        found = self._session.fetch("intended", tenant, act, known)
        return Place._make(found[0]) if found else None
