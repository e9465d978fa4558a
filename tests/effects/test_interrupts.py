"""Ctrl-C in the middle of an effect: the same process goes on with the same handle; nothing is done twice.

The signal comes at the moment that the table names. The same call is made again: at once, when the lease has
lapsed, and when nothing that was sent can land any more.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from ledger import Tool
from ledger.testing import Clock
from tests.effects.deeds import DEEDS, LEASE, SETTLE, before_each_call
from tests.effects.hooked import CLAIM, OUTCOME, hooked
from tests.effects.scene import A_PERSON, ASK_LATER, EXECUTES, IN_FLIGHT, TELLS, Scene
from tests.outside.outside import Outside

CLAIMING = "before the claim is stored"
CLAIMED = "after it is stored, before that is heard"
BODY = "in the body, before it acts"
ACTED = "in the body, after it acted"
REPORTING = "before the outcome is stored"
REPORTED = "after it is stored, before that is heard by the caller"

# The recovery,  where the signal came,  then performing it again: at once, lease lapsed, settled;  acts
MATRIX = [
    ("queryable", CLAIMING, EXECUTES, TELLS, TELLS, 1),
    ("queryable", CLAIMED, EXECUTES, TELLS, TELLS, 1),
    ("queryable", BODY, IN_FLIGHT, ASK_LATER, EXECUTES, 1),
    ("queryable", ACTED, IN_FLIGHT, TELLS, TELLS, 1),
    ("queryable", REPORTING, IN_FLIGHT, TELLS, TELLS, 1),
    ("queryable", REPORTED, TELLS, TELLS, TELLS, 1),
    ("at_most_once", CLAIMING, EXECUTES, TELLS, TELLS, 1),
    ("at_most_once", CLAIMED, EXECUTES, TELLS, TELLS, 1),
    ("at_most_once", BODY, IN_FLIGHT, A_PERSON, A_PERSON, 0),
    ("at_most_once", ACTED, IN_FLIGHT, A_PERSON, A_PERSON, 1),
    ("at_most_once", REPORTING, IN_FLIGHT, A_PERSON, A_PERSON, 1),
    ("at_most_once", REPORTED, TELLS, TELLS, TELLS, 1),
]


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.parametrize(("recovery", "moment", "at_once", "lapsed", "settled", "acts"), MATRIX)
def test_an_interrupt_executes_nothing_twice(
    place: Path | str,
    outside: Callable[[str], Outside],
    recovery: str,
    moment: str,
    at_once: str,
    lapsed: str,
    settled: str,
    acts: int,
) -> None:
    deed, clock, calls = DEEDS[recovery], Clock(), list[str]()
    server, run = outside(deed.outside), f"interrupted: {recovery}, {moment}"
    ledger, store = hooked(place, clock)
    press = pressed_once()
    tool = before_each_call(deed.tool(server.port), lambda: calls.append("called"))
    with ledger:
        handle = ledger.open_run(run, "Do it once")
        there = Scene(ledger, run, clock, deed, server, calls)
        if moment in (CLAIMING, REPORTING):
            store.before(CLAIM if moment == CLAIMING else OUTCOME, press)
        if moment in (CLAIMED, REPORTED):
            store.after(CLAIM if moment == CLAIMED else OUTCOME, press)
        if moment == BODY:
            tool = before_each_call(tool, press)
        if moment == ACTED:
            tool = after_each_call(tool, press)
        with pytest.raises(KeyboardInterrupt):
            handle.perform(tool, deed.args)
        found = []
        for seconds in (0, LEASE, LEASE + SETTLE):
            there.at(seconds)
            found.append(there.perform())
        assert found == [at_once, lapsed, settled]
        assert there.acts() == acts
        assert there.outcomes() == (0 if found[-1] == A_PERSON else 1)


def pressed_once() -> Callable[[], None]:
    """Return a function that presses Ctrl-C the first time it is called."""
    pressed: list[bool] = []

    def press() -> None:
        if not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)

    return press


def after_each_call(tool: Tool, hook: Callable[[], object]) -> Tool:
    """Return the same tool, which calls a hook when its function has returned."""
    function = tool.function
    assert function is not None

    @wraps(function)
    def hooked(**args: Any) -> Any:
        result = function(**args)
        hook()
        return result

    return replace(tool, function=hooked)
