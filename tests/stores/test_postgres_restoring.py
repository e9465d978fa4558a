"""What the how-to says of restoring on another server, command by command."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from ledger import open_ledger
from ledger.adapters.cli import main
from ledger.stores.postgres.inspection import server_of
from ledger.stores.postgres.roles import Roles
from ledger.stores.postgres.setup import set_up
from tests.servers.cluster import Cluster, Server

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "postgresql.md").read_text()
ADMIN, LOGINS, *_ = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^    (\S.*)$", PAGE.partition("## Back up and restore")[2], re.MULTILINE)

BUSY = "DO $$ BEGIN FOR i IN 1..3000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"


class Servers:
    """The two servers of the page, `db` and `new`, and its commands as somebody types them."""

    def __init__(self, folder: Path, old: Cluster, new: Cluster) -> None:
        self._folder = folder
        self._servers = {"db": old, "new": new}
        for cluster in (old, new):
            with psycopg.connect(cluster.url(), autocommit=True) as superuser:
                superuser.execute("CREATE DATABASE app")

    def prepare(self, server: str, statements: str) -> None:
        """Run what the page shows as SQL, as a superuser."""
        with psycopg.connect(self._servers[server].url("app"), autocommit=True) as superuser:
            superuser.execute(statements.encode())

    def url(self, login: str, server: str) -> str:
        """Return the URL of a login of the page."""
        return self._servers[server].url("app", user=login, password="secret")

    def superuser(self, server: str, *, like: str | None = None) -> str:
        """Return the URL of a superuser, who may have the password of the one of another server."""
        return self._servers[server].url("app", password=self._servers[like or server].password)

    def run(self, command: str) -> int:
        """Run a command of the page and return its exit code."""
        said = re.sub(r"postgresql://(\w+)@(\w+)/app", lambda to: self.url(to[1], to[2]), command)
        program, *words = shlex.split(said)
        if program == "intent-ledger":
            return main(words)
        *arguments, arrow, file = words
        full = self._servers["db"].installation.program(program)
        path = self._folder / file
        with path.open("wb" if arrow == ">" else "rb") as stream:
            ends = {"stdout": stream} if arrow == ">" else {"stdin": stream, "stdout": subprocess.DEVNULL}
            return subprocess.run(
                [full, *arguments], stderr=subprocess.DEVNULL, check=False, **ends
            ).returncode


@pytest.fixture
def servers(other_cluster: Callable[..., Server], tmp_path: Path) -> Servers:
    """Return a server with a ledger as the page sets it up, and a new one."""
    servers = Servers(tmp_path, other_cluster().cluster, other_cluster().cluster)
    servers.prepare("db", ADMIN)
    set_up(server_of(servers.url("ledger_admin", "db")), Roles.named("ledger"))
    servers.prepare("db", LOGINS)
    # The old server has done more than the new one will have: its global order is ahead.
    servers.prepare("db", BUSY)
    with open_ledger(servers.url("app", "db")) as ledger:
        ledger.open_run("r", "g")
    return servers


@pytest.mark.slow
def test_a_ledger_is_restored_as_the_page_says(servers: Servers, capsys: pytest.CaptureFixture[str]) -> None:
    dump, restore, migrate, connect, verify = COMMANDS
    assert servers.run(dump) == 0
    servers.prepare("new", ADMIN)
    servers.run(restore)
    assert servers.run(migrate) == 0
    servers.prepare("new", LOGINS)
    assert servers.run(verify) == 2
    assert servers.run(connect) == 0
    capsys.readouterr()
    assert servers.run(f"{verify} --json") == 0
    assert '"sound"' in capsys.readouterr().out
    with open_ledger(servers.url("app", "new")) as ledger:
        assert ledger.contract("r").goal is not None
        ledger.run("r").move("n")
    # Nobody who uses the ledger owns what guards it.
    assert servers.run("intent-ledger doctor --ledger postgresql://app@new/app") == 0
    with (
        psycopg.connect(servers.url("app", "new")) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("ALTER TABLE intent_ledger.events DISABLE TRIGGER ALL")


@pytest.mark.slow
def test_what_a_superuser_has_restored_is_given_to_who_migrates(servers: Servers) -> None:
    dump, restore, migrate, *_ = COMMANDS
    assert servers.run(dump) == 0
    servers.prepare("new", ADMIN)
    as_superuser = servers.superuser("new")
    servers.run(restore.replace("postgresql://ledger_admin@new/app", as_superuser))
    assert servers.run(migrate) != 0
    assert servers.run(migrate.replace("postgresql://ledger_admin@new/app", as_superuser)) == 0
    servers.prepare("new", "GRANT ledger_owner TO ledger_admin")
    assert servers.run(migrate) == 0
    servers.prepare("new", LOGINS)
    with open_ledger(servers.url("app", "new")) as ledger:
        ledger.run("r").move("n")


@pytest.mark.slow
def test_with_its_roles_a_dump_brings_everything_back(servers: Servers) -> None:
    servers.prepare("db", "INSERT INTO intent_ledger.members VALUES ('auditor', 'one')")
    old = servers.superuser("db")
    for command in (
        f"pg_dumpall --roles-only --database {old} > roles.sql",
        f"pg_dump {old} > ledger.sql",
        f"psql {servers.superuser('new')} < roles.sql",
    ):
        assert servers.run(command) == 0
    # The roles that were restored have the passwords of the old server, the superuser included.
    restorer = servers.superuser("new", like="db")
    assert servers.run(f"psql --set ON_ERROR_STOP=1 {restorer} < ledger.sql") == 0
    with open_ledger(servers.url("app", "new")) as ledger:
        ledger.run("r").move("n")
    with psycopg.connect(restorer) as connection:
        found = connection.execute("SELECT role::text FROM intent_ledger.members WHERE tenant = 'one'")
        assert found.fetchall() == [("auditor",)]
