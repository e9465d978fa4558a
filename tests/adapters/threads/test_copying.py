"""Copying a thread: its states as they are, one on another, and nothing of what it did."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger import Ledger
from ledger.adapters.threads import ThreadStates, run_name
from ledger.adapters.threads.copying import copy
from ledger.adapters.threads.dropping import delete, prune
from ledger.errors import IntegrityError, InvalidInput
from ledger.integrity.findings import Standing
from ledger.values import SavedName
from tests.adapters.threads.plain import BY, chat, ids, kept, opened, save, states_of, values, verified
from tests.stores.conftest import KINDS

LINE = "a line | with #% and more".ljust(300, ".")
"""It is written otherwise where it stands in a record, and cut."""


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    with opened(KINDS[request.param](tmp_path)) as ledger:
        yield ledger


@pytest.fixture
def states(ledger: Ledger) -> ThreadStates:
    """Return a face of a thread with two runs and lines, a branch, a part, and a name that was used twice."""
    states = states_of(ledger)
    chat(states, "t", 35)
    chat(states, "t", 2, line=LINE)
    states.save("t", "branch", {"list": ["other"]}, b"the head", parent="3")
    ledger.run(run_name("t", 1)).close("completed")
    save(states, "t", "36", parent="35", list=["anew"])
    save(states, "t", "2", parent="1", list=["again"])
    states.threads.open("t").run.save_state_part("36", "task", b"part")
    return states


def test_states_and_parts_are_copied_in_their_order(ledger: Ledger, states: ThreadStates) -> None:
    before, size = ids(states, "t"), kept(ledger).bytes
    assert copy(states.threads, "t", "u") == len(before)
    for face in (states, states_of(ledger)):
        assert ids(face, "u") == before
        assert values(face, "u") == values(face, "t")
    assert (ids(states, "t"), kept(ledger).bytes < 2.2 * size) == (before, True)
    for one, other in zip(states.all("t"), states.all("u"), strict=True):
        assert (one.state.parent, states.read(one).head) == (other.state.parent, states.read(other).head)
        found = [
            [
                (part.task, found.entry.run.states.contents([part.digest])[part.digest])
                for part in states.parts(found)
            ]
            for found in (one, other)
        ]
        assert found[0] == found[1]
    newest, branch = states.newest("u", LINE), states.find("u", "branch")
    assert newest is not None
    assert branch is not None
    assert (newest.state.id, states.read(branch).head) == ("2", b"the head")
    # Neither rests on the other.
    delete(states.threads, "t", by=BY)
    prune(states.threads, "u", by=BY)
    assert ids(states_of(ledger), "u") == [(None, "2"), (newest.state.line, "2")]
    assert values(states_of(ledger), "u")[None, "2"] == {"list": ["again"]}
    assert verified(ledger).standing is Standing.SOUND


def test_what_was_kept_of_the_work_after_a_state_in_a_later_run_is_copied(ledger: Ledger) -> None:
    """A run may be closed between a state and what ends after it."""
    states = states_of(ledger)
    save(states, "later", "1", list=["a"])
    states.threads.open("later").run.save_state_part("1", "first", b"1")
    for task in ("second", "dropped", "third"):
        states.threads.open("later").run.close("completed")
        run = states.threads.open("later").run
        run.save_state_part("1", task, task.encode())
        if task == "dropped":
            run.drop_states(all=True, kept=[SavedName(id="other")], by=BY, reason="old")
    copy(states_of(ledger).threads, "later", "copied")
    run = ledger.run("copied#1")
    parts = run.states.parts(next(run.states.all()))
    assert [part.task for part in parts] == ["first", "second", "third"]
    assert list(run.states.contents([part.digest for part in parts]).values())[1:] == [b"second", b"third"]


def test_what_the_thread_did_is_not_copied(ledger: Ledger) -> None:
    states = states_of(ledger)
    chat(states, "t", 2)
    done: list[str] = []

    def pay(amount: str) -> None:
        done.append(amount)

    run = states.threads.open("t").run
    run.perform("charge", {"amount": "10"}, pay)
    copy(states.threads, "t", "u")
    assert {record.name for record in ledger.log(run_name("u", 1))} == {"run.opened", "state.saved"}
    # It is another thread: what is done there is done there, and nothing was approved in it.
    states.threads.open("u").run.perform("charge", {"amount": "10"}, pay)
    assert done == ["10", "10"]


def test_heads_are_written_anew_where_that_is_asked_for(ledger: Ledger) -> None:
    states = states_of(ledger)
    chat(states, "t", 1)
    copy(states.threads, "t", "u", head=lambda state, head: head + state.id.encode())
    found = states.newest("u")
    assert found is not None
    assert states.read(found).head == b"head1"


def test_a_copy_begins_in_a_thread_without_states(ledger: Ledger) -> None:
    states = states_of(ledger)
    chat(states, "t", 2)
    chat(states, "u", 1)
    for to in ("t", "u"):
        with pytest.raises(InvalidInput):
            copy(states.threads, "t", to)
    assert ids(states, "u") == [(None, "1")]
    assert copy(states.threads, "nobody", "v") == 0
    assert states.threads.current("v") is None
    delete(states.threads, "u", by=BY)
    assert copy(states.threads, "t", "u") == 2
    assert values(states_of(ledger), "u") == values(states, "t")


def test_a_part_that_is_gone_is_told(ledger: Ledger) -> None:
    states = states_of(ledger)
    chat(states, "t", 1)
    states.threads.open("t").run.save_state_part("1", "task", b"part")
    found = states.newest("t")
    assert found is not None
    (part,) = states.parts(found)
    places = [row.place for row in ledger.store.blob_rows("default", [part.digest])]
    ledger.store.drop_blobs("default", places, since=ledger.store.end(newest=True), but="")
    with pytest.raises(IntegrityError, match="part of state '1'"):
        copy(states.threads, "t", "u")
