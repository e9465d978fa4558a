"""The writing half of the PostgreSQL store: one connection, one batch at a time on it.

The common append is one statement and one round trip: it looks at the last event of the stream, stores behind
it and commits by itself. A batch is one such statement too. Where an act has to be fresh, a lock on it goes
ahead on the same way: of two appends in flight, the second looks when the first is stored. What was not
stored is explained afterwards, as of one moment, and tried again where by then nothing stands in its way.

Whatever cannot be told apart is tried again as it is, since an append that was stored is recognised by its
event ids: after a connection broke in the middle of a commit, or when a rival in flight was first.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

from psycopg.pq.abc import PGresult

from ledger.errors import InvalidInput, LedgerError, StoreBusy
from ledger.stores.base import Append, Appended
from ledger.stores.postgres.errors import (
    DRIVER_ERRORS,
    Trouble,
    closed,
    contended,
    locked,
    translate,
    trouble,
)
from ledger.stores.postgres.holders import lock_holders
from ledger.stores.postgres.plans import Statement, plan, plan_blobs, plan_locks, plan_one
from ledger.stores.postgres.pool import PASSING
from ledger.stores.postgres.rounds import Outcome, Rounds
from ledger.stores.postgres.server import Server
from ledger.stores.postgres.session import Session
from ledger.stores.postgres.view import View
from ledger.stores.probe import decide

_TRIES = 3
_BRIEF_SECONDS = 0.1
"""How long one of many may wait for a lock; together they have twice that where all patience is used up."""


class Writer:
    """Writes to one database on behalf of all threads of a process."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = Lock()
        self._session: Session | None = None
        self._closed = False
        self._in_use = False
        """A call uses the connection, or was interrupted and left it in the middle of something."""
        self._in_doubt = False
        """What nothing stood in the way of was not stored: a new connection looks at the epoch again."""
        self._deadline = 0.0
        """When the batch at work has waited for long enough, for locks and for the server together."""

    def commit(self, batch: list[Append]) -> list[Outcome]:
        """Settle a batch of appends durably; one outcome for each, in their order."""
        with self._lock:
            self._deadline = time.monotonic() + self._server.busy_seconds
            session = self._session
            if len(batch) == 1 and session is not None and not self._in_use:
                self._in_use = True
                outcome = self._at_once(session, batch[0])
                self._in_use = False
                if outcome is not None:
                    return [outcome]
            return self._patiently(Rounds(batch))

    def close(self) -> None:
        """Close for good."""
        with self._lock:
            self._closed = True
            self._drop()

    def pause(self, seconds: float) -> bool:
        """Close what is open and keep everybody out until `resume`; False where a commit takes longer."""
        if not self._lock.acquire(timeout=seconds):
            return False
        self._drop()
        return True

    def resume(self) -> None:
        """Let writing begin again after `pause`."""
        self._lock.release()

    # --- the usual way ---------------------------------------------------------------------------

    def _at_once(self, session: Session, append: Append) -> Outcome | None:
        """Store an append in one statement; None where that did not work out."""
        try:
            statement = plan_one(append)
            if statement is None:
                return None
            gids = _gids(self._run(session, statement, self._locks([append])))
        except InvalidInput as error:
            return error
        except DRIVER_ERRORS:
            return None
        return Appended(tuple(gids)) if gids else None

    # --- the careful way -------------------------------------------------------------------------

    def _patiently(self, rounds: Rounds) -> list[Outcome]:
        """Go round after round, over several connections if need be, until all are settled."""
        pause = 0.02
        once_more = True
        while rounds.pending:
            passes = at_once = False
            try:
                session = self._ready()
                self._in_use = True
                self._round(session, rounds)
                self._in_use = False
                continue
            except DRIVER_ERRORS as error:
                self._drop()
                passes = trouble(error) in {Trouble.LOST, Trouble.ORDER}
                # A connection that died while nobody used it says nothing of the server: whatever the
                # patience, a new one is tried.
                at_once, once_more = passes and once_more, False
                failure = translate(error, self._server.where)
            except LedgerError as error:
                passes = error.data.get("reason") in PASSING
                failure = error
            if at_once:
                continue
            if not passes or time.monotonic() + pause > self._deadline:
                rounds.fail(failure)
            else:
                time.sleep(pause)
                pause = min(pause * 2, 0.5)
        return rounds.outcomes

    def _round(self, session: Session, rounds: Rounds) -> None:
        members = rounds.next()
        if len(members) == 1:
            (member,) = members
            rounds.settle(member, self._alone(session, rounds.batch[member]))
            return
        kind = self._together(session, rounds, members)
        if kind is not None:
            self._one_by_one(session, rounds, members, waited=kind is Trouble.LOCKED)

    def _one_by_one(self, session: Session, rounds: Rounds, members: list[int], *, waited: bool) -> None:
        """Settle each as it is; what nothing keeps waiting is stored, whoever has waited for all the time."""
        self._deadline = max(self._deadline, time.monotonic() + 2 * _BRIEF_SECONDS)
        for member in members:
            if waited and time.monotonic() > self._deadline:
                rounds.fail(self._locked(session))
                return
            outcome = self._alone(session, rounds.batch[member], brief=waited)
            waited = waited or (isinstance(outcome, StoreBusy) and outcome.data.get("reason") == "locked")
            rounds.settle(member, outcome)

    def _together(self, session: Session, rounds: Rounds, members: list[int]) -> Trouble | None:
        """Store several appends in one statement; return why they have to go one by one, None if not."""
        appends = [rounds.batch[member] for member in members]
        for _ in range(_TRIES):
            try:
                stored = self._store(session, appends)
            except InvalidInput:
                return Trouble.INPUT
            except DRIVER_ERRORS as error:
                kind = self._recovered(session, error)
                if kind is not Trouble.PLACE_TAKEN:
                    return kind
                continue
            left: list[int] = []
            for member, gids in zip(members, stored, strict=True):
                if gids is None:
                    left.append(member)
                else:
                    rounds.settle(member, Appended(gids))
            self._explain(session, rounds, left)
            return None
        return Trouble.PLACE_TAKEN

    def _explain(self, session: Session, rounds: Rounds, members: list[int]) -> None:
        """Settle appends that were not stored; what has nothing in its way is tried in the next round."""
        if not members:
            return
        outcomes = self._decided(session, [rounds.batch[member] for member in members])
        if None in outcomes:
            self._look_around(session)
        for member, outcome in zip(members, outcomes, strict=True):
            if outcome is not None:
                rounds.settle(member, outcome)
            elif rounds.tries(member) >= _TRIES:
                rounds.settle(member, self._contended())

    def _alone(self, session: Session, append: Append, *, brief: bool = False) -> Outcome:
        """Settle one append; `brief` where others wait behind it and locks were in the way."""
        if append.streams[0].is_source:
            return self._of_source(session, append)
        tries = 0
        brief = brief or time.monotonic() > self._deadline
        while tries < _TRIES:
            try:
                (gids,) = self._store(session, [append], brief=brief)
            except InvalidInput as error:
                return error
            except DRIVER_ERRORS as error:
                kind = self._recovered(session, error)
                if kind is Trouble.LOCKED and not brief and time.monotonic() < self._deadline:
                    continue
                refusal = self._refusal(session, error, kind)
                if refusal is not None:
                    return refusal
            else:
                if gids is not None:
                    return Appended(gids)
            tries += 1
            (outcome,) = self._decided(session, [append])
            if outcome is not None:
                return outcome
            self._look_around(session)
        return self._contended()

    def _of_source(self, session: Session, append: Append) -> Outcome:
        """Append to a source stream, holding all heads, its own so that nobody relies on it meanwhile."""
        tries = 0
        while tries < _TRIES:
            try:
                outcome = self._with_heads(session, append)
                if outcome is not None:
                    return outcome
                self._look_around(session)
            except InvalidInput as error:
                session.roll_back()
                return error
            except DRIVER_ERRORS as error:
                kind = self._recovered(session, error)
                if kind is Trouble.LOCKED and time.monotonic() < self._deadline:
                    continue
                refusal = self._refusal(session, error, kind)
                if refusal is not None:
                    return refusal
            tries += 1
        return self._contended()

    def _with_heads(self, session: Session, append: Append) -> Outcome | None:
        """Settle an append to a source; None where its head had to be created, or it was not stored."""
        with self._transaction(session):
            if self._lock_heads(session, append):
                return decide(append, View(session)) or self._move(session, append)
        # Without a head nobody can be kept waiting; it is created only for what can be stored.
        (outcome,) = self._decided(session, [append])
        if outcome is None:
            session.execute("open_head", append.tenant, append.streams[0].stream)
        return outcome

    def _lock_heads(self, session: Session, append: Append) -> bool:
        """Lock all heads an append to a source needs; False where its own is not there."""
        own = append.streams[0].stream
        there = False
        for name in sorted({own, *(guard.stream for guard in append.guards)}):
            if name == own:
                there = bool(session.fetch("head_for_update", append.tenant, name))
            else:
                session.fetch("head_for_share", append.tenant, name)
        return there

    def _move(self, session: Session, append: Append) -> Outcome | None:
        # The guards are locked and were looked at.
        (gids,) = self._insert(session, [append._replace(guards=())])
        if gids is None:
            return None
        part = append.streams[0]
        session.execute("move_head", append.tenant, part.stream, part.rows[-1].position)
        return Appended(gids)

    # --- statements ------------------------------------------------------------------------------

    def _store(
        self, session: Session, appends: Sequence[Append], *, brief: bool = False
    ) -> list[tuple[int, ...] | None]:
        """Store appends that share no stream, each whole or not at all; return the gids of each."""
        planned = plan(appends)
        locks = self._locks(appends, brief=brief)
        if not (planned.more or planned.contents_left or brief):
            return planned.stored(_gids(self._run(session, planned.first, locks)))
        with self._transaction(session):
            if brief:
                session.command(b"SET LOCAL lock_timeout = %d" % (_BRIEF_SECONDS * 1000))
            if locks is not None:
                session.run(*locks)
            return self._insert(session, appends)

    def _locks(self, appends: Sequence[Append], *, brief: bool = False) -> Statement | None:
        # Half of the patience: what waits together in vain is tried one by one in what is left.
        seconds = _BRIEF_SECONDS if brief else self._server.busy_seconds / 2
        return plan_locks(self._server.schema, appends, seconds)

    def _run(self, session: Session, statement: Statement, locks: Statement | None) -> PGresult:
        """Run a statement that commits by itself; the locks that it needs are taken on the same way."""
        return session.run(*statement) if locks is None else session.run_behind(locks, statement)

    def _insert(self, session: Session, appends: Sequence[Append]) -> list[tuple[int, ...] | None]:
        """Store appends and their blobs in the transaction that is open."""
        planned = plan(appends)
        stored = planned.stored(_gids(session.run(*planned.first)))
        if any(stored):
            for statement in planned.more:
                session.run(*statement)
        if planned.contents_left:
            kept = [append for append, gids in zip(appends, stored, strict=True) if gids is not None]
            for statement in plan_blobs(kept):
                session.run(*statement)
        return stored

    def _decided(self, session: Session, appends: Sequence[Append]) -> list[Appended | LedgerError | None]:
        """Decide appends by one snapshot of the store: what is said of each was true at that moment."""
        with self._transaction(session, b"BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"):
            view = View(session)
            return [decide(append, view) for append in appends]

    @contextmanager
    def _transaction(self, session: Session, begin: bytes = b"BEGIN") -> Iterator[None]:
        """Run what is within in one transaction; an error, or an early end, keeps nothing of it."""
        session.command(begin)
        yield
        session.command(b"COMMIT")

    # --- errors ----------------------------------------------------------------------------------

    def _recovered(self, session: Session, error: Exception) -> Trouble:
        """Classify an error and make the connection ready again.

        Raises:
            psycopg.Error: the connection cannot be used any more, or should not.
        """
        kind = trouble(error)
        if kind in {Trouble.LOST, Trouble.ORDER}:
            raise error
        session.roll_back()
        return kind

    def _refusal(self, session: Session, error: Exception, kind: Trouble) -> LedgerError | None:
        """Return what an error means for the append it is about; None: it may be tried again."""
        if kind in {Trouble.PLACE_TAKEN, Trouble.COLLISION}:
            return None
        if kind is Trouble.LOCKED:
            return self._locked(session)
        return translate(error, self._server.where)

    def _locked(self, session: Session) -> LedgerError:
        """Build the refusal of an append that waited in vain, naming who may have kept it waiting."""
        holders: list[dict[str, Any]] = []
        with suppress(*DRIVER_ERRORS):
            holders = lock_holders(session, self._server.schema, self._server.busy_seconds / 2)
        return locked(self._server.where, holders)

    def _contended(self) -> LedgerError:
        self._in_doubt = True
        return contended(self._server.where)

    # --- the connection --------------------------------------------------------------------------

    def _ready(self) -> Session:
        """Return a connection with nothing left open by an interrupted caller."""
        if self._in_use or self._in_doubt:
            self._drop()
        if self._session is None:
            if self._closed:
                raise closed(self._server.where)
            self._session = self._server.writer()
            if self._server.prepares:
                half = max(int(self._server.busy_seconds * 500), 1)
                self._session.command(b"SET lock_timeout = %d" % half)
        return self._session

    def _look_around(self, session: Session) -> None:
        """Raise the epoch where a pooler has led to another server, which stores nothing before."""
        if not self._server.prepares:
            self._server.enter(session)

    def _drop(self) -> None:
        session, self._session = self._session, None
        self._in_use = self._in_doubt = False
        if session is not None:
            session.close()


def _gids(result: PGresult) -> list[int]:
    value = result.get_value
    return [int.from_bytes(gid, "big") for row in range(result.ntuples) if (gid := value(row, 0)) is not None]
