"""Running what follows the ledger in a thread, for as long as a block lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread


@contextmanager
def in_background(run: Callable[[Event], object], name: str) -> Iterator[None]:
    """Run in a thread that is named so until the block ends; then raise what ended the run before.

    `run` is given what is set once it has to end.
    """
    stop, raised = Event(), list[BaseException]()

    def follow() -> None:
        try:
            run(stop)
        except BaseException as error:  # noqa: BLE001 - it belongs to who opened the block
            raised.append(error)

    thread = Thread(target=follow, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if raised:
        raise raised[0]
