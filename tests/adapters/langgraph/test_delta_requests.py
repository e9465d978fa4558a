"""How often the store is asked for what delta channels are made of: by the page, not by the checkpoint."""

from __future__ import annotations

from typing import Any, cast

from langgraph.checkpoint.base import create_checkpoint, empty_checkpoint

from ledger import Actor, Ledger
from ledger.adapters.langgraph import LedgerSaver
from ledger.application.edge import Edge
from ledger.stores.base import FullStore
from ledger.stores.memory import MemoryStore
from tests.adapters.langgraph.places import config_of

SERVICE = Actor("service:tests")


class Counting:
    """A store that counts the calls to it."""

    def __init__(self, store: FullStore) -> None:
        self._store = store
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return found(*args, **kwargs)

        return call


def saved(saver: LedgerSaver, count: int, *, closes: frozenset[int] = frozenset()) -> Any:
    """Save a chain of checkpoints with a delta channel that has no value in any, and a write after each.

    Before some of them the run of the thread is closed, so that the next one goes on.
    """
    config: Any = config_of("t")
    for at in range(count):
        if at in closes:
            saver.thread_run(config).close("completed")
        checkpoint = create_checkpoint(empty_checkpoint(), None, at)
        checkpoint["channel_values"], checkpoint["channel_versions"] = {"x": at}, {"x": at + 1, "d": at + 1}
        metadata: Any = {"source": "fork", "step": at, "parents": {}}
        metadata["counters_since_delta_snapshot"] = {"d": (at, at)}
        config = saver.put(config, checkpoint, metadata, {"x": at + 1, "d": at + 1})
        saver.put_writes(config, [("d", at)], f"task-{at}")
    return config


def asked(count: int, closes: frozenset[int] = frozenset()) -> int:
    """Count the requests for a channel that is made of what was written after so many checkpoints."""
    store = Counting(MemoryStore())
    saver = LedgerSaver(Ledger(Edge(cast(FullStore, store), "default", SERVICE)), gate="off")
    config = saved(saver, count + 1, closes=closes)
    store.calls = 0
    history = saver.get_delta_channel_history(config=config, channels=["d"])
    assert [value for _, _, value in history["d"]["writes"]] == list(range(count))
    return store.calls


def test_a_long_history_takes_few_requests_more_than_a_short_one() -> None:
    few, many = asked(5), asked(200)
    assert few <= 8
    assert many <= few + 10


def test_so_it_does_where_the_run_of_the_thread_was_closed_on_the_way() -> None:
    few, many = asked(5, frozenset({2})), asked(200, frozenset({80}))
    assert few <= 24
    assert many <= few + 20
