"""What is held of threads is bounded in bytes, and letting go of it loses nothing."""

from __future__ import annotations

import json
from typing import Any

from ledger import Ledger, open_ledger
from ledger.adapters.packs import Split
from ledger.adapters.threads import Threads, ThreadStates
from ledger.adapters.threads.memory import Memory


class Json:
    def dumps(self, value: Any, path: str) -> bytes:
        return json.dumps(value).encode()

    def loads(self, content: bytes) -> Any:
        return json.loads(content)

    def split(self, value: Any) -> Split | None:
        return Split("", value) if type(value) is list else None

    def join(self, tag: str, elements: list[Any]) -> Any:
        return elements


def states_of(ledger: Ledger, most: int) -> ThreadStates:
    threads = Threads(ledger)
    threads.memory = Memory(most)
    return ThreadStates(threads, Json())


def held(states: ThreadStates, thread: str) -> int:
    entry = states.threads.last_seen(thread)
    return 0 if entry is None else entry.memo.size


def test_the_memos_of_threads_used_longest_ago_go_first_and_the_last_one_stays() -> None:
    with open_ledger(":memory:") as ledger:
        states = states_of(ledger, most=5_000)
        for number in range(8):
            states.save(f"t{number}", "a", {"said": ["x" * 2_000]}, b"")
        assert [held(states, f"t{number}") > 0 for number in range(8)] == [False] * 6 + [True] * 2
        states.save("large", "a", {"said": ["x" * 20_000]}, b"")
        assert [held(states, f"t{number}") for number in range(8)] == [0] * 8
        assert held(states, "large") > 20_000


def test_a_thread_that_was_let_go_of_is_saved_and_read_as_ever() -> None:
    with open_ledger(":memory:") as ledger:
        states = states_of(ledger, most=1)
        said: dict[str, list[str]] = {"one": [], "other": []}
        for step in range(70):
            for thread, words in said.items():
                words.append(f"{step} " + "x" * 100)
                found = states.newest(thread)
                parent, seen = (None, None) if found is None else (found.state.id, found.seen)
                states.save(thread, f"s{step}", {"said": words}, b"", parent=parent, seen=seen)
        for thread, words in said.items():
            found = states.newest(thread)
            assert found is not None
            assert states.read(found).values == {"said": words}


def test_a_thread_that_is_forgotten_is_counted_no_longer() -> None:
    with open_ledger(":memory:") as ledger:
        states = states_of(ledger, most=5_000)
        states.save("a", "s", {"said": ["x" * 3_000]}, b"")
        states.threads.forget("a")
        states.save("b", "s", {"said": ["x" * 3_000]}, b"")
        assert held(states, "b") > 3_000
