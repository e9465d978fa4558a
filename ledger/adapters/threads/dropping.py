"""Giving up states of threads, and freeing what nothing needs any more: deleting, dropping, pruning.

Each is said by an event before anything goes; what was done, approved and asserted in a thread stays on
record. Asked again after it was cut short, it frees what is left. Every state that stays is read before: for
what it rests on, and without what goes. One that cannot be read stands in the way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from ledger import Actor, Run
from ledger.adapters.packs import refers_to, unpack
from ledger.adapters.threads.going_on import on_deleted
from ledger.adapters.threads.located import Located, states_in
from ledger.adapters.threads.naming import line_name
from ledger.adapters.threads.needing import Needed, needed_by_graphs
from ledger.adapters.threads.raw import RAW
from ledger.adapters.threads.threads import Entry, Threads
from ledger.application.expiring import BATCH
from ledger.application.freeing import Fetch, Freed, Progress, check_may_free, give_up
from ledger.application.ledger import edge_of
from ledger.application.states import SavedState, was_given_up
from ledger.canonical import invalid
from ledger.commands import CloseRun, DropStates
from ledger.errors import (
    IntegrityError,
    NotForAgents,
    PositionConflict,
    StateMoved,
    StillOpen,
    Superseded,
    UndecodableRecord,
)
from ledger.run.approvals import never_begun
from ledger.run.contract import Contract, Effect
from ledger.values import Ending, SavedName

__all__ = ["Freed", "Needed", "delete", "drop", "drop_chosen", "prune", "unsettled"]


class _Asked(NamedTuple):
    """How states are to be given up."""

    by: str
    reason: str
    actor: Actor | None
    dry_run: bool
    progress: Callable[[Progress], None] | None


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
    asked = _Asked(by, reason, threads.actor if actor is None else actor, dry_run, progress)
    _check(threads, asked)
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
        freed.add(_give_up(threads, entry, None, asked))
    if entries and not dry_run:
        for later in _later(threads, entries[-1]):
            freed.add(_give_up_what_goes_on(threads, later, entries, asked))
        threads.forget(thread)
    return freed


def drop(
    threads: Threads,
    thread: str,
    states: Iterable[tuple[str, str]],
    *,
    by: str,
    reason: str = "the states were dropped",
    actor: Actor | None = None,
    dry_run: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Freed:
    """Give up some states of a thread; what others rest on stays stored.

    Args:
        threads: the runs of threads.
        thread: the thread.
        states: line and id of each; those that are not there are passed over.
        by: who decided it, `kind:name`; no agent.
        reason: why, in words.
        actor: who writes; None: who writes for the threads.
        dry_run: change nothing, say what would go.
        progress: called after each batch of contents.

    Raises:
        NotForAgents, StoreBusy, StoreUnavailable: as `delete` does.
        UndecodableRecord, IntegrityError: a state that stays cannot be read; nothing was given up.
    """
    wanted = {(line_name(line), id) for line, id in states}

    def choose(found: Sequence[Located]) -> Iterator[Located]:
        return (one for one in found if (one.state.line, one.state.id) in wanted)

    return drop_chosen(
        threads, thread, choose, by=by, reason=reason, actor=actor, dry_run=dry_run, progress=progress
    )


def drop_chosen(
    threads: Threads,
    thread: str,
    choose: Callable[[Sequence[Located]], Iterable[Located]],
    *,
    by: str,
    reason: str = "the states were dropped",
    actor: Actor | None = None,
    dry_run: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Freed:
    """Give up those states of a thread that `choose` picks of all of them, the newest first; as `drop`."""
    asked = _Asked(by, reason, threads.actor if actor is None else actor, dry_run, progress)
    return _drop(threads, thread, choose, asked)


def unsettled(threads: Threads, thread: str) -> list[Effect]:
    """List the effects for which `delete` refuses a thread."""
    return [effect for entry in _left(threads, thread) for effect in _unsettled(entry.run.contract)]


def prune(
    threads: Threads,
    thread: str,
    *,
    keep: int = 1,
    by: str,
    reason: str = "the thread was pruned",
    actor: Actor | None = None,
    needed: Needed | None = None,
    dry_run: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Freed:
    """Give up the older states of each line of a thread. What is saved meanwhile stays.

    Args:
        threads: the runs of threads.
        thread: the thread.
        keep: how many of each line stay, the newest.
        by: who decided it, `kind:name`; no agent.
        reason: why, in words.
        actor: who writes; None: who writes for the threads.
        needed: says which others have to stay with those that stay; None: what the states of the adapters
            here need is known.
        dry_run: change nothing, say what would go.
        progress: called after each batch of contents.

    Raises:
        What `drop` raises, and InvalidInput: fewer than one are to stay, or checkpoints of LangGraph are
            there and it is not installed.
    """
    if keep < 1:
        raise invalid("keep", "at least one state of each line stays: delete the thread instead")
    asked = _Asked(by, reason, threads.actor if actor is None else actor, dry_run, progress)

    def choose(found: Sequence[Located]) -> Iterator[Located]:
        counted: Counter[str | None] = Counter()
        # A name that was used again in a later run is that of the newer state.
        named = {(one.state.line, one.state.id): one for one in reversed(found)}
        listed = [one for one in found if named[one.state.line, one.state.id] is one]
        stays: dict[tuple[str, int], Located] = {}
        for one in listed:
            counted[one.state.line] += 1
            if counted[one.state.line] <= keep:
                stays[_place(one)] = one
        kept = list(stays.values())
        others = needed_by_graphs(threads, listed, kept) if needed is None else needed(listed, kept)
        stays.update((_place(one), one) for one in others)
        return (one for one in found if _place(one) not in stays)

    return _drop(threads, thread, choose, asked)


def _place(found: Located) -> tuple[str, int]:
    return found.state.run, found.state.position


def _drop(
    threads: Threads, thread: str, choose: Callable[[Sequence[Located]], Iterable[Located]], asked: _Asked
) -> Freed:
    _check(threads, asked)
    freed = Freed(asked.dry_run)
    current = threads.current(thread)
    entries = [] if current is None else list(threads.past(current))
    chosen = _chosen(entries, thread, choose)
    for entry in reversed(entries):
        freed.add(_give_up(threads, entry, chosen.get(entry.run.id, []), asked))
    return freed


def _chosen(
    entries: Sequence[Entry], thread: str, choose: Callable[[Sequence[Located]], Iterable[Located]]
) -> dict[str, list[Located]]:
    """Look up the states of some runs, and choose among them what goes, by run."""
    while True:
        found = [one for entry in entries for one in states_in(entry)]
        chosen: dict[str, list[Located]] = {}
        try:
            for one in choose(found):
                chosen.setdefault(one.state.run, []).append(one)
        except StateMoved:
            continue  # others gave up what was about to be read; each time there is less of it
        except (IntegrityError, UndecodableRecord) as error:
            raise type(error)(
                f"a state of thread {thread!r:.100} would stay and cannot be read, so nothing goes; drop it "
                f"by name, too: {error}",
                **error.data,
            ) from error
        return chosen


def _give_up(threads: Threads, entry: Entry, chosen: Sequence[Located] | None, asked: _Asked) -> Freed:
    return give_up(
        threads.ledger,
        entry.run.id,
        None if chosen is None else [SavedName(id=one.state.id, line=one.state.line) for one in chosen],
        upto=min((one.seen for one in chosen), default=None) if chosen else None,
        by=asked.by,
        reason=asked.reason,
        resting=PACKS,
        actor=asked.actor,
        dry_run=asked.dry_run,
        progress=asked.progress,
    )


def _check(threads: Threads, asked: _Asked) -> None:
    """Have who may not learn it before anything is written; a dry run may be asked for by any who reads."""
    try:
        check_may_free(threads.ledger, by=asked.by, actor=asked.actor, dry_run=asked.dry_run)
    except NotForAgents as error:
        raise NotForAgents(
            f"{error}: open an agent's saver or checkpointer with a `custodian`, a person or a service",
            **error.data,
        ) from error


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


def _close(threads: Threads, entry: Entry, asked: _Asked, *, force: bool) -> bool:
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


def _give_up_what_goes_on(threads: Threads, entry: Entry, deleted: Sequence[Entry], asked: _Asked) -> Freed:
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
    freed.add(_give_up(threads, entry, (), asked))
    return freed


class _Packs:
    """States that are packs."""

    def needed(self, state: SavedState, content: bytes, fetch: Fetch) -> Collection[bytes]:
        return refers_to(state.digest, content, fetch)

    def read(self, state: SavedState, content: bytes, fetch: Fetch) -> object:
        return unpack(state.digest, content, fetch, RAW, line=state.line)


PACKS = _Packs()
"""What states of threads rest on."""
