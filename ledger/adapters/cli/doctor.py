"""`doctor`: whether the place where the ledger lives keeps the ledger's promises."""

from __future__ import annotations

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.options import JsonOption, LedgerOption

HELP = """Check where a ledger lives: settings, disk, clock.

Also permissions and the guards of its schema. Names what breaks a promise of the ledger (bad) or is worth
knowing (note), and what to do about each. Nothing is written. Whether the record is whole, `verify` tells.

\b
Exit codes: 0 nothing is bad, 1 something is, 3 there is no ledger to look at.
Example:
  intent-ledger doctor --ledger runs.db
"""


def doctor(context: typer.Context, ledger: LedgerOption = None, as_json: JsonOption = False) -> None:
    """Check the place where a ledger lives."""
    from ledger.adapters.checkup import check_up
    from ledger.adapters.cli.opening import existing, path_of, settings_of
    from ledger.adapters.cli.screen import Screen
    from ledger.stores.opening import open_store
    from ledger.stores.stamps import system_clock

    screen = Screen(as_json=as_json)
    path = existing(path_of(settings_of(context, url=ledger)))
    checks = check_up(path, lambda found: open_store(found, create=False), system_clock)
    bad = [check for check in checks if check.state == "bad"]
    if as_json:
        listed = [check._asdict() for check in checks]
        screen.document({"path": str(path), "fine": not bad, "checks": listed})
    else:
        screen.line(str(path))
        for check in checks:
            screen.entry(f"{check.state:<4}  {check.name}: {check.found}", indent=2, hang=6)
            if check.advice:
                screen.entry(check.advice, indent=8, style="bold" if check.state == "bad" else "dim")
        screen.line("nothing breaks a promise" if not bad else f"{len(bad)} of {len(checks)} checks are bad")
    raise typer.Exit(Exit.BAD_NEWS if bad else Exit.FINE)
