"""Threads take turns at a stream: who finds it free leads, and takes along what the others say meanwhile."""

from __future__ import annotations

from threading import local
from typing import Any, Generic, TypeVar
from weakref import ref

from ledger.application.statements import Context, Stated, Statement
from ledger.application.steps import blocking
from ledger.application.stream import Stream
from ledger.commands import Command
from ledger.errors import StoreError, StoreUnavailable
from ledger.stores import forks
from ledger.stores.commit import Group

S = TypeVar("S")


class Turns(Generic[S]):
    """A stream that threads share."""

    def __init__(self, stream: Stream[S]) -> None:
        self.stream = stream
        self._generation = forks.generation()
        self._group = self._new_group()

    def do(
        self,
        command: Command,
        context: Context,
        *,
        expected: int | None = None,
        again: StoreUnavailable | None = None,
    ) -> Stated:
        """Decide a command and append what it yields.

        Where somebody was first it is decided again on what they wrote, unless `expected` names the position
        it is meant for. With `again`, the error of an earlier try, what that try stored is found and told.
        Raises what a refusal or a conflict stands for.
        """
        return self._said(Statement(command, context, expected, again, _thread.name))

    def weigh(self, command: Command, context: Context) -> Any:
        """Say what a command would be told now, as this kind of stream says it; nothing is appended."""
        statement = Statement(command, context, weighs=True)
        self._said(statement)
        return statement.weighed

    def look(self) -> S:
        """Read and fold what was appended since; return the state."""
        self._said(Statement())
        return self.stream.state

    def _said(self, statement: Statement) -> Stated:
        try:
            return self._free().submit(statement)
        except StoreError as error:
            # Who led may have been interrupted after this was settled, or sent.
            return self.stream.answer(statement, error)
        except Exception:
            # Raised now: kept here it would hold the frames it came through, and they this.
            statement.outcome = None
            raise
        except BaseException:
            self.stream.unheard(statement)
            raise

    def _free(self) -> Group[Statement, Stated]:
        """Return the group by which threads take turns, a free one in a process that was forked off.

        The thread that led at the fork is not there.
        """
        if self._generation != forks.generation():
            with forks.one_at_a_time:
                if self._generation != forks.generation():
                    self._group = self._new_group()
                    self.stream.after_fork()
                    self._generation = forks.generation()
        return self._group

    def _new_group(self) -> Group[Statement, Stated]:
        return Group(self._settle, _no_size, max_batch=TOGETHER)

    def _settle(self, statements: list[Statement]) -> list[Stated | Exception]:
        stream = self.stream
        blocking(stream.edge.store, stream.settle(statements))
        return [one.outcome for one in statements if one.outcome is not None]


class _Thread(local):
    """What names a thread: unlike its number, it is never given to another one."""

    def __init__(self) -> None:
        self._token = _Token()
        self.name = ref(self._token)
        hash(self.name)  # which is kept: later, the token may be gone


class _Token:
    pass


_thread = _Thread()


def _no_size(statement: Statement) -> int:
    return 0


TOGETHER = 128
"""Statements decided and appended together at most."""
