"""Questions read the build that is served, or this program's version where it was built."""

from __future__ import annotations

import pytest

from ledger import Ledger
from projections.asking import ask
from projections.built_in import BUILT_IN
from projections.errors import ProjectionBehind
from projections.rebuilding import rebuild, serve_previous
from projections.standing import status
from projections.timeline import Timeline
from tests.projections.samples import catch_up, fill
from tests.projections.test_rebuilding import interrupted
from tests.stores.builder import shown


class Newer(Timeline):
    version = Timeline.version + 1


def answered(ledger: Ledger, *, catch_up: bool = False) -> int:
    """Ask who wrote to a run, and return how many events were found."""
    (row,) = ask(ledger, "writers", run="run-1", catch_up=catch_up).rows
    return int(str(row[5]))


def test_answers_come_from_what_is_served_all_through_a_rebuild(ledger: Ledger) -> None:
    fill(ledger)
    catch_up(ledger, Timeline())
    assert answered(ledger) == 5
    interrupted(ledger, Timeline(), pages=2)
    assert answered(ledger) == 5
    ledger.run("run-1").revise_goal("later", reason="it changed", by="human:kim")
    shown(ledger.store)
    # To ask brings what is served up to date, and not what is being made.
    assert answered(ledger, catch_up=True) == 6
    assert {one.part: one.state for one in status(ledger)} == {"served": "active", "next": "building"}
    rebuild(ledger, [Timeline()])
    assert answered(ledger) == 6
    serve_previous(ledger, Timeline())
    assert answered(ledger) == 6


def test_a_program_asks_its_own_version_once_that_is_built(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ledger)
    catch_up(ledger, Timeline())
    monkeypatch.setitem(BUILT_IN, "timeline", Newer())
    with pytest.raises(ProjectionBehind) as behind:
        answered(ledger)
    assert "v1 is served" in str(behind.value)
    assert "intent-ledger project run timeline" in str(behind.value)
    interrupted(ledger, Newer(), pages=2)
    with pytest.raises(ProjectionBehind):
        answered(ledger)
    catch_up(ledger, Newer())
    assert answered(ledger) == 5
    # An older program goes on with its own; what was gone back from is asked by whose it is.
    monkeypatch.setitem(BUILT_IN, "timeline", Timeline())
    assert answered(ledger) == 5
    serve_previous(ledger, Timeline())
    monkeypatch.setitem(BUILT_IN, "timeline", Newer())
    assert answered(ledger) == 5
