"""What the how-to tells operators to do does what it says."""

from __future__ import annotations

import re
import secrets
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from ledger import open_ledger
from ledger.errors import StoreUnavailable
from ledger.stores.postgres.inspection import inspect, server_of
from ledger.stores.postgres.roles import Roles
from ledger.stores.postgres.setup import set_up
from ledger.stores.postgres.store import PostgresStore
from tests.servers.cluster import Cluster
from tests.stores.builder import assert_whole, everything, one, part

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "postgresql.md"
LOGINS = ("ledger_admin", "app", "auditor", "acme")
NAMES = (*LOGINS, *Roles.named("ledger"))


def test_the_roles_of_the_page_may_do_what_it_says(postgres: Cluster, fresh_database: str) -> None:
    suffix = secrets.token_hex(6)
    database = fresh_database.rpartition("/")[2]

    def here(statement: str) -> str:
        """Give the page's roles names of this test, and its database this one's name."""
        statement = statement.replace("DATABASE app", f'DATABASE "{database}"')
        return re.sub(rf"\b({'|'.join(NAMES)})\b(?!-)", lambda name: renamed(name[0]), statement)

    def renamed(name: str) -> str:
        return (
            f"ledger{suffix}{name.removeprefix('ledger')}"
            if name in Roles.named("ledger")
            else f"{name}_{suffix}"
        )

    def url(login: str) -> str:
        return postgres.url(database, user=renamed(login), password="secret")

    admin, logins, tenant, settings = re.findall(
        r"^```sql\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    with psycopg.connect(fresh_database, autocommit=True) as superuser:
        superuser.execute(here(admin))
        created = set_up(server_of(url("ledger_admin")), Roles.named(f"ledger{suffix}")).created
        assert created == tuple(map(renamed, Roles.named("ledger")))
        superuser.execute(here(logins))
        superuser.execute(here(settings))
    # Who set the ledger up opens tenants too.
    with psycopg.connect(url("ledger_admin"), autocommit=True) as connection:
        connection.execute(here(tenant))

    with open_ledger(url("app"), tenant="acme-corp") as ledger:
        ledger.open_run("r", "g")
    with open_ledger(url("app"), tenant="other") as ledger:
        ledger.open_run("r", "g")
    with closing(PostgresStore(url("auditor"))) as store:
        assert {row.tenant for row in assert_whole(store)} == {"acme-corp", "other"}
        with pytest.raises(StoreUnavailable):
            store.append(one(part("new", "a")))
    with closing(PostgresStore(url("acme"))) as store:
        assert {row.tenant for row in everything(store)} == {"acme-corp"}
    seen = inspect(f"{url('app')}?prepare_threshold=none")
    waits = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
    assert "0" not in {seen.settings[name] for name in waits}
