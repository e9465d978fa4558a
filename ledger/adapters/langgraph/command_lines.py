"""Command lines that a program tells its operators to type, with what leads them to its ledger."""

from __future__ import annotations

import shlex

from ledger import Ledger
from ledger.stores.sqlite import SQLiteStore


def command_line(ledger: Ledger, verb: str, *words: str, about: str | None = None) -> str:
    """Write a command line about a ledger, as a shell takes it; `about` is the run that is spoken of.

    A ledger that is no file is not named: the address of a server may hold a password. `INTENT_LEDGER_URL`
    does that.
    """
    place = ("--ledger", str(ledger.store.path)) if isinstance(ledger.store, SQLiteStore) else ()
    tenant = ("--tenant", ledger.tenant) if ledger.tenant != "default" else ()
    named = () if about is None else (about,)
    if about is not None and about.startswith("-"):
        return shlex.join(("intent-ledger", verb, *words, *place, *tenant, "--", *named))
    return shlex.join(("intent-ledger", verb, *named, *words, *place, *tenant))
