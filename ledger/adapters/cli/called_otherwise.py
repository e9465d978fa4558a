"""Where somebody names a thread and a run is asked for: a thread's runs have its name, `#` and a number."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ledger.application.ledger import Ledger
    from ledger.errors import RunNotFound


class Opened:
    """A ledger that is open for a command, closed behind it. Of a run that is not there it tells more."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def __enter__(self) -> Ledger:
        return self._ledger.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from ledger.errors import RunNotFound

        more = _thread_so_called(self._ledger, error) if isinstance(error, RunNotFound) else None
        self._ledger.__exit__(kind, error, trace)
        if more is not None:
            assert isinstance(error, RunNotFound)
            raise RunNotFound(f"{error}; {more}", **error.data) from None


def _thread_so_called(ledger: Ledger, error: RunNotFound) -> str | None:
    """Name the newest run of the thread that has the name of a run that is not there."""
    from ledger.adapters.cli.words import quoted
    from ledger.adapters.threads import Threads

    name: Any = error.data.get("run")
    newest = next(Threads(ledger).generations(name), None) if isinstance(name, str) and name.strip() else None
    if newest is None:
        return None
    shows = f"intent-ledger threads show {quoted(name)}"
    return f"it is a thread, and its newest run is {quoted(newest.run.id)} ({shows})"


def run_so_called(ledger: Ledger, thread: str) -> str | None:
    """Say that a thread that is not there is a run, and of which thread; None: it is none either."""
    from ledger.adapters.cli.words import quoted
    from ledger.errors import InvalidInput, RunNotFound

    try:
        found = ledger.contract(thread)
    except (RunNotFound, InvalidInput):
        return None
    shows = f"intent-ledger contract {quoted(thread)}"
    of = "" if found.thread is None else f" of thread {quoted(found.thread)}"
    return f"it is a run{of} ({shows})"
