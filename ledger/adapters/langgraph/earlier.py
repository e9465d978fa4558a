"""What earlier runs of a thread did, whose checkpoints the present one goes on from.

A run that was closed is followed by another of the same thread, which is no successor: to the ledger its acts
are acts of another run. But its nodes go on from the checkpoints of the one before, so what was done for them
was done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ledger import Ledger, Run
from ledger.adapters.threads import Entry, Threads
from ledger.application.ledger import edge_of
from ledger.application.refusals import refusal_error
from ledger.application.saved_states import was_given_up
from ledger.canonical import load_text
from ledger.errors import EffectNotFound, HasExpired, NotFound, ResultNotKept
from ledger.run.decision import Refusal
from ledger.run.history import EffectHistory
from ledger.run.known import is_only_intended
from ledger.run.permission import Objection, Permission
from ledger.values import Payload

STANDS = ("key_conflict", "outcome_unknown", "effect_in_flight", "possible_repeat")
"""What of an earlier run stands against an act, beside that it is closed."""


class Known(NamedTuple):
    """What is known of an effect."""

    history: EffectHistory
    result: Any
    """What it came to, as it was recorded; None: it was not done, or that is not kept."""


class Past(NamedTuple):
    """What is known of an act in the runs before: it was done, or something stands against it."""

    permission: Permission
    """As the run before has it."""
    done: EffectHistory | None
    """It was done."""
    against: Objection | None
    """None: it was done."""

    def check(self) -> EffectHistory:
        """Return what was done.

        Raises:
            OutcomeUnknown, EffectInFlight: nobody knows yet.
            PossibleRepeat: the same act was done there in another step.
            KeyConflict: the name of the act is another's there.
            ResultNotKept: it was done, and what it returned was no JSON.
        """
        if self.against is not None:
            said = self.against
            raise refusal_error(Refusal(said.rule, said.message, said.position, said.evidence))
        assert self.done is not None
        _check_kept(self.done)
        return self.done


class Earlier:
    """The runs of a thread before one of them, from which its nodes go on. Threads may share it."""

    def __init__(self, ledger: Ledger, threads: Threads, entry: Entry) -> None:
        self._ledger = ledger
        self._threads = threads
        self._entry = entry
        self._runs: tuple[Run, ...] | None = None

    def find(self, ask: Callable[[Run], Permission]) -> Past | None:
        """Find what is known of an act; None: nothing stands against doing it now.

        Args:
            ask: what a run says about it.
        """
        if self._runs is None:
            self._runs = tuple(self._before())
        for run in self._runs:
            permission = ask(run)
            against = [one for one in permission.objections if one.rule in STANDS]
            conflict = next((one for one in against if one.rule == "key_conflict"), None)
            if conflict is not None:
                return Past(permission, None, conflict)
            known = _known(self._ledger, permission.key)
            if known is not None and known.status == "succeeded":
                return Past(permission, known, None)
            for one in against:
                if not _only_waits(self._ledger, one.evidence.get("key")):
                    return Past(permission, None, one)
        return None

    def _before(self) -> Iterator[Run]:
        """Yield the newest run of each lineage: each looks through its own, and so does the present one.

        What lies before a run whose states were given up all at once is not gone on from.
        """
        seen = {self._entry.run.contract.root}
        for older in self._threads.generations(self._entry.thread):
            if older.generation >= self._entry.generation:
                continue
            contract = older.run.contract
            if was_given_up(edge_of(self._ledger), contract):
                return
            if contract.root not in seen:
                seen.add(contract.root)
                yield older.run


def earlier_of(ledger: Ledger, threads: Threads, entry: Entry) -> Earlier | None:
    """Return the runs before one; None: it is the first of its thread."""
    return None if entry.generation == 1 else Earlier(ledger, threads, entry)


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
    _check_kept(known)
    payload: Payload | None = known.result
    if payload is None:
        return None
    if payload.json_text is not None:
        return load_text(payload.json_text)
    assert payload.digest is not None
    return load_text(ledger.blob(payload.digest).decode())


def _check_kept(known: EffectHistory) -> None:
    payload: Payload | None = known.result
    if payload is not None and payload.type is not None:
        raise ResultNotKept(
            f"{known.tool!r} was done, and returned a {payload.type}, of which a digest is kept",
            key=known.key,
            type=payload.type,
            digest=payload.digest,
        )
