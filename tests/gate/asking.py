"""Runs that were stopped, and what the gate says of them in short."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from ledger import events as e
from ledger.run.contract import Contract
from ledger.testing import History, given
from ledger.values import Actor
from tests.run import examples as x

Run = History[Contract | None]

PROGRAM = Actor("agent:refunds", session="s-1")
ANOTHER = Actor("agent:refunds", session="s-2")
HOUR = timedelta(hours=1)
MOVED = e.CursorMoved(node="pay")


def stopped(*events: e.Event, said: Iterable[e.Event] = (), actor: Actor = PROGRAM, **more: Any) -> Run:
    """Return a run that was stopped an hour after its program fell silent, and is asked about one later."""
    history = given(x.opened(**more), actor=actor).also(*events)
    return history.later(hours=1).by("human:kim").also(x.SUSPENDED, *said).later(hours=1).by(ANOTHER)


def kinds(run: Run, **how: Any) -> list[str]:
    """Ask the gate for the kinds of its reasons."""
    return [reason.kind for reason in run.judged(**how).reasons]
