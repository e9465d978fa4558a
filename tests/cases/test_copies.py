"""Ledgers that were copied, restored or read elsewhere: nothing is guessed, forked or folded differently."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ledger import Ledger, Limits, Run
from ledger.application.verifying import verify
from ledger.errors import ChainBroken, PositionConflict
from ledger.testing import Clock
from tests.cases.conftest import Another


def dumped(old: sqlite3.Connection, new: sqlite3.Connection) -> None:
    new.executescript("\n".join(old.iterdump()))


def backed_up(old: sqlite3.Connection, new: sqlite3.Connection) -> None:
    old.backup(new)


Copy = Callable[[sqlite3.Connection, sqlite3.Connection], None]


@pytest.mark.parametrize("copy", [dumped, backed_up])
def test_a_restored_ledger_goes_on_behind_its_last_event(on_file: Another, file: Path, copy: Copy) -> None:
    """Case-113: rows are carried over, and with them the places that come next."""
    old = on_file()
    old.source("policy:refunds").publish("1", {"limit": "100 EUR"})
    old.open_run("r", "goal").move("a")
    before = [(record.global_position, record.hash) for record in old.follow()]
    old.close()

    with (
        closing(sqlite3.connect(file)) as source,
        closing(sqlite3.connect(file.with_name("new.db"))) as target,
    ):
        copy(source, target)
    file.unlink()
    file.with_name("new.db").rename(file)

    new = on_file()
    assert [(record.global_position, record.hash) for record in new.follow()] == before
    new.run("r").move("b")
    new.source("policy:refunds").publish("2", {"limit": "50 EUR"})
    after = [(record.global_position or 0, record.hash) for record in new.follow()]
    assert after == sorted(set(after))
    assert after[: len(before)] == before
    assert [record.position for record in new.log("r")] == [1, 2, 3]
    assert verify(new).findings == ()


def restore(backup: sqlite3.Connection, file: Path) -> None:
    """Put an earlier state in the place of the present one, under ledgers that are open."""
    with closing(sqlite3.connect(file)) as target:
        backup.backup(target)


def ahead_of_its_store(on_file: Another, file: Path) -> tuple[Ledger, Run]:
    """Return a handle at position 61 of a run that was set back to position 31, and a ledger beside it."""
    ledger = on_file()
    run = ledger.open_run("r", "goal")
    for number in range(30):
        run.move(f"n{number}")
    with closing(sqlite3.connect(":memory:")) as backup:
        with closing(sqlite3.connect(file)) as live:
            live.backup(backup)
        for number in range(30):
            run.move(f"lost-{number}")
        restore(backup, file)
    return on_file(), run


def test_a_handle_ahead_of_a_restored_ledger_writes_nothing(on_file: Another, file: Path) -> None:
    """Case-162: it remembers what is gone, so it is in conflict rather than right."""
    other, run = ahead_of_its_store(on_file, file)
    with pytest.raises(PositionConflict) as conflict:
        run.move("on")
    assert (conflict.value.expected, conflict.value.actual) == (61, 31)
    assert other.contract("r").position == 31
    assert verify(other).findings == ()


def test_a_handle_does_not_go_on_from_another_history_of_the_same_length(
    on_file: Another, file: Path
) -> None:
    """Case-162: it is bound to the hash of what it saw, not to a number."""
    other, run = ahead_of_its_store(on_file, file)
    new = other.run("r")
    for number in range(30):
        new.move(f"new-{number}")
    with pytest.raises(PositionConflict) as conflict:
        run.move("on")
    assert (conflict.value.expected, conflict.value.actual) == (61, 61)
    new.move("one more")
    with pytest.raises(ChainBroken):
        run.move("on")
    assert other.contract("r").position == 62
    assert verify(other).findings == ()


def test_a_snapshot_of_a_history_that_was_set_back_is_not_used(on_file: Another, file: Path) -> None:
    """Case-162: another history has grown as far as the one the snapshot was taken of."""
    ledger = on_file()
    run = ledger.open_run("r", "goal")
    with closing(sqlite3.connect(":memory:")) as backup:
        with closing(sqlite3.connect(file)) as live:
            live.backup(backup)
        for number in range(40):
            run.move(f"lost-{number}")
        lost = ledger.store.snapshots("default", "r")[-1]
        restore(backup, file)
    other = on_file()
    new = other.run("r")
    for number in range(50):
        new.assume(f"a{number}", "in stock")
    kept = ledger.contract("r")
    other.store.drop_snapshots()
    other.store.put_snapshot("default", "r", lost)
    assert lost.position < 51
    assert ledger.contract("r") == other.contract("r") == kept
    assert ledger.contract("r").cursor is None


COLD = """
import sys
from ledger import open_ledger
with open_ledger(sys.argv[1]) as ledger:
    print(ledger.contract("r").model_dump_json())
"""


def test_a_contract_is_the_same_warm_and_cold(on_file: Another, file: Path, clock: Clock) -> None:
    """Case-153: it depends on events alone, not on the process, its hash seed, or what it remembers."""
    ledger = on_file()
    run = ledger.open_run(
        "r", "goal", labels={"z": "1", "a": "2", "m": "é"}, limits=Limits(steps=100), owner="human:kim"
    )
    run.grant(
        "g",
        principal="agent:refunds",
        scopes=["refund", "mail", "book"],
        granted_by="human:kim",
        budget={"USD": "3", "EUR": "100.50"},
    )
    for number in range(20):
        run.assume(f"a{number}", "in stock", rests_on=["observation:k0"])
        run.observe(f"k{number % 7}", {"z": number, "a": [1.5, None]}, tool="stock", observed_at=clock.now)
        run.move(f"n{number % 3}", visited={"b": 1, "a": number}, next=("y", "x"))
    warm = run.contract.model_dump_json()
    assert ledger.store.snapshots("default", "r") != []
    cold = [_cold(file, "1"), ledger.contract("r").model_dump_json()]
    assert ledger.store.drop_snapshots() > 0
    cold += [_cold(file, "2"), ledger.contract("r").model_dump_json()]
    assert cold == [warm] * 4


def _cold(file: Path, seed: str) -> str:
    """Read the contract in a process of its own that orders sets in a way of its own."""
    answer = subprocess.run(
        [sys.executable, "-c", COLD, str(file)],
        env={"PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return answer.stdout.rstrip("\n")


def test_a_new_handle_does_not_share_what_another_one_saw_of_a_lost_history(
    on_file: Another, file: Path
) -> None:
    """Whoever joins the run anew joins what is stored."""
    ledger = on_file()
    run = ledger.open_run("r", "goal")
    with closing(sqlite3.connect(":memory:")) as backup:
        with closing(sqlite3.connect(file)) as live:
            live.backup(backup)
        run.move("lost")
        assert ledger.run("r").position == 2
        restore(backup, file)
    anew = ledger.run("r")
    assert anew.position == 1
    assert anew.move("on").position == 2
