"""What earlier runs of a thread did, whose checkpoints the present one goes on from.

A run that was closed is followed by another of the same thread, which is no successor: to the ledger its acts
are acts of another run. But its nodes go on from the checkpoints of the one before, so what was done for them
was done.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from ledger import Ledger, Tool
from ledger.adapters.threads import Entry, Threads
from ledger.application.refusals import refusal_error
from ledger.canonical import load_text
from ledger.errors import EffectNotFound, HasExpired, NotFound, ResultNotKept
from ledger.run.decision import Refusal
from ledger.run.history import EffectHistory
from ledger.run.known import is_only_intended
from ledger.run.permission import Permission
from ledger.values import Payload

STANDS = ("outcome_unknown", "effect_in_flight", "possible_repeat")
"""What of an earlier run stands against an act, beside that it is closed."""


class Known(NamedTuple):
    """What is known of an effect."""

    history: EffectHistory
    result: Any
    """What it came to, as it was recorded; None: it was not done, or that is not kept."""


class Done(NamedTuple):
    """An act was done in an earlier run."""

    result: Any


def done_before(
    ledger: Ledger,
    threads: Threads,
    entry: Entry,
    tool: Tool,
    args: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Done | None:
    """Find what came of an act in the runs before this one; None: nothing stands against doing it now.

    Raises:
        OutcomeUnknown, EffectInFlight: nobody knows yet.
        PossibleRepeat: the same act was done there in another step.
        ResultNotKept: it was done, and what it returned was no JSON.
    """
    if entry.generation == 1:
        return None
    for older in islice(threads.past(entry), 1, None):
        permission: Permission = older.run.may(tool, args, **options)
        known = _known(ledger, permission.key)
        if known is not None and known.status == "succeeded":
            return Done(_read(ledger, known))
        for one in permission.objections:
            if one.rule in STANDS and not _only_waits(ledger, one.evidence.get("key")):
                raise refusal_error(Refusal(one.rule, one.message, one.position, one.evidence))
    return None


def known_of(ledger: Ledger, key: str) -> Known:
    """Read what is known of an effect, and what it came to as far as that was kept.

    Raises:
        EffectNotFound: nothing is.
    """
    history = ledger.effect(key)
    try:
        return Known(history, _read(ledger, history) if history.status == "succeeded" else None)
    except (HasExpired, NotFound, ResultNotKept):
        return Known(history, None)


def _only_waits(ledger: Ledger, key: str | None) -> bool:
    """Tell whether an act was not begun: it waited for a person, who is asked where it is to be done now."""
    known = None if key is None else _known(ledger, key)
    return known is not None and is_only_intended(known)


def _known(ledger: Ledger, key: str) -> EffectHistory | None:
    try:
        return ledger.effect(key)
    except EffectNotFound:
        return None


def _read(ledger: Ledger, known: EffectHistory) -> Any:
    payload: Payload | None = known.result
    if payload is None:
        return None
    if payload.json_text is not None:
        return load_text(payload.json_text)
    if payload.type is not None:
        raise ResultNotKept(
            f"{known.tool!r} was done, and returned a {payload.type}, of which a digest is kept",
            key=known.key,
            type=payload.type,
            digest=payload.digest,
        )
    assert payload.digest is not None
    return load_text(ledger.blob(payload.digest).decode())
