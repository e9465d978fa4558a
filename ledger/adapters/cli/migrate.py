"""`migrate`: bring a ledger to this program's schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ledger.adapters.cli.verbs import Call, verb

HELP = """Bring a ledger to the schema of this program.

All steps are one transaction. Shows the schema before and after; where it is up to date nothing is done. On
PostgreSQL it creates the schema where there is none.

--roles sets up who may do what on PostgreSQL: NAME_owner, whose tables they then are, NAME_writer,
NAME_reader and NAME_every_tenant. None of them logs in; make your logins members of them. It may be repeated,
as after a restore into another server, which has no such roles yet.

No other command migrates: a reader must not lock out older programs that still use the ledger. Stop those
first, for they refuse a newer schema. (Programs that call open_ledger migrate when they open.)

\b
Example:
  intent-ledger migrate --ledger runs.db
  intent-ledger migrate --ledger postgresql://admin@db/ledger --roles ledger
"""

RolesOption = Annotated[
    str | None,
    typer.Option("--roles", metavar="NAME", help="Set up database roles whose names begin so (PostgreSQL)."),
]


@verb(tenant=False)
def migrate(
    call: Call,
    roles: RolesOption = None,
) -> None:
    """Migrate a ledger."""
    from ledger.adapters.cli.opening import existing, names_server, path_of
    from ledger.canonical import invalid

    screen = call.screen
    settings = call.settings
    if names_server(settings):
        done = _migrate_server(settings.url, roles)
    elif roles is not None:
        raise invalid("--roles", "a file has no roles; whoever may write to it may alter it")
    else:
        done = _migrate_file(existing(path_of(settings)))
    if call.as_json:
        screen.document(done.document)
    elif done.before == done.after:
        screen.line(f"{done.name}: schema {done.after}, up to date; nothing was done")
    else:
        screen.line(f"{done.name}: schema {done.before} -> {done.after}")
    if done.created is not None and not call.as_json:
        created = ", ".join(done.created)
        screen.line(f"created the roles {created}" if created else "all roles are there")


class Done(NamedTuple):
    """What was migrated."""

    kind: str
    """What the name is: `path` or `url`."""
    name: str
    before: int
    after: int
    created: tuple[str, ...] | None = None
    """Roles that were not there; None where none were asked for."""

    @property
    def document(self) -> dict[str, object]:
        told: dict[str, object] = {self.kind: self.name, "before": self.before, "after": self.after}
        return told if self.created is None else told | {"created_roles": list(self.created)}


def _migrate_file(path: Path) -> Done:
    from ledger.stores.opening import open_store
    from ledger.stores.sqlite_inspection import schema_of

    before = schema_of(path)
    open_store(path, create=False).close()
    return Done("path", str(path), before, schema_of(path))


def _migrate_server(url: str, prefix: str | None) -> Done:
    from ledger.stores.postgres.inspection import server_of
    from ledger.stores.postgres.roles import Roles
    from ledger.stores.postgres.setup import set_up

    server = server_of(url)
    done = set_up(server, None if prefix is None else Roles.named(prefix))
    return Done("url", server.where, done.before, done.after, None if prefix is None else done.created)
