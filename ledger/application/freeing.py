"""Giving up saved states of a run, and freeing the contents that nothing needs any more.

What goes is said by an event before any content is deleted, so that what is cut short has left nothing
unexplained: asked again, also without a state to give up, it frees what is left. What a state that stays
rests on is never freed: each such state is read before anything is said, and none of what it was read with
goes. A state that is saved meanwhile rests on none of it either: saving says where states were last dropped,
and is refused where that is not so any more.

Memory holds a line for each state and each part that the run ever saved, and some contents.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

from ledger.application.expiring import BATCH, Progress, Tally, for_people
from ledger.application.keeping import shown
from ledger.application.ledger import Ledger, edge_of
from ledger.application.own_stream import STREAM
from ledger.application.resting_on import Resting, RestingOn
from ledger.application.runs import Run
from ledger.application.saved_states import SavedPart, SavedState, drops_of, ever_saved, state_id
from ledger.application.state_sayings import KIND
from ledger.errors import IntegrityError, Superseded, UndecodableRecord
from ledger.run.contract import Contract
from ledger.stores.base import BlobRow
from ledger.values import Actor, SavedName, write_time

__all__ = ["Asked", "Freed", "Progress", "check_may_free", "give_up", "name_of", "stored"]

T = TypeVar("T")
LeftBehind = Callable[[Collection[SavedName]], Collection[SavedName]]
"""Given names of states of which the run has parts and which it does not keep: tells which of them were given
up elsewhere, so that the parts go."""


class Asked(NamedTuple):
    """How states are to be given up."""

    by: str
    """Who decided it, `kind:name`; no agent."""
    reason: str
    """Why, in words."""
    actor: Actor | None = None
    """Who writes; None: whoever the ledger is opened for."""
    dry_run: bool = False
    """Change nothing, say what would go."""
    progress: Callable[[Progress], None] | None = None
    """Called after each batch of contents."""


@dataclass(slots=True)
class Freed:
    """What was given up and freed, or would be."""

    dry_run: bool = False
    states: int = 0
    """States that were given up."""
    contents: int = 0
    """Contents that were freed: of states, and of what was kept of the work after them."""
    bytes: int = 0
    """Bytes of these."""
    events: int = 0
    """Events that were written to say so."""
    looked: int = 0
    """Contents that were looked at for this."""

    def add(self, other: Freed) -> None:
        """Count what another one counted, too."""
        self.states += other.states
        self.contents += other.contents
        self.bytes += other.bytes
        self.events += other.events
        self.looked += other.looked


def give_up(
    ledger: Ledger,
    run: str,
    names: Iterable[SavedName] | None,
    asked: Asked,
    *,
    upto: int | None,
    resting: Resting | None,
    also_in: str | None = None,
    left_behind: LeftBehind | None = None,
) -> Freed:
    """Give up states of a run, and free the contents that no state needs that stays.

    Args:
        ledger: whose run.
        run: the run.
        names: the states; none of them: only what was given up before is freed, where it is still here;
            None: all states.
        asked: how they are to be given up.
        upto: position of the run at which it was decided what goes: what is saved after it stays.
        resting: knows how states are read that rest on others; None: they are all whole.
        also_in: a later run whose program may be about to go on from them, as `drop_states` takes it.
        left_behind: tells which states that this run does not keep, and has parts of, were given up where
            they were kept; None: of none of them that is known.

    Raises:
        NotForAgents: an agent writes, or is said to have decided it.
        RunNotFound: there is no such run.
        InvalidInput: a state that stays rests on others, and nobody says how it is read.
        IntegrityError, UndecodableRecord: a state that stays cannot be read; nothing was given up.
        PositionConflict: the later run moves too fast to tell it; ask again.
        StoreBusy: on PostgreSQL, somebody's open transaction keeps back what was just written; what was
            given up is, and asked again its contents are freed.
        StoreUnavailable: on PostgreSQL, with the reason `no_privilege`, where this login is not the owner of
            the ledger: writers may append, and not delete. Nothing was written then.
    """
    check_may_free(ledger, asked)
    counted = Freed(asked.dry_run)
    work = _Work(ledger, run, asked, resting, counted)
    wanted = None if names is None else frozenset(names)
    found = work.look(wanted, upto, left_behind)
    counted.states += found.states
    if asked.dry_run:
        work.free(found, since=None)
        return counted
    if found.names:
        work.say(found, upto, also_in, everything=names is None)
    if found.goes or found.states:
        since = shown(work.edge)
        # Looked at again: what was saved, or dropped by others, before the event stood.
        work.free(work.look(frozenset(), upto), since)
    return counted


def check_may_free(ledger: Ledger, asked: Asked) -> None:
    """Check that who writes may free contents, before an event says that something goes.

    Raises:
        NotForAgents: an agent writes, or is said to have decided it.
        StoreUnavailable: with the reason `no_privilege` where this login may not delete contents, and it is
            not only asked what would go.
    """
    edge = edge_of(ledger)
    for_people(edge.actor if asked.actor is None else asked.actor, asked.by, "state.drop")
    if not asked.dry_run:
        edge.store.drop_blobs(edge.tenant, (), since=edge.store.end(newest=True), but=STREAM)


def stored(ledger: Ledger, run: str) -> Tally:
    """Count the contents that are here of what a run ever saved, given up or not, and their bytes."""
    edge = edge_of(ledger)
    digests = list({one.digest for one in ever_saved(edge, run, ledger.run(run).contract.position)})
    found = Tally()
    for batch in _batches(digests):
        for row in edge.store.blob_rows(edge.tenant, batch):
            if row.kind == KIND:
                found = found.with_one(row.size)
    return found


class _Found(NamedTuple):
    """What a run holds, and what of it goes."""

    states: int
    """States that are given up now."""
    names: list[SavedName]
    """All that is named as given up now."""
    stays: list[SavedName]
    goes: list[bytes]
    """Contents that nothing needs that stays, by digest."""


class _Work:
    """One run of which states are given up."""

    def __init__(self, ledger: Ledger, run: str, asked: Asked, resting: Resting | None, freed: Freed) -> None:
        self._ledger = ledger
        self._asked = asked
        self._freed = freed
        self.edge = edge_of(ledger)
        self._actor = self.edge.actor if asked.actor is None else asked.actor
        self._run: Run = ledger.run(run, actor=self._actor)
        self._rests_on = RestingOn(self.edge, run, resting)
        self._saved: list[SavedState | SavedPart] = []
        self._saved_upto = 0

    # --- what goes --------------------------------------------------------------------------------

    def look(
        self, names: frozenset[SavedName] | None, upto: int | None, left_behind: LeftBehind | None = None
    ) -> _Found:
        """Find out what goes when the states that are named are given up; None: all of them.

        Every state that stays is read.
        """
        for _ in range(self.edge.tries):
            contract = self._run.contract
            try:
                return self._look(contract, names, upto, left_behind)
            except (IntegrityError, UndecodableRecord):
                # What others gave up meanwhile, and freed, was to be read no more.
                if self._run.contract.saved == contract.saved:
                    raise
        return self._look(self._run.contract, names, upto, left_behind)

    def _look(
        self,
        contract: Contract,
        asked: frozenset[SavedName] | None,
        upto: int | None,
        left_behind: LeftBehind | None,
    ) -> _Found:
        drops = drops_of(self.edge, contract)
        last = contract.position if upto is None else upto
        kept: list[SavedState | SavedPart] = []
        gone: dict[bytes, None] = {}
        for one in self._ever_saved(contract):
            if drops.dropped(one.line, state_id(one), one.position):
                gone[one.digest] = None
            else:
                kept.append(one)
        alive = {name_of(one) for one in kept if isinstance(one, SavedState)}
        behind: Collection[SavedName] = ()
        if left_behind is not None:
            behind = left_behind({name_of(one) for one in kept} - alive)
        names: dict[SavedName, None] = {}
        stays: list[SavedState | SavedPart] = []
        for one in kept:
            name = name_of(one)
            # What was kept of the work after a state when that had been given up goes with the next.
            late = bool(asked) and name not in alive and drops.dropped(name.line, name.id, 1)
            if one.position <= last and (asked is None or name in asked or name in behind or late):
                names[name] = None
                gone[one.digest] = None
            else:
                stays.append(one)
        goes = self._unneeded(gone, stays) if gone else []
        given = sum(name in alive for name in names)
        return _Found(given, list(names), list(dict.fromkeys(map(name_of, stays))), goes)

    def _ever_saved(self, contract: Contract) -> Sequence[SavedState | SavedPart]:
        """Read what the run ever saved, each once."""
        self._saved += list(ever_saved(self.edge, self._run.id, contract.position, after=self._saved_upto))
        self._saved_upto = contract.position
        return self._saved

    def _unneeded(self, gone: Iterable[bytes], stays: Sequence[SavedState | SavedPart]) -> list[bytes]:
        """List what of some contents is here and not needed by what stays, which is read for this."""
        here = {row.digest for batch in _batches(list(gone)) for row in self._rows(batch)}
        here.difference_update(one.digest for one in stays)
        return sorted(here.difference(self._rests_on.needed(stays))) if here else []

    # --- saying it, and freeing -------------------------------------------------------------------

    def say(self, found: _Found, upto: int | None, also_in: str | None, *, everything: bool) -> None:
        """Write the events: one where everything goes or few stay, else each names some states."""
        say = partial(self._drop, upto=upto, also_in=also_in)
        if everything:
            say(all=True)
        elif len(found.names) > BATCH >= len(found.stays) > 0:
            # Where none stays, saying that all goes would say more: that nothing before the run is read.
            say(all=True, kept=found.stays)
        else:
            for batch in _batches(found.names):
                say(states=batch)

    def _drop(
        self,
        *,
        upto: int | None,
        also_in: str | None,
        all: bool = False,
        kept: Sequence[SavedName] = (),
        states: Sequence[SavedName] = (),
    ) -> None:
        by, reason = self._asked.by, self._asked.reason
        for attempt in range(self.edge.tries):
            try:
                stated = self._run.drop_states(
                    by=by, reason=reason, states=states, all=all, kept=kept, upto=upto, also_in=also_in
                )
            except Superseded:  # it was resumed, which changes nothing of its states
                if attempt + 1 == self.edge.tries:
                    raise
                self._run = self._ledger.run(self._run.id, actor=self._actor)
            else:
                self._freed.events += len(stated.records) + (also_in is not None)
                return

    def free(self, found: _Found, since: int | None) -> None:
        """Delete what goes, in batches; None: only count it."""
        for batch in _batches(found.goes):
            rows = self._rows(batch)
            sizes = {row.place: row.size for row in rows}
            deleted = list(sizes)
            if since is not None:
                deleted = self.edge.store.drop_blobs(self.edge.tenant, deleted, since=since, but=STREAM)
            self._freed.looked += len(batch)
            self._freed.contents += len(deleted)
            self._freed.bytes += sum(sizes[place] for place in deleted)
            if self._asked.progress is not None:
                self._asked.progress(Progress(self._freed.looked, self._freed.contents))

    def _rows(self, digests: Sequence[bytes]) -> list[BlobRow]:
        """Look up which contents are here, and not wanted until a time to come."""
        now = write_time(self.edge.now())
        rows = self.edge.store.blob_rows(self.edge.tenant, digests)
        return [row for row in rows if row.kind == KIND and (row.expires_at is None or row.expires_at <= now)]


def name_of(one: SavedState | SavedPart) -> SavedName:
    """Name a state, or the state that a part is kept after."""
    return SavedName.unchecked({"id": state_id(one), "line": one.line})


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[at : at + BATCH] for at in range(0, len(items), BATCH))
