"""Steps: what writing to a stream needs of the world, yielded by generators that never block themselves.

A generator of steps holds the logic once; what performs the steps decides how they wait. `blocking` performs
them in the caller's thread; under an event loop they are performed by worker threads.

Source of the shape: psycopg's `generators.py` and `waiting.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeVar

from ledger.stores.base import Append, Store

T = TypeVar("T")


class Send(NamedTuple):
    """Append this; answered with `Appended`, or what the store raises."""

    append: Append


class Call(NamedTuple):
    """Call this, which may block; answered with what it returns or raises."""

    function: Callable[[], Any]


Steps = Generator[Send | Call, Any, T]


def blocking(store: Store, steps: Steps[T]) -> T:
    """Perform steps one after another in this thread, and return what they come to."""
    try:
        step = next(steps)
        while True:
            try:
                outcome = store.append(step.append) if isinstance(step, Send) else step.function()
            except BaseException as error:  # noqa: BLE001  it belongs to who yielded the step, an interrupt too
                step = steps.throw(error)
            else:
                step = steps.send(outcome)
    except StopIteration as end:
        value: T = end.value
        return value
