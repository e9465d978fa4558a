"""One connection with the store's statements, called by name."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

import psycopg
from psycopg.adapt import AdaptersMap
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.types.numeric import Int8BinaryDumper
from psycopg.types.string import StrBinaryDumper
from psycopg.waiting import Ready, Wait, wait

from ledger.stores.postgres.clock import Offset
from ledger.stores.postgres.wire import Value

ADAPTERS = AdaptersMap(psycopg.adapters)
# One type for each Python type: a statement is prepared once, not once for each size of its numbers.
ADAPTERS.register_dumper(int, Int8BinaryDumper)
ADAPTERS.register_dumper(str, StrBinaryDumper)

Statements = Mapping[str, str]

_LOOK_SECONDS = 0.1
"""How long a wait for the server is at a stretch, so that an interrupt of this process is noticed."""


class Session:
    """A connection in autocommit mode; one thread at a time uses it."""

    def __init__(
        self, connection: psycopg.Connection[Any], statements: Statements, *, prepares: bool
    ) -> None:
        self.connection = connection
        self._statements = statements
        self._prepares = prepares
        self._cursor: psycopg.Cursor[Any] = connection.cursor(binary=True)
        self._pgconn = connection.pgconn
        self._prepared: dict[str, bytes] = {}
        self.replayed = 0
        """How far a replica has been seen to have come in the log of its primary."""
        self.offset: Offset | None = None
        """How far the server's clock is ahead; None: not measured yet."""

    def fetch(self, name: str, *values: object) -> list[Any]:
        """Run a statement by name and return its rows."""
        return self._cursor.execute(self._statements[name], values).fetchall()

    def execute(self, name: str, *values: object) -> None:
        """Run a statement that returns no rows."""
        self._cursor.execute(self._statements[name], values)

    def run(self, name: str, values: Sequence[Value]) -> PGresult:
        """Run a statement with values in PostgreSQL's binary form; what it returns is in that form too."""
        # Its type leaves out that a value may be NULL.
        given = cast("Sequence[bytes]", values)
        formats = [_BINARY] * len(values)
        if not self._prepares:
            text = self._statements[name].encode()
            return self._checked(self._pgconn.exec_params(text, given, None, formats, _BINARY))
        prepared = self._prepared.get(name)
        if prepared is None:
            prepared = self._prepare(name)
        return self._checked(self._pgconn.exec_prepared(prepared, given, formats, _BINARY))

    def run_behind(self, first: tuple[str, Sequence[Value]], then: tuple[str, Sequence[Value]]) -> PGresult:
        """Run two statements in one transaction of their own, and return what the second returned.

        They go out together, so it takes one round trip. The second begins when the first has ended, and sees
        what was stored by then.

        Raises:
            psycopg.Error: either failed, and nothing of both is kept; or the connection was lost, and whether
                they were stored is not known.
        """
        pgconn = self._pgconn
        sends = [self._sender(*statement) for statement in (first, then)]
        pgconn.enter_pipeline_mode()
        for send in sends:
            send()
        pgconn.pipeline_sync()
        results = wait(_results(pgconn), pgconn.socket, _LOOK_SECONDS)
        pgconn.exit_pipeline_mode()
        for result in results:
            self._checked(result)
        return results[-1]

    def command(self, text: bytes) -> None:
        """Run a command without values: BEGIN, COMMIT, ROLLBACK, or a script."""
        self._checked(self._pgconn.exec_(text))

    @property
    def idle(self) -> bool:
        """The connection works and no transaction is open on it."""
        return self._pgconn.transaction_status == TransactionStatus.IDLE

    def roll_back(self) -> None:
        """End the open transaction, if there is one, keeping nothing of it.

        Raises:
            psycopg.Error: the connection is broken.
        """
        if not self.idle:
            self.command(b"ROLLBACK")

    def close(self) -> None:
        """Close the connection; the server undoes what is open."""
        with suppress(psycopg.Error):
            self.connection.close()

    def _sender(self, name: str, values: Sequence[Value]) -> Callable[[], None]:
        """Return what sends a statement, which is prepared first where statements are."""
        given = cast("Sequence[bytes]", values)
        formats = [_BINARY] * len(values)
        if not self._prepares:
            text = self._statements[name].encode()
            return partial(self._pgconn.send_query_params, text, given, None, formats, _BINARY)
        prepared = self._prepared.get(name) or self._prepare(name)
        return partial(self._pgconn.send_query_prepared, prepared, given, formats, _BINARY)

    def _prepare(self, name: str) -> bytes:
        prepared = f"ledger_{name}".encode()
        self._checked(self._pgconn.prepare(prepared, self._statements[name].encode(), None))
        self._prepared[name] = prepared
        return prepared

    def _checked(self, result: PGresult) -> PGresult:
        if result.status not in _DONE:
            raise error_from_result(result, "utf-8")
        return result


def _results(pgconn: PGconn) -> Generator[Wait, Ready | int, list[PGresult]]:
    """Yield what to wait for until all that was sent up to the synchronisation point is answered.

    Libpq waits, too, but with the interpreter's lock in its hand, and who is waited for may need it.
    """
    while pgconn.flush():
        if (yield Wait.RW) & Ready.R:
            pgconn.consume_input()
    results: list[PGresult] = []
    while True:
        while pgconn.is_busy():
            if (yield Wait.R) & Ready.R:
                pgconn.consume_input()
        result = pgconn.get_result()
        if result is None:  # so the results of each statement end
            if pgconn.status != ConnStatus.OK:
                raise psycopg.OperationalError("the connection was lost")
        elif result.status == ExecStatus.PIPELINE_SYNC:
            return results
        else:
            results.append(result)


# Looked up once: on an enum class that is slow, as is hashing a member, and each append does both.
_BINARY = Format.BINARY
_DONE = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)
