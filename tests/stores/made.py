"""Make the tables of a read model, by whoever may."""

from __future__ import annotations

from contextlib import closing

from ledger.errors import StoreUnavailable
from ledger.stores.base import FullStore
from ledger.stores.postgres.store import PostgresStore
from ledger.stores.read_models import Model
from tests.servers.cluster import shared


def make(store: FullStore, model: Model) -> None:
    """Make the tables in a store; where its login may not, an administrator does."""
    try:
        store.read_models().create(model)
    except StoreUnavailable as error:
        if error.data["reason"] != "no_privilege":
            raise
        assert isinstance(store, PostgresStore)
        with closing(PostgresStore(shared().url(), schema=store.schema)) as owners:
            owners.read_models().create(model)
