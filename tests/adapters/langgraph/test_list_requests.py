"""How often the store is asked for a list of checkpoints: by the page, not by the checkpoint."""

from __future__ import annotations

from typing import Any, cast

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import create_checkpoint, empty_checkpoint

from ledger import Actor, Ledger
from ledger.adapters.langgraph import LedgerSaver
from ledger.adapters.langgraph.deleting import made_by
from ledger.application.edge import Edge
from ledger.errors import IntegrityError
from ledger.stores.base import FullStore
from ledger.stores.memory import MemoryStore
from tests.adapters.langgraph.places import config_of

COUNT = 120
THREAD = config_of("t")


class Watched:
    """A store that counts the calls to it, and may spoil one content."""

    def __init__(self) -> None:
        self._store = MemoryStore()
        self.calls = 0
        self.spoilt: bytes | None = None

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            answer = found(*args, **kwargs)
            if name == "blobs" and self.spoilt in answer:
                answer[self.spoilt] = b"something else"
            return answer

        return call


@pytest.fixture(scope="module")
def long() -> tuple[LedgerSaver, Watched]:
    """Return a saver that has saved a history, the second half of it by another run of a graph."""
    store = Watched()
    saver = LedgerSaver(Ledger(Edge(cast(FullStore, store), "default", Actor("service:tests"))), gate="off")
    config: Any = THREAD
    messages: list[HumanMessage] = []
    for at in range(COUNT):
        messages = [*messages, HumanMessage(f"{at} " + "x" * 100, id=f"m-{at}")]
        checkpoint = create_checkpoint(empty_checkpoint(), None, at)
        checkpoint["channel_values"], checkpoint["channel_versions"] = {"m": messages}, {"m": at + 1}
        config = {**config, "metadata": {"run_id": "second" if at * 2 >= COUNT else "first"}}
        config = saver.put(config, checkpoint, {"source": "loop", "step": at, "parents": {}}, {"m": at + 1})
        saver.put_writes(config, [("m", at)], f"task-{at}")
    return saver, store


def steps(saver: LedgerSaver, **asked: Any) -> list[int]:
    found = list(saver.list(THREAD, **asked))
    for one in found:
        assert len(one.checkpoint["channel_values"]["m"]) == one.metadata["step"] + 1
        assert [value for _, _, value in one.pending_writes or ()] == [one.metadata["step"]]
    return [one.metadata["step"] for one in found]


def asking(long: tuple[LedgerSaver, Watched], **asked: Any) -> tuple[list[int], int]:
    saver, store = long
    other = LedgerSaver(saver.ledger, gate="off")  # it knows nothing of what is stored
    store.calls = 0
    return steps(other, **asked), store.calls


def test_a_list_is_read_by_the_page(long: tuple[LedgerSaver, Watched]) -> None:
    found, calls = asking(long)
    assert found == list(range(COUNT))[::-1]
    assert calls <= 40


def test_what_a_filter_passes_over_is_read_by_the_page(long: tuple[LedgerSaver, Watched]) -> None:
    found, calls = asking(long, filter={"run_id": "first"}, limit=2)
    assert found == [COUNT // 2 - 1, COUNT // 2 - 2]
    assert calls <= 25


def test_the_first_few_are_read_alone(long: tuple[LedgerSaver, Watched]) -> None:
    found, calls = asking(long, limit=1)
    assert found == [COUNT - 1]
    assert calls <= 12


def test_one_that_is_damaged_keeps_none_before_it_from_being_listed(
    long: tuple[LedgerSaver, Watched],
) -> None:
    saver, store = long
    entry = saver.threads.current("t")
    assert entry is not None
    damaged = [*entry.run.states.all()][10]
    listed = LedgerSaver(saver.ledger, gate="off").list(THREAD)
    store.spoilt = entry.run.states.parts(damaged)[0].digest
    try:
        found = [next(listed).metadata["step"] for _ in range(10)]
        with pytest.raises(IntegrityError):
            next(listed)
    finally:
        store.spoilt = None
    assert found == list(range(COUNT))[::-1][:10]


def test_what_runs_of_a_graph_made_is_found_by_the_page(long: tuple[LedgerSaver, Watched]) -> None:
    saver, store = long
    store.calls = 0
    made = made_by(saver._checkpoints, frozenset({"second"}))
    assert store.calls <= 25
    assert len(made.names["t"]) == COUNT // 2
