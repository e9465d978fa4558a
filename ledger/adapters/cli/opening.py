"""How commands open a ledger: readers never create or migrate one, writers never migrate one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ledger.adapters.cli.options import Given
from ledger.adapters.cli.placeholders import check_filled_in
from ledger.adapters.settings import Settings, read_settings
from ledger.application.opening import open_ledger
from ledger.canonical import invalid
from ledger.errors import SchemaMismatch, StoreUnavailable, UnsafeStore
from ledger.stores.opening import check_driver, file_of, is_postgres
from ledger.stores.sqlite_inspection import schema_of
from ledger.stores.sqlite_schema import supported_version

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.application.ledger import Ledger
    from ledger.secrets import Secrets


def settings_of(
    context: typer.Context, *, url: str | None, tenant: str | None = None, actor: str | None = None
) -> Settings:
    """Read the settings of a command: its own options, then those before it, then the environment.

    Raises:
        typer.BadParameter: the command line is one that was printed to be filled in, and was not.
    """
    given: Given = context.obj or Given()
    check_filled_in(context, (given.actor,))
    return read_settings(
        url=given.url if url is None else url,
        tenant=given.tenant if tenant is None else tenant,
        actor=given.actor if actor is None else actor,
    )


def names_server(settings: Settings) -> bool:
    """Tell whether the ledger is on PostgreSQL.

    Raises:
        InvalidInput: it is, and the driver for it is not installed.
    """
    if not is_postgres(settings.url):
        return False
    check_driver()
    return True


def path_of(settings: Settings) -> Path:
    """Return the file of the ledger, absolute.

    Raises:
        InvalidInput: the address names no file.
    """
    path = file_of(settings.url)
    if path is None:
        raise invalid("--ledger", "a :memory: ledger would end with this command; name a file")
    return path.absolute()


def open_for_reading(settings: Settings, *, secrets: Secrets | None = None, unsafe: bool = False) -> Ledger:
    """Open a ledger that exists and has this program's schema.

    Commands that report what was found out use it, too: they write, and create nothing. `secrets` says what
    is redacted of what they write; `unsafe` opens also what could lose that.

    Raises:
        StoreUnavailable: there is none, or the file holds none; `reason` is `missing` or `empty`.
        SchemaMismatch: the schema is newer, or older and waits for `intent-ledger migrate`.
    """
    if names_server(settings):
        where, found = _schema_of_server(settings.url)
        if found == 0:
            raise StoreUnavailable(
                f"{where} holds no ledger: name another with --ledger, or make one: intent-ledger migrate",
                reason="empty",
                where=where,
            )
        return open_ledger(
            settings.url,
            tenant=settings.tenant,
            actor=settings.writer,
            create=False,
            unsafe=unsafe,
            secrets=secrets,
        )
    path = path_of(settings)
    if _schema(path) == 0:
        raise StoreUnavailable(
            f"{path}: this file holds no ledger: name another with --ledger", reason="empty", path=str(path)
        )
    return open_ledger(path, tenant=settings.tenant, actor=settings.writer, create=False, secrets=secrets)


def is_there(settings: Settings) -> bool:
    """Tell whether a ledger is there already; nothing is made.

    Raises:
        SchemaMismatch: it is older, and waits for `intent-ledger migrate`.
    """
    if names_server(settings):
        return _schema_of_server(settings.url)[1] != 0
    path = path_of(settings)
    return path.exists() and _schema(path) != 0


def open_to_look(settings: Settings, screen: Screen, *, writes: bool = False) -> Ledger:
    """Open a ledger for a command that only reads it: also on a server that could lose what is written.

    That is told on standard error. A file is opened as ever, for whoever reads it takes part in its log.

    Args:
        settings: which ledger.
        screen: where to tell it.
        writes: this time something is written first, as when read models catch up.

    Raises:
        StoreUnavailable, SchemaMismatch: as `open_for_reading`.
        UnsafeStore: what is written could be lost, or a file lies where its log is not safe.
    """
    try:
        return open_for_reading(settings)
    except UnsafeStore as error:
        if writes or not names_server(settings):
            raise
        screen.note(f"warning: {error}")
        return open_for_reading(settings, unsafe=True)


def note_unknown_tenant(opened: Ledger, screen: Screen) -> None:
    """Tell on standard error where a ledger holds something, and nothing of the tenant that was named."""
    from ledger.adapters.cli.words import quoted
    from ledger.application.ledger import edge_of

    edge = edge_of(opened)
    if edge.store.end() and not edge.store.tail(after=0, limit=1, tenant=edge.tenant):
        screen.note(f"nothing is recorded of tenant {quoted(edge.tenant)}: name another with --tenant")


def open_for_writing(settings: Settings) -> Ledger:
    """Open a ledger, creating the file, or the schema in a database, where there is none.

    Raises:
        SchemaMismatch: the schema is newer, or older and waits for `intent-ledger migrate`.
    """
    if names_server(settings):
        _schema_of_server(settings.url)
        return open_ledger(settings.url, tenant=settings.tenant, actor=settings.writer)
    path = path_of(settings)
    if path.exists():
        _schema(path)
    return open_ledger(path, tenant=settings.tenant, actor=settings.writer)


def existing(path: Path) -> Path:
    """Return a path that exists, or say how to name the ledger."""
    if not path.exists():
        raise StoreUnavailable(
            f"{path}: there is no such ledger: name it with --ledger FILE or INTENT_LEDGER_URL "
            "(intent-ledger demo makes one to look at)",
            reason="missing",
            path=str(path),
        )
    return path


def _schema(path: Path) -> int:
    return _refuse_older(str(path), schema_of(existing(path)), supported_version())


def _schema_of_server(url: str) -> tuple[str, int]:
    """Return where a PostgreSQL ledger is, without what is secret, and its schema."""
    from ledger.stores.postgres import inspection, schema

    where = inspection.server_of(url).where
    return where, _refuse_older(where, inspection.schema_of(url), schema.supported_version())


def _refuse_older(place: str, found: int, supported: int) -> int:
    if 0 < found < supported:
        raise SchemaMismatch(
            f"{place} has schema {found}, this program reads {supported}: stop older programs, "
            "then run: intent-ledger migrate",
            found=found,
            supported=supported,
        )
    return found
