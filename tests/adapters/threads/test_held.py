"""A small state that this process saved or read is held: it is not asked for again while nothing moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ledger import Ledger, open_ledger
from ledger.adapters.threads import ThreadStates
from ledger.adapters.threads.dropping import drop
from ledger.adapters.threads.held import LARGEST
from ledger.adapters.threads.memory import Memory
from tests.adapters.threads.plain import BY, opened, save, states_of

SMALL: dict[str, Any] = {"count": 1, "list": ["a", "b"], "more": {"x": [1]}}
LARGE: dict[str, Any] = {"text": "x" * (LARGEST + 1)}


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with open_ledger(":memory:") as ledger:
        yield opened(ledger.store)


@pytest.fixture
def asked(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what the store was asked for, as it is asked."""
    names: list[str] = []

    def watch(name: str) -> None:
        verb = getattr(ledger.store, name)

        def watched(*args: Any, **options: Any) -> Any:
            names.append(name)
            return verb(*args, **options)

        monkeypatch.setattr(ledger.store, name, watched)

    for name in ("blobs", "find", "find_all", "read"):
        watch(name)
    return names


def newest(states: ThreadStates) -> dict[str, Any]:
    found = states.newest("t")
    assert found is not None
    unpacked, _ = states.read_all(found, learn=True)
    assert unpacked.head == b"head"
    return unpacked.values


def test_what_was_saved_is_looked_up_once_and_then_only_whether_somebody_went_on(
    ledger: Ledger, asked: list[str]
) -> None:
    states = states_of(ledger)
    save(states, "t", "1", **SMALL)
    asked.clear()
    assert newest(states) == SMALL
    assert asked == ["read", "find_all"]
    asked.clear()
    assert newest(states) == SMALL
    assert asked == ["read"]


def test_what_was_read_is_held_and_what_somebody_saves_is_seen(ledger: Ledger, asked: list[str]) -> None:
    save(states_of(ledger), "t", "1", **SMALL)
    states = states_of(ledger)
    assert newest(states) == SMALL
    asked.clear()
    assert newest(states) == SMALL
    assert asked == ["read"]
    other = states_of(opened(ledger.store))
    save(other, "t", "2", parent="1", **{**SMALL, "count": 2})
    assert newest(states)["count"] == 2
    other.threads.open("t").run.save_state_part("2", "task", b"part")
    found = states.newest("t")
    assert found is not None
    assert [content for _, content in states.read_all(found)[1]] == [b"part"]


def test_each_who_reads_gets_values_of_their_own(ledger: Ledger) -> None:
    states = states_of(ledger)
    save(states, "t", "1", **SMALL)
    for _ in range(2):
        values = newest(states)
        values["list"].append("c")
        values["more"]["x"] = None
        values["count"] = None
        assert newest(states) == SMALL


def test_what_was_given_up_is_not_found_though_it_is_held(ledger: Ledger) -> None:
    states, other = states_of(ledger), states_of(opened(ledger.store))
    save(states, "t", "1", **SMALL)
    assert newest(states) == SMALL
    drop(other.threads, "t", [("", "1")], by=BY)
    assert states.newest("t") is None


def test_a_large_state_is_not_held(ledger: Ledger, asked: list[str]) -> None:
    states = states_of(ledger)
    save(states, "t", "1", **LARGE)
    for _ in range(2):
        asked.clear()
        assert newest(states) == LARGE
        assert asked[-1] == "blobs"


def test_some_values_of_what_is_held_are_read_alone(ledger: Ledger, asked: list[str]) -> None:
    states = states_of(ledger)
    save(states, "t", "1", **SMALL)
    found = states.newest("t")
    assert found is not None
    asked.clear()
    assert states.read(found, names=("count",)).values == {"count": 1}
    assert asked == []


def test_who_let_go_of_what_is_stored_reads_it_again_to_store_only_what_is_new(
    ledger: Ledger, asked: list[str]
) -> None:
    states = states_of(ledger)
    states.threads.memory = Memory(0)
    said = [f"{number:03}".ljust(100, ".") for number in range(20)]
    save(states, "t", "1", list=said)
    save(states, "other", "1", list=said)  # the memo of the first is let go of
    asked.clear()
    assert newest(states) == {"list": said}
    assert asked[-1] == "blobs"
    save(states, "t", "2", parent="1", list=[*said, "new"])
    found = states.newest("t")
    assert found is not None
    assert not found.state.whole
    assert found.state.size < 1_000
