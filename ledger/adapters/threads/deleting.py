"""Deleting threads: all states of all their runs are given up, and the next state begins anew.

It is said by events before anything goes; what was done, approved and asserted in a thread stays on record.
Asked again after it was cut short, it frees what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from ledger import Actor, Run
from ledger.adapters.threads.giving_up import PACKS, check, give_up_all
from ledger.adapters.threads.going_on import on_deleted
from ledger.adapters.threads.threads import Entry, Threads
from ledger.application.expiring import BATCH
from ledger.application.freeing import Asked, Freed, Progress, give_up
from ledger.application.ledger import edge_of
from ledger.application.saved_states import was_given_up
from ledger.commands import CloseRun, DropStates
from ledger.errors import PositionConflict, StillOpen, Superseded
from ledger.run.approvals import never_begun
from ledger.run.contract import Contract, Effect
from ledger.values import Ending

__all__ = ["delete", "unsettled"]


def delete(
    threads: Threads,
    thread: str,
    *,
    by: str,
    reason: str = "the thread was deleted",
    actor: Actor | None = None,
    force: bool = False,
    dry_run: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Freed:
    """Delete a thread: close its run, and give up all its states, so that the next state begins anew.

    What others save meanwhile on its states goes with them, or is refused (`StateMoved`).

    Args:
        threads: the runs of threads.
        thread: the thread; of one that is not there nothing is deleted.
        by: who decided it, `kind:name`; no agent.
        reason: why, in words.
        actor: who writes; None: who writes for the threads.
        force: also where effects of the thread are unsettled.
        dry_run: change nothing, say what would go; `unsettled` says what stands in the way.
        progress: called after each batch of contents.

    Raises:
        NotForAgents: an agent writes, or is said to have decided it.
        StillOpen: effects are unsettled, and it is not forced: a thread of the same name would know nothing
            of them, and might do again what was done. Nothing was given up.
        PositionConflict: the thread moves too fast to close it; nothing was given up.
        StoreBusy: on PostgreSQL, somebody's open transaction keeps back what was just written: ask again.
        StoreUnavailable: on PostgreSQL, with the reason `no_privilege`, where this login is not the owner of
            the ledger. Nothing was written then.
    """
    asked = Asked(by, reason, threads.actor if actor is None else actor, dry_run, progress)
    check(threads, asked)
    while True:
        entries = _left(threads, thread)
        if not (force or dry_run):
            for entry in entries:
                _check_settled(entry.run.contract, thread)
        # Closed first: what is saved from now on begins the next run, and is none of this one.
        if dry_run or not entries or _close(threads, entries[-1], asked, force=force):
            break
    freed = Freed(dry_run)
    for entry in entries:
        freed.add(give_up_all(threads, entry, asked))
    if entries and not dry_run:
        for later in _later(threads, entries[-1]):
            freed.add(_give_up_what_goes_on(threads, later, entries, asked))
        threads.forget(thread)
    return freed


def unsettled(threads: Threads, thread: str) -> list[Effect]:
    """List the effects for which `delete` refuses a thread."""
    return [effect for entry in _left(threads, thread) for effect in _unsettled(entry.run.contract)]


def _left(threads: Threads, thread: str) -> list[Entry]:
    """List the runs of a thread, the oldest first, without those before one that was deleted whole.

    A deletion takes them in this order, so that nothing is left of those before either.
    """
    found: list[Entry] = []
    for entry in threads.generations(thread):
        found.append(entry)
        if _was_deleted(threads, entry.run):
            break
    return found[::-1]


def _was_deleted(threads: Threads, run: Run) -> bool:
    contract = run.contract
    return contract.closed is not None and was_given_up(edge_of(threads.ledger), contract)


def _check_settled(contract: Contract, thread: str) -> None:
    left = _unsettled(contract)
    if left:
        first = ", ".join(f"{effect.tool} {effect.key[:12]}" for effect in left[:3])
        raise StillOpen(
            f"thread {thread!r:.100} cannot be deleted: {len(left)} effects of run {contract.run!r} are "
            f"unsettled ({first}{', …' if len(left) > 3 else ''}), and whoever uses its name next would know "
            "nothing of them: settle or reconcile them, or force it",
            rule="still_open",
            position=contract.position,
            evidence={"run": contract.run, "unsettled": [effect.key for effect in left]},
        )


def _unsettled(contract: Contract) -> list[Effect]:
    if contract.closed is not None and contract.closed.successor is not None:
        return []  # its successor answers for them
    return [effect for effect in contract.effects if not never_begun(effect)]


def _close(threads: Threads, entry: Entry, asked: Asked, *, force: bool) -> bool:
    """Close the newest run of a thread where it is open; False: it is not the newest any more.

    Raises:
        StillOpen: effects are unsettled.
        PositionConflict: it moves too fast to tell.
    """
    edge = edge_of(threads.ledger)
    command = CloseRun(by=asked.by, outcome=Ending.ABANDONED, reason=asked.reason)
    for attempt in range(edge.tries):
        run = threads.ledger.run(entry.run.id, actor=asked.actor)
        contract = run.contract
        if contract.closed is not None:
            # Whoever closed it may have gone on in the next one.
            return threads.generation(entry.thread) == entry.generation
        if not force:
            _check_settled(contract, entry.thread)
        try:
            if not run.do(command, expected=contract.position).repeated:
                return True
        except (PositionConflict, Superseded):
            if attempt + 1 == edge.tries:
                raise
            edge.pause(attempt)
    return False


def _later(threads: Threads, last: Entry) -> list[Entry]:
    """List the runs of a thread after one, the oldest first."""
    newer = takewhile(lambda one: one.generation > last.generation, threads.generations(last.thread))
    return [*newer][::-1]


def _give_up_what_goes_on(threads: Threads, entry: Entry, deleted: Sequence[Entry], asked: Asked) -> Freed:
    """Give up what was saved in a later run, while the thread was being deleted, on states of it.

    What begins anew there stays. Whoever is about to save on a state that was given up is told to look again,
    since states of this run were dropped too.

    Raises:
        PositionConflict: it moves too fast to tell.
    """
    edge, freed = edge_of(threads.ledger), Freed()
    for attempt in range(edge.tries):
        run = threads.ledger.run(entry.run.id, actor=asked.actor)
        contract = run.contract
        goes, stays = on_deleted(edge, contract, deleted)
        if not goes and (contract.closed is not None or len(stays) > BATCH):
            return freed
        few = len(stays) <= BATCH
        command = DropStates(
            by=asked.by,
            reason=asked.reason,
            all=few,
            kept=stays if few else (),
            states=() if few else goes[:BATCH],
            upto=contract.position,
        )
        try:
            stated = run.do(command, expected=contract.position)
        except (PositionConflict, Superseded):
            if attempt + 1 == edge.tries:
                raise
            edge.pause(attempt)
            continue
        freed.states += len(goes) if few else len(command.states)
        freed.events += len(stated.records)
        if few or len(goes) <= BATCH:
            break
    freed.add(give_up(threads.ledger, entry.run.id, (), asked, upto=None, resting=PACKS))
    return freed
