"""`migrate`: bring a ledger to this program's schema."""

from __future__ import annotations

import typer

from ledger.adapters.cli.options import JsonOption, LedgerOption

HELP = """Bring a ledger to the schema of this program.

All steps are one transaction. Shows the schema before and after; where it is up to date nothing is done.

No other command migrates: a reader must not lock out older programs that still use the ledger. Stop those
first, for they refuse a newer schema. (Programs that call open_ledger migrate when they open.)

\b
Example:
  intent-ledger migrate --ledger runs.db
"""


def migrate(context: typer.Context, ledger: LedgerOption = None, as_json: JsonOption = False) -> None:
    """Migrate a ledger."""
    from ledger.adapters.cli.opening import existing, path_of, settings_of
    from ledger.adapters.cli.screen import Screen
    from ledger.stores.opening import open_store
    from ledger.stores.sqlite_inspection import schema_of

    screen = Screen(as_json=as_json)
    path = existing(path_of(settings_of(context, url=ledger)))
    before = schema_of(path)
    open_store(path, create=False).close()
    after = schema_of(path)
    if as_json:
        screen.document({"path": str(path), "before": before, "after": after})
    elif before == after:
        screen.line(f"{path}: schema {after}, up to date; nothing was done")
    else:
        screen.line(f"{path}: schema {before} -> {after}")
