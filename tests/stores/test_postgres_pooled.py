"""A pooler that lends sessions, and an address that does not say so: the errors name what to write."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import psycopg
import pytest

from ledger.errors import StoreUnavailable
from ledger.stores.postgres.errors import translate
from ledger.stores.postgres.store import PostgresStore
from tests.servers.bouncer import Bouncer
from tests.servers.cluster import Cluster


def test_a_pooler_that_takes_no_settings_is_told_by_its_name(
    postgres: Cluster, fresh_database: str, pooler: Callable[..., Bouncer]
) -> None:
    through = pooler(postgres).url(fresh_database)
    with pytest.raises(StoreUnavailable, match="prepare_threshold=none") as refused:
        PostgresStore(through)
    assert (refused.value.data["reason"], refused.value.retryable) == ("pooled", False)
    PostgresStore(f"{through}?prepare_threshold=none").close()


@pytest.mark.parametrize(
    ("statement", "state"),
    [("PREPARE a AS SELECT 1; PREPARE a AS SELECT 1", "42P05"), ("EXECUTE another", "26000")],
)
def test_a_prepared_statement_of_another_session_names_the_pooler(
    fresh_database: str, statement: str, state: str
) -> None:
    with closing(psycopg.connect(fresh_database)) as connection, pytest.raises(psycopg.Error) as raised:
        connection.execute(statement.encode())
    assert raised.value.sqlstate == state
    told = translate(raised.value, "here")
    assert told.data["reason"] == "pooled"
    assert "prepare_threshold=none" in str(told)
