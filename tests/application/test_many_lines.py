"""Saving states on more lines than a contract names: what moved last on one is looked up, once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from ledger import Ledger
from ledger.application.edge import Edge
from ledger.commands import SaveState
from ledger.errors import StateMoved
from ledger.run.states import LINES
from ledger.stores.base import Append
from ledger.stores.memory import MemoryStore
from ledger.values import Actor, Payload
from tests.application.test_together import Waiting, appends, waiting

__all__ = ["appends", "waiting"]


class Counted:
    """A store that counts what it is asked."""

    def __init__(self) -> None:
        self._store = MemoryStore()
        self.asked: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self.asked[name] += 1
            return found(*args, **kwargs)

        return call


def test_who_goes_on_with_one_of_many_lines_asks_once_more_than_with_one_of_few() -> None:
    store: Any = Counted()
    edge = Edge(store, "default", Actor("service:tests"), pause=lambda attempt: None)
    with Ledger(edge) as ledger:
        run = ledger.open_run("r", "Go")
        seen = [run.save_state("s-1", b"x", line=f"line-{number}").position for number in range(LINES + 9)]
        store.asked.clear()
        run.save_state("s-2", b"x", line=f"line-{LINES}", parent="s-1", seen=seen[LINES])
        assert store.asked == {"append": 1}
        store.asked.clear()
        run.save_state("s-2", b"x", line="line-1", parent="s-1", seen=seen[1])
        assert store.asked == {"find": 1, "append": 1}
        with pytest.raises(StateMoved, match="'s-1' was saved"):
            run.save_state("s-2", b"x", line="line-2", parent="s-0", seen=seen[2])


def test_of_two_that_wait_for_one_line_of_many_one_goes_on(
    waiting: Waiting,
    appends: list[Append],
) -> None:
    """What is stored of the line does not show what is about to be stored of it with them."""
    waiting.settle([save("s-1", f"line-{number}") for number in range(LINES + 1)])
    appends.clear()
    between = [save("s-1", f"other-{number}") for number in range(LINES + 1)]
    first, *others, second = waiting.settle(
        [save("s-2", "line-0", parent="s-1", seen=2), *between, save("s-3", "line-0", parent="s-1", seen=2)]
    )
    assert first.position == LINES + 3
    assert all(one.records for one in others)
    assert isinstance(second, StateMoved)
    assert len(appends) == 1


def save(id: str, line: str, *, parent: str | None = None, seen: int | None = None) -> SaveState:
    content = Payload(digest="a" * 64, size=1)
    return SaveState(content=content, id=id, line=line, parent=parent, seen=seen)
