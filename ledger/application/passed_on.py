"""Reading what was passed on of a grant: the records that say so, in all runs that have some of it.

Whole logs are read, which is dear in a long run; ending a grant is rare, and missing a part of it is worse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ledger.application.edge import Edge
from ledger.application.kind import Beside, Found
from ledger.application.rows import decoded
from ledger.commands import NarrowAuthority, RevokeAuthority
from ledger.errors import IntegrityError, LedgerError, StoreBusy, StoreError, StoreUnavailable
from ledger.record import Record
from ledger.run.contract import Contract
from ledger.run.decision import PassedOn
from ledger.run.passed_on import TELLING, Passing, beneath, passing_of

PAGE = 500

_MARKS = tuple(f'"name":"{kind.name}"'.encode() for kind in TELLING)


class Logs:
    """What the logs of runs say of grants. What cannot be read is noted, and said to say nothing."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._read: dict[str, Passing] = {}
        self.unread: dict[str, str] = {}
        """Runs that cannot be read, or not whole, with the code of the error."""

    def __call__(self, run: str) -> Passing:
        """Read what one run says, once."""
        found = self._read.get(run)
        if found is None:
            found = self._read[run] = passing_of(self._records(run))
        return found

    def note(self, run: str, error: LedgerError) -> None:
        """Note that a run cannot be read; a store that cannot be asked now is another matter.

        Raises:
            StoreUnavailable: it cannot be reached.
            StoreBusy: it has no time.
        """
        if isinstance(error, StoreUnavailable | StoreBusy) or not isinstance(
            error, IntegrityError | StoreError
        ):
            raise error
        self.unread.setdefault(run, error.code)

    def _records(self, run: str) -> Iterator[Record]:
        after = 0
        while True:
            rows = self._edge.store.read(self._edge.tenant, run, after=after, limit=PAGE)
            for row in rows:
                # Few records speak of grants; of the others not even the hashes are needed here.
                if any(mark in row.record for mark in _MARKS):
                    try:
                        yield decoded(row)
                    except LedgerError as error:
                        self.note(run, error)
            if len(rows) < PAGE:
                return
            after = rows[-1].position


def read_beneath(
    edge: Edge,
    contract: Contract,
    command: NarrowAuthority | RevokeAuthority,
    load: Callable[[Edge, str], Found[Contract | None]],
) -> Beside[Contract | None]:
    """Read the contracts of the runs that have some of the grant that a command ends.

    Any of them that moves before the end is stored makes it decided again; only who holds a part can pass on
    a part of that, so nothing of it is missed.
    """
    logs = Logs(edge)
    found = beneath(contract, command.id, logs)
    others: dict[str, Contract | None] = {}
    for run in found.grants:
        try:
            state = load(edge, run).state
        except LedgerError as error:
            logs.note(run, error)
            continue
        if state is not None:
            others[run] = state
    return Beside(others, passed_on=PassedOn(found.grants, logs.unread))
