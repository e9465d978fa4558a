"""What is read of the record beside read models, as of the same moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ledger.stores.base import StoredRow
    from ledger.stores.read_models import Behind


class Records(Protocol):
    """Records as of the moment of a look, read on the connection that looks: no other one is waited for."""

    def read(
        self, stream: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> list[StoredRow]:
        """Read records of a stream of the tenant by position: after < position ≤ upto, ascending."""

    def tail(self, *, after: int = 0, limit: int = 500, everyone: bool = False) -> list[StoredRow]:
        """Read the tenant's records in global order, or with `everyone` those of all tenants."""

    def end(self) -> int:
        """Return the gid up to which `tail` shows everything there will ever be; 0 in an empty store."""

    def behind(self, after: int) -> Behind:
        """Count the tenant's records with gid > after, shown to followers or not."""
