"""Giving up some states of threads, and freeing what nothing needs any more: which of them go.

It is said by events before anything goes. Asked again after it was cut short, it frees what is left. Every
state that stays is read before; one that cannot be read stands in the way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from ledger import Actor
from ledger.adapters.threads.deleting import delete, unsettled
from ledger.adapters.threads.giving_up import check, give_up_chosen
from ledger.adapters.threads.located import Located, states_in
from ledger.adapters.threads.naming import line_name
from ledger.adapters.threads.needing import Needed, needed_by_graphs
from ledger.adapters.threads.threads import Entry, Threads
from ledger.application.freeing import Asked, Freed, Progress
from ledger.canonical import invalid
from ledger.errors import IntegrityError, StateMoved, UndecodableRecord

__all__ = ["Freed", "Needed", "delete", "drop", "drop_chosen", "prune", "unsettled"]


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
        PositionConflict: states of an earlier run go, and the thread moves too fast to tell who saves to
            it; ask again.
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
    asked = Asked(by, reason, threads.actor if actor is None else actor, dry_run, progress)
    return _drop(threads, thread, choose, asked)


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
    asked = Asked(by, reason, threads.actor if actor is None else actor, dry_run, progress)

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
    threads: Threads, thread: str, choose: Callable[[Sequence[Located]], Iterable[Located]], asked: Asked
) -> Freed:
    check(threads, asked)
    current = threads.current(thread)
    if current is None:
        return Freed(asked.dry_run)
    entries = list(threads.past(current))
    found, chosen = _chosen(entries, thread, choose)
    return give_up_chosen(threads, entries, found, chosen, asked)


def _chosen(
    entries: Sequence[Entry], thread: str, choose: Callable[[Sequence[Located]], Iterable[Located]]
) -> tuple[list[Located], dict[str, list[Located]]]:
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
        return found, chosen
