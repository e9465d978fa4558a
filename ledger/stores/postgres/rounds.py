"""Settle a batch in rounds: in each one append of a stream is tried, and its rivals learn from it.

A statement decides each of its appends by the store as it was before, so two appends of one stream in it
would both find their place free. Most rivals need no statement of their own: who wanted the same place on top
of the same event, and is not the same append, has lost once another has it.

For the same reason who needs an act to be fresh waits while one before it is tried that holds the act. Once
that is stored the next statement sees it, and refuses all who waited.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from copy import copy

from ledger.errors import LedgerError, PositionConflict
from ledger.stores.base import Append, Appended, StreamAppend
from ledger.stores.postgres.plans import ORDINALS, is_large
from ledger.stores.probe import position_conflict

Outcome = Appended | Exception


class Rounds:
    """The appends of a batch, and what became of each so far."""

    def __init__(self, batch: Sequence[Append]) -> None:
        self.batch = batch
        self._outcomes: list[Outcome | None] = [None] * len(batch)
        self._tries = [0] * len(batch)
        self._wanting: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        wanted = [(append.tenant, fresh) for append in batch for fresh in append.fresh]
        self._fresh = {(tenant, fresh.act) for tenant, fresh in wanted}
        """Acts that one of them needs to be fresh, without those of which all who wait will be refused."""
        self._seen = {(tenant, fresh.act) for tenant, fresh in wanted if fresh.known}
        """Acts of which one of them has seen something: what is stored need not refuse it."""
        for member, append in enumerate(batch):
            for part in append.streams:
                self._wanting[append.tenant, part.stream].append(member)

    @property
    def pending(self) -> list[int]:
        """The appends that are not settled yet, in their order."""
        return [member for member, outcome in enumerate(self._outcomes) if outcome is None]

    @property
    def outcomes(self) -> list[Outcome]:
        """One outcome for each append; all are settled."""
        return [outcome for outcome in self._outcomes if outcome is not None]

    def next(self) -> list[int]:
        """Choose appends that share no stream and no fresh act; a source, or a large one, goes alone."""
        chosen: list[int] = []
        streams: set[tuple[str, str]] = set()
        acts: set[tuple[str, bytes]] = set()
        events = 0
        for member in self.pending:
            append = self.batch[member]
            if append.streams[0].is_source or is_large(append):
                if not chosen:
                    chosen = [member]
                    break
                continue
            wanted = [(append.tenant, part.stream) for part in append.streams]
            if not streams.isdisjoint(wanted):
                continue
            if append.fresh and any((append.tenant, fresh.act) in acts for fresh in append.fresh):
                continue
            for part in append.streams:
                events += len(part.rows)
            if chosen and events > ORDINALS:
                break
            chosen.append(member)
            streams.update(wanted)
            if self._fresh:
                acts |= self._fresh & _acts(append)
        for member in chosen:
            self._tries[member] += 1
        return chosen

    def tries(self, member: int) -> int:
        """Count the rounds an append has been through."""
        return self._tries[member]

    def settle(self, member: int, outcome: Outcome) -> None:
        """Say what became of an append, and refuse those it has beaten."""
        self._outcomes[member] = outcome
        if isinstance(outcome, Appended):
            winner = self.batch[member]
            if self._fresh:
                self._fresh -= _acts(winner) - self._seen
            for won in winner.streams:
                wanting = self._wanting[winner.tenant, won.stream]
                for rival in wanting if len(wanting) > 1 else ():
                    if self._outcomes[rival] is None:
                        self._outcomes[rival] = refused_by(won, self.batch[rival])

    def fail(self, error: LedgerError) -> None:
        """Give up on all that are pending."""
        for member in self.pending:
            self._outcomes[member] = copy(error)


def _acts(append: Append) -> set[tuple[str, bytes]]:
    """List the acts that an append holds."""
    return {(append.tenant, row.act) for part in append.streams for row in part.rows if row.act is not None}


def refused_by(won: StreamAppend, rival: Append) -> PositionConflict | None:
    """Return the refusal of an append whose place another one has got; None where that is not certain.

    Not certain is what builds on another event, which the stream may have by now, and what begins with the
    same event, which may be a repeat.
    """
    for part in rival.streams:
        if part.stream == won.stream and (part.expected, part.prev) == (won.expected, won.prev):
            if part.rows[0].id == won.rows[0].id:
                return None
            return position_conflict(part, won.rows[-1].position)
    return None
