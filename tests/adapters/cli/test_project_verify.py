"""`project verify`: rows that are not what comes from the records are named, with the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger import Actor, open_ledger
from projections.built_in import BUILT_IN
from projections.effects import Effects
from projections.runner import Runner
from projections.runs import Runs
from projections.timeline import Timeline
from tests.adapters.cli.command import at_terminal
from tests.adapters.cli.conftest import Alter, Call

INTENTS = "projection_effects_v2_intents"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    with open_ledger(path, actor=Actor("service:tests")) as opened:
        for number in range(3):
            run = opened.open_run(f"run-{number}", "goal")
            run.perform("pay", {"order": number}, lambda **args: {"paid": True}, step="pay")
        Runner(opened, [Effects(), Timeline(), Runs()]).run(until_current=True)
    return path


def test_what_holds_what_comes_from_the_records_is_fine(ledger: Path, call: Call) -> None:
    found = call("project", "verify", "--ledger", ledger, "--json")
    assert found.code == 0
    projections = {one["projection"]: one for one in found.document["projections"]}
    assert list(projections) == list(BUILT_IN)
    assert {one["state"] for name, one in projections.items() if name in {"effects", "timeline", "runs"}} == {
        "same"
    }
    assert {
        one["state"] for name, one in projections.items() if name not in {"effects", "timeline", "runs"}
    } == {"new"}
    assert projections["effects"] == {
        "projection": "effects",
        "version": Effects.version,
        "slot": 0,
        "state": "same",
        "position": projections["runs"]["position"],
        "events": projections["runs"]["events"],
        "rows": 9,
        "differing": 0,
        "missing": 0,
        "unfounded": 0,
        "first": [],
        "parked": [],
    }
    told = call("project", "verify", "effects", "goals", "--ledger", ledger)
    assert [line.split()[:2] for line in told.out.splitlines()[1:]] == [["effects", "as"], ["goals", "not"]]


def test_a_deleted_intent_is_named_where_asking_says_none(ledger: Path, call: Call, alter: Alter) -> None:
    alter(ledger, f"DELETE FROM {INTENTS} WHERE run = 'run-1'")
    assert call("ask", "effects", "run=run-1", "--ledger", ledger, "--json").document["rows"] == []
    # The record is sound, and that is all that this says.
    sound = call("verify", "--all", "--ledger", ledger)
    assert (sound.code, sound.out.partition(":")[0]) == (0, "SOUND")
    assert "intent-ledger project verify" in sound.out
    found = call("project", "verify", "--ledger", ledger)
    assert found.code == 1
    assert "effects: intents run=run-1 position=2: missing" in found.out
    assert "make them anew: intent-ledger project rebuild effects\n" in found.out
    assert call("project", "rebuild", "effects", "--ledger", ledger).code == 0
    assert call("project", "verify", "--ledger", ledger).code == 0


def test_what_differs_is_told_column_by_column(ledger: Path, call: Call, alter: Alter) -> None:
    alter(
        ledger,
        f"UPDATE {INTENTS} SET tool = 'a tool', step = NULL WHERE run = 'run-1'; "
        f"UPDATE {INTENTS} SET run = 'else\x1b[1m' WHERE run = 'run-2'; "
        f"UPDATE projection_runs_v{Runs.version}_runs SET contract = x'00' WHERE run = 'run-1';",
    )
    found = call("project", "verify", "--ledger", ledger)
    assert found.code == 1
    assert "intents run=run-1 position=2: tool is 'a tool', not pay, step is empty, not pay\n" in found.out
    assert "intents run='else\\x1b[1m' position=2: comes from no record\n" in found.out
    assert "\x1b" not in found.out
    assert "runs: runs run=run-1: contract is 00, not " in found.out
    written = call("project", "verify", "effects", "--ledger", ledger, "--json")
    (one,) = written.document["projections"]
    assert (written.code, one["differing"], one["missing"], one["unfounded"]) == (1, 1, 1, 1)
    assert [(first["kind"], first["key"]["run"]) for first in one["first"]] == [
        ("unfounded", "else\x1b[1m"),
        ("differs", "run-1"),
        ("missing", "run-2"),
    ]
    assert one["first"][1]["cells"] == {
        "tool": {"kept": "a tool", "from_records": "pay"},
        "step": {"kept": None, "from_records": "pay"},
    }


def test_an_altered_record_leads_to_the_record(ledger: Path, call: Call, alter: Alter) -> None:
    alter(
        ledger, "UPDATE events SET record = CAST(replace(record, 'goal', 'gaol') AS BLOB) WHERE run = 'run-0'"
    )
    found = call("project", "verify", "effects", "--ledger", ledger)
    assert found.code == 1
    assert "a record cannot be handled any more: intent-ledger verify --all" in found.out
    assert "rebuild" not in found.out


def test_a_bar_is_shown_where_somebody_watches(ledger: Path) -> None:
    watched = at_terminal("project", "verify", "effects", "--ledger", ledger)
    assert watched.code == 0
    assert "12/12" in watched.out


def test_what_cannot_be_checked_is_told(call: Call, tmp_path: Path) -> None:
    assert call("project", "verify", "--ledger", tmp_path / "none.db").code == 3
    assert call("project", "verify", "none", "--ledger", tmp_path / "none.db").code == 64
