"""What earlier runs of a thread did, whose checkpoints the present one goes on from.

A run that was closed is followed by another of the same thread, which is no successor: to the ledger its acts
are acts of another run. But its nodes go on from the checkpoints of the one before, so what was done for them
was done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ledger import Ledger, Run
from ledger.adapters.langgraph.command_lines import command_line
from ledger.adapters.threads import Entry, Threads
from ledger.application.ledger import edge_of
from ledger.application.refusals import refusal_error
from ledger.application.saved_states import was_given_up
from ledger.canonical import load_text
from ledger.errors import EffectNotFound, HasExpired, NotFound, ResultNotKept
from ledger.run.approvals import asked_about, denied, is_denied
from ledger.run.decision import Refusal
from ledger.run.history import EffectHistory
from ledger.run.known import is_only_intended
from ledger.run.permission import Objection, Permission
from ledger.values import Payload, Recovery

DOUBTS = ("outcome_unknown", "effect_in_flight")
MAY_BE_ASKED = ("outcome_unknown", "possible_repeat")
STANDS = ("key_conflict", "outcome_unknown", "effect_in_flight", "possible_repeat")
"""What of an earlier run stands against an act, beside that it is closed."""


class Known(NamedTuple):
    """What is known of an effect."""

    history: EffectHistory
    result: Any
    """What it came to, as it was recorded; None: it was not done, or that is not kept."""


class Past(NamedTuple):
    """What is known of an act in the runs before: it was done, or something stands against it."""

    run: Run
    """The run before."""
    permission: Permission
    """As that run has it."""
    done: EffectHistory | None
    """It was done."""
    against: Objection | None
    """None: it was done."""
    doubt: EffectHistory | None = None
    """Of what nobody knows whether it happened: it, or the same act in another step."""
    way: str | None = None
    """How somebody finds that out."""

    def check(self) -> EffectHistory:
        """Return what was done.

        Raises:
            OutcomeUnknown, EffectInFlight: nobody knows yet.
            ApprovalDenied: a person said no to it.
            PossibleRepeat: the same act was done there in another step.
            KeyConflict: the name of the act is another's there.
            ResultNotKept: it was done, and what it returned was no JSON.
        """
        if self.against is not None:
            said, message = self.against, self.against.message
            if self.way is not None:
                message += f"; in {self.run.id!r}, {self.way}"
            raise refusal_error(Refusal(said.rule, message, said.position, said.evidence))
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
        for run in self.runs():
            permission = ask(run)
            against = [one for one in permission.objections if one.rule in STANDS]
            conflict = next((one for one in against if one.rule == "key_conflict"), None)
            if conflict is not None:
                return Past(run, permission, None, conflict)
            known = _known(self._ledger, permission.key)
            if known is not None and known.status == "succeeded":
                return Past(run, permission, known, None)
            said_no = _no(run, permission.key)
            if said_no is not None:
                return Past(run, permission, None, said_no)
            doubt = None if known is None else _doubt(known)
            if doubt is not None and not any(one.rule in DOUBTS for one in against):
                against.insert(0, doubt)
            for one in against:
                key = one.evidence.get("key")
                other = known if known is not None and key == known.key else _named(self._ledger, key)
                if other is not None and is_only_intended(other):
                    continue
                if one.rule in MAY_BE_ASKED and other is not None and not other.is_settled:
                    return Past(run, permission, None, one, other, self._way(run, other))
                return Past(run, permission, None, one)
        return None

    def _way(self, run: Run, doubt: EffectHistory) -> str:
        if doubt.recovery in (Recovery.IDEMPOTENT, Recovery.QUERYABLE):
            line = command_line(self._ledger, "reconcile", "--run", run.id, "--tools", "MODULE")
            return f"of which the outside is asked by: {line}"
        return f"which is shown by: {command_line(self._ledger, 'effect', doubt.key)}"

    def runs(self) -> tuple[Run, ...]:
        """Return the runs before, the newest of each lineage."""
        if self._runs is None:
            self._runs = tuple(self._before())
        return self._runs

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


def _no(run: Run, key: str) -> Objection | None:
    """Say that a person denied an act in a run, whatever has changed since; None: nobody did."""
    contract = run.contract
    approval = asked_about(contract, key)
    if approval is None or not is_denied(approval):
        return None
    said = denied(contract, approval)
    anew = f"{said.message[:900]}, in {run.id!r}: another step, or an occurrence of its own, is asked about"
    return Objection(said.rule, anew, None, {**said.evidence, "run": run.id})


def _doubt(known: EffectHistory) -> Objection | None:
    """Say that an act was begun of which nobody knows; None: that is settled, or it was not begun.

    Where the outside dedupes on its key, an earlier run would let it be sent again under that. Here it has
    another key, by which the outside would do it twice.
    """
    if known.is_settled or is_only_intended(known):
        return None
    return Objection(
        "outcome_unknown",
        f"nobody knows whether attempt {known.attempt} at {known.tool!r} of {known.at.isoformat()} happened, "
        "and here it would be sent under another key",
        known.position,
        {"key": known.key, "retry_after": None, "run": known.run, "position": known.position},
    )


def _named(ledger: Ledger, key: str | None) -> EffectHistory | None:
    return None if key is None else _known(ledger, key)


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
