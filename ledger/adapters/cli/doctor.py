"""`doctor`: whether the place where the ledger lives keeps the ledger's promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.checkup import Check
    from ledger.adapters.settings import Settings

HELP = """Check where a ledger lives: settings, disk, clock.

Also permissions and the guards of its schema; on PostgreSQL the server's settings, open transactions, roles
and tenants. Names what breaks a promise of the ledger (bad) or is worth knowing (note), and what to do about
each. Nothing is written. Whether the record is whole, `verify` tells.

\b
Exit codes: 0 nothing is bad, 1 something is, 3 there is no ledger to look at.
Example:
  intent-ledger doctor --ledger runs.db
"""


@verb(tenant=False)
def doctor(call: Call) -> None:
    """Check the place where a ledger lives."""
    screen = call.screen
    kind, place, checks = _looked_at(call.settings)
    bad = [check for check in checks if check.state == "bad"]
    if call.as_json:
        listed = [check._asdict() for check in checks]
        screen.document({kind: place, "fine": not bad, "checks": listed})
    else:
        screen.line(place)
        for check in checks:
            screen.entry(f"{check.state:<4}  {check.name}: {check.found}", indent=2, hang=6)
            if check.advice:
                screen.entry(check.advice, indent=8, style="bold" if check.state == "bad" else "dim")
        screen.line("nothing breaks a promise" if not bad else f"{len(bad)} of {len(checks)} checks are bad")
    raise typer.Exit(Exit.BAD_NEWS if bad else Exit.FINE)


def _looked_at(settings: Settings) -> tuple[str, str, list[Check]]:
    """Return what kind of place it is, its name without what is secret, and what was found."""
    from ledger.adapters.cli.opening import existing, names_server, path_of
    from ledger.stores.opening import open_store
    from ledger.stores.stamps import system_clock

    if names_server(settings):
        from ledger.adapters.checkup_postgres import check_up_server
        from ledger.stores.postgres.inspection import server_of

        found = check_up_server(settings.url, lambda url: open_store(url, create=False), system_clock)
        return "url", server_of(settings.url).where, found
    from ledger.adapters.checkup import check_up

    path = existing(path_of(settings))
    return "path", str(path), check_up(path, lambda file: open_store(file, create=False), system_clock)
