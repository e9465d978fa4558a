"""Deleting and pruning checkpoints, without what others are read with."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ledger.adapters.langgraph.checkpoints import Checkpoints, delta_channels
from ledger.adapters.langgraph.history import PAGES, pages, threads_of
from ledger.adapters.threads import Located
from ledger.errors import IntegrityError, Refused, UndecodableRecord


class StillNeeded(Refused):
    """Checkpoints that are to be deleted are what others are read with; nothing was deleted.

    `evidence` names the `thread`, and one that stays (`checkpoint`) with one that it needs (`needed`). Delete
    the newer ones too, or the whole thread.
    """

    code = "still_needed"


class Made(NamedTuple):
    """Checkpoints that runs of graphs made."""

    names: dict[str, list[tuple[str, str]]]
    """By thread, each as line and name."""
    unread: list[str]
    """Threads of which it cannot be told, since one of their checkpoints cannot be read."""

    def check_read(self) -> None:
        """Tell of the threads in which nothing was deleted, for that reason.

        Raises:
            UndecodableRecord: there are such.
        """
        if self.unread:
            raise UndecodableRecord(
                f"in {len(self.unread)} threads, the first is {self.unread[0]!r:.100}, a checkpoint cannot "
                "be read, so that nothing was deleted in them",
                threads=self.unread,
            )


def made_by(checkpoints: Checkpoints, run_ids: Collection[str]) -> Made:
    """Find the checkpoints that runs of graphs made, in all threads.

    Raises:
        StillNeeded: others are read with them.
    """
    made = Made({}, [])
    for thread in threads_of(checkpoints):
        try:
            names = _made_in(checkpoints, thread, run_ids)
        except (IntegrityError, UndecodableRecord):
            made.unread.append(thread)
        else:
            if names:
                made.names[thread] = names
    return made


def needed(
    checkpoints: Checkpoints, states: Sequence[Located], kept: Iterable[Located]
) -> Iterator[tuple[Located, Located]]:
    """Yield each of the kept checkpoints with the ancestors that it is read with, each of these once.

    A delta channel has a value only in some checkpoints; in the others it is made of what was written after
    their ancestors, back to the nearest that has a value.

    Args:
        checkpoints: reads them.
        states: all of a thread.
        kept: those of them that stay.
    """
    by_name = {(one.state.line, one.state.id): one for one in reversed(states)}
    done: dict[tuple[str | None, str], set[str]] = {}
    for page in pages(iter(kept), PAGES):
        for one in checkpoints.states.together(page, parts=False):
            yield from ((one, above) for above in _needed_by(checkpoints, one, by_name, done))


def _needed_by(
    checkpoints: Checkpoints,
    one: Located,
    by_name: Mapping[tuple[str | None, str], Located],
    done: dict[tuple[str | None, str], set[str]],
) -> Iterator[Located]:
    """Yield the ancestors that a checkpoint is read with, but for those that were yielded for another."""
    wanted, child = _without_value(checkpoints, one), one
    while wanted and child.state.parent is not None:
        name = child.state.line, child.state.parent
        above = by_name.get(name)
        known = done.setdefault(name, set())
        if above is None or wanted <= known:
            break
        if not known:
            yield above
        known |= wanted
        wanted = wanted - _valued(checkpoints, above, wanted)
        child = above


def _made_in(checkpoints: Checkpoints, thread: str, run_ids: Collection[str]) -> list[tuple[str, str]]:
    states = list(checkpoints.states.all(thread))
    made: dict[tuple[str, int], tuple[str, str]] = {}
    for page in pages(iter(states), PAGES):
        for one in checkpoints.states.together(page, parts=False):
            head = checkpoints.head(one)
            if head is not None and head.metadata.get("run_id") in run_ids:
                made[_place(one)] = head.place.ns, one.state.id
    kept = [one for one in states if _place(one) not in made] if made else []
    for stays, above in needed(checkpoints, states, kept):
        if _place(above) in made:
            raise StillNeeded(
                f"checkpoint {above.state.id!r} of thread {thread!r:.100} cannot be deleted: delta channels "
                f"of {stays.state.id!r}, which stays, are made of what was written after it",
                rule="still_needed",
                position=above.state.position,
                evidence={"thread": thread, "checkpoint": stays.state.id, "needed": above.state.id},
            )
    return list(made.values())


def _place(one: Located) -> tuple[str, int]:
    return one.state.run, one.state.position


def _without_value(checkpoints: Checkpoints, one: Located) -> set[str]:
    """Return the delta channels of which a checkpoint has no value."""
    head = checkpoints.head(one)
    if head is None:
        return set()
    deltas = delta_channels(head)
    return deltas - _valued(checkpoints, one, deltas) if deltas else deltas


def _valued(checkpoints: Checkpoints, one: Located, channels: set[str]) -> set[str]:
    return set(checkpoints.states.read(one, names=channels).values)
