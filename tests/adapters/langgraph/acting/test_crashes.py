"""A process that acts for a graph dies at any of its appends: the next one goes on, and repeats nothing."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from ledger import Ledger
from ledger.adapters.langgraph import LedgerSaver
from ledger.application.edge import Edge
from ledger.stores.base import Append, Appended, FullStore
from ledger.stores.opening import open_store
from ledger.testing import START, Clock
from tests.adapters.langgraph.acting.agents import AGENT, Bank, agent_of, ask, call, on

ORDERS = (17, 18)
LINES = [
    [call("look_up", "1", order=17)],
    [call("pay", "2", order=17, amount="10.00"), call("pay", "3", order=18, amount="10.00")],
    "done",
]


class Crash(BaseException):
    """The process is gone."""


class Dying:
    """A store whose process dies at one of its appends, before or after that is stored."""

    def __init__(self, store: FullStore, at: int | None, stored: bool) -> None:
        self._store = store
        self._at, self._stored = at, stored
        self._mutex = threading.Lock()
        self.appends = 0
        self.is_dead = False

    def append(self, append: Append) -> Appended:
        with self._mutex:
            self.appends += 1
            dies = self.appends - 1 == self._at
            if self.is_dead or (dies and not self._stored):
                self.is_dead = True
                raise Crash
            appended = self._store.append(append)
            if dies:
                self.is_dead = True
                raise Crash
            return appended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class World:
    """What outlives processes: the store, the bank, the clock."""

    def __init__(self) -> None:
        self.store = open_store(":memory:")
        self.bank = Bank()
        self.clock = Clock(START)

    def run(self, durability: Any, *, at: int | None = None, stored: bool = False) -> tuple[Dying, Any]:
        """Begin the agent in a new process, or go on with it; say what it came to, None: it died."""
        store: Any = Dying(self.store, at, stored)
        ledger = Ledger(Edge(store, "default", AGENT, self.clock))
        saver = LedgerSaver(ledger, actor=AGENT)

        def look_up(order: int) -> str:
            """Look an order up."""
            return f"order {order}"

        declared = {
            "look_up": "read_only",
            "pay": {"recovery": "queryable", "probe": self.bank.find, "settle_seconds": 0},
        }
        agent = agent_of(saver, LINES, [look_up, self.bank.pay], declared)
        begun = bool(agent.get_state(on("t")).values)
        try:
            return store, agent.invoke(None if begun else ask(), on("t"), durability=durability)
        except Crash:
            return store, None
        except BaseException:
            if store.is_dead:  # what a dead process says nobody hears
                return store, None
            raise


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("stored", [False, True])
def test_whatever_append_a_process_dies_at_each_order_is_paid_once(durability: Any, stored: bool) -> None:
    whole, told = World().run(durability)
    assert told["messages"][-1].content == "done"
    assert whole.appends > 4  # those of calls that run at once may join
    for at in range(whole.appends):
        world = World()
        store, told = world.run(durability, at=at, stored=stored)
        assert store.is_dead == (told is None)
        world.clock.tick(60)
        _, told = world.run(durability)
        assert told["messages"][-1].content == "done", at
        assert sorted(order for order, _ in world.bank.paid) == list(ORDERS), at
