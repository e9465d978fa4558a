"""Giving up what was chosen of the states of a thread, run by run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ledger.adapters.packs import unpack
from ledger.adapters.threads.going_on import Behind
from ledger.adapters.threads.located import Located
from ledger.adapters.threads.raw import RAW
from ledger.adapters.threads.threads import Entry, Threads
from ledger.application.freeing import Asked, Freed, check_may_free, give_up
from ledger.application.ledger import edge_of
from ledger.application.resting_on import Fetch
from ledger.application.saved_states import SavedState
from ledger.errors import NotForAgents
from ledger.values import SavedName


def check(threads: Threads, asked: Asked) -> None:
    """Have who may not learn it before anything is written; a dry run may be asked for by any who reads."""
    try:
        check_may_free(threads.ledger, asked)
    except NotForAgents as error:
        raise NotForAgents(
            f"{error}: open an agent's saver or checkpointer with a `custodian`, a person or a service",
            **error.data,
        ) from error


def give_up_all(threads: Threads, entry: Entry, asked: Asked) -> Freed:
    """Give up all states of a run."""
    return give_up(threads.ledger, entry.run.id, None, asked, upto=None, resting=PACKS)


def give_up_chosen(
    threads: Threads,
    entries: Sequence[Entry],
    found: Sequence[Located],
    chosen: Mapping[str, Sequence[Located]],
    asked: Asked,
) -> Freed:
    """Give up some states of a thread, and what was kept of the work after them in its later runs.

    Whoever is about to go on from one of them is told to look again, in whichever run it will be saved.

    Args:
        threads: the runs of threads.
        entries: the runs of the thread whose states are read, the newest first.
        found: all their states.
        chosen: those of them that go, by run.
        asked: how.
    """
    freed = Freed(asked.dry_run)
    behind = Behind(edge_of(threads.ledger))
    for entry in reversed(entries):
        goes = chosen.get(entry.run.id, ())
        freed.add(
            give_up(
                threads.ledger,
                entry.run.id,
                [SavedName(id=one.state.id, line=one.state.line) for one in goes],
                asked,
                upto=min((one.seen for one in goes), default=entry.run.position),
                resting=PACKS,
                also_in=entries[0].run.id if goes and entry is not entries[0] else None,
                left_behind=behind.of,
            )
        )
        places = {(one.state.run, one.state.position) for one in goes}
        behind.passed(entry, (one for one in found if one.entry is entry and _place(one) not in places))
    if freed.events:
        freed.events += _tell_later(threads, entries[0], asked)
    return freed


def _tell_later(threads: Threads, told: Entry, asked: Asked) -> int:
    """Tell runs that were opened while states were given up in those before them; return how many.

    Who opens one looks at the earlier states after that, but may have done so before they were given up.
    """
    count = 0
    while (newest := threads.current(told.thread)) is not None and newest.generation > told.generation:
        run = threads.ledger.run(told.run.id, actor=asked.actor)
        run.drop_states(by=asked.by, reason=asked.reason, also_in=newest.run.id)
        told, count = newest, count + 1
    return count


def _place(found: Located) -> tuple[str, int]:
    return found.state.run, found.state.position


class _Packs:
    """States that are packs."""

    def read(self, state: SavedState, content: bytes, fetch: Fetch) -> object:
        return unpack(state.digest, content, fetch, RAW, line=state.line)


PACKS = _Packs()
"""How states of threads are read."""
