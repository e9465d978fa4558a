"""Command lines that a program tells its operators to type, with what leads them to its ledger."""

from __future__ import annotations

import shlex

from ledger import Ledger
from ledger.stores.sqlite import SQLiteStore


def command_line(ledger: Ledger, *words: str) -> str:
    """Write a command line about a ledger, as a shell takes it.

    A ledger that is no file is not named: the address of a server may hold a password. `INTENT_LEDGER_URL`
    does that.
    """
    place = ("--ledger", str(ledger.store.path)) if isinstance(ledger.store, SQLiteStore) else ()
    tenant = ("--tenant", ledger.tenant) if ledger.tenant != "default" else ()
    return shlex.join(("intent-ledger", *words, *place, *tenant))
