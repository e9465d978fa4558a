"""Which states of a thread go, where some of them are named."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from ledger.adapters.threads import Located, Threads, ThreadStates
from ledger.adapters.threads.listing import unreadable
from ledger.adapters.threads.needing import needed_by_graphs
from ledger.adapters.threads.raw import RAW
from ledger.canonical import invalid
from ledger.errors import Refused

Choose = Callable[[Sequence[Located]], Iterable[Located]]


def choice(threads: Threads, thread: str, ids: Collection[str], *, damaged: bool) -> Choose:
    """Return what picks the states that go: those of these ids, and those that cannot be read.

    Raises:
        InvalidInput: the thread has no state of an id.
        Refused: when it picks, where a state that stays is read with one that goes.
    """
    states = ThreadStates(threads, RAW)
    broken = {_place(one.found) for one in unreadable(states, thread)} if damaged else set()
    missing = set(ids) - {one.state.id for one in states.all(thread)}
    if missing:
        raise invalid("state", f"thread {thread!r:.100} has no state {min(missing)!r:.200}")

    def choose(found: Sequence[Located]) -> Iterable[Located]:
        goes = [one for one in found if one.state.id in ids or _place(one) in broken]
        places = set(map(_place, goes))
        stays = [one for one in found if _place(one) not in places]
        for above in needed_by_graphs(threads, found, stays):
            if _place(above) in places:
                raise Refused(
                    f"state {above.state.id!r:.200} of thread {thread!r:.100} is what others are read with "
                    "that stay: drop those after it, too, or delete the thread",
                    rule="still_needed",
                    position=above.state.position,
                    evidence={"thread": thread, "needed": above.state.id},
                )
        return goes

    return choose


def _place(one: Located) -> tuple[str, int]:
    return one.state.run, one.state.position
