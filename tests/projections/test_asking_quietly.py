"""A question whose read models are up to date takes no projection and stores nothing."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from ledger import Ledger
from ledger.stores.base import FullStore
from projections.asking import ask
from projections.timeline import Timeline
from tests.projections.conftest import OpenLedger
from tests.projections.samples import catch_up, fill, standing
from tests.projections.test_restored import graft, opened
from tests.stores.builder import shown


def fences(ledger: Ledger) -> list[int]:
    """Tell how often each projection was taken."""
    return [cursor.fence for cursor in ledger.store.read_models().cursors(ledger.tenant)]


def events(ledger: Ledger, run: str) -> int:
    shown(ledger.store)
    (row,) = ask(ledger, "writers", run=run).rows
    return int(str(row[5]))


def test_nothing_is_taken_where_all_is_handled(ledger: Ledger) -> None:
    fill(ledger)
    shown(ledger.store)
    catch_up(ledger, Timeline())
    assert fences(ledger) == [1]
    end = ledger.store.end()
    for as_of in (None, end, end - 1):
        answer = ask(ledger, "writers", run="run-1", as_of=as_of)
        assert answer.as_of == (as_of or end)
    assert fences(ledger) == [1]
    ledger.run("run-1").revise_goal("later", reason="it changed", by="human:kim")
    # As of a place that was handled, no more than that is needed.
    assert ask(ledger, "writers", run="run-1", as_of=end).rows
    assert fences(ledger) == [1]
    assert events(ledger, "run-1") == 6
    assert fences(ledger) == [2]


def test_nor_where_only_other_tenants_have_written_since(ledger: Ledger, open_on: OpenLedger) -> None:
    fill(ledger)
    shown(ledger.store)
    catch_up(ledger, Timeline())
    before = ledger.store.end()
    fill(open_on("others"))
    shown(ledger.store)
    assert events(ledger, "run-1") == 5
    last = ledger.store.end()
    assert last > before
    assert ask(ledger, "writers", run="run-1", as_of=last).as_of == last
    assert fences(ledger) == [1]
    ledger.open_run("later", "goal")
    assert events(ledger, "later") == 1
    assert fences(ledger) == [2]


def test_records_of_others_that_were_lost_hide_none_from_a_question(tmp_path: Path) -> None:
    live, copy = tmp_path / "live.db", tmp_path / "copy.db"
    with opened(live) as ledger:
        fill(ledger, runs=1, events=3)
    shutil.copy(live, copy)
    with opened(live, "others") as others:
        fill(others, runs=3, events=3)
    with opened(live) as ledger:
        catch_up(ledger, Timeline())
    graft(live, copy)
    with opened(copy) as ledger:
        # The cursor stands behind all of them.
        (cursor,) = ledger.store.read_models().cursors(ledger.tenant)
        assert cursor.reached.position > ledger.store.end() == standing(ledger, Timeline()).position
        assert ask(ledger, "writers", run="run-0").as_of == ledger.store.end()
        for number in range(5):
            ledger.open_run(f"found-{number}", "goal")
        assert [events(ledger, f"found-{number}") for number in range(5)] == [1] * 5


def test_a_projection_that_stands_at_a_record_is_tried_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ledger)
    with monkeypatch.context() as patched:
        patched.setattr(Timeline, "facts", lambda self, record: 1 / 0)
        assert ask(ledger, "writers", run="run-1", as_of=0).rows == []
    assert standing(ledger, Timeline()).state == "stopped"
    assert ask(ledger, "writers", run="run-1", as_of=0).rows == []
    assert standing(ledger, Timeline()).state == "active"


class Late:
    """A store that shows what is stored only after it was asked for it some times."""

    def __init__(self, store: FullStore, times: int) -> None:
        self._store = store
        self.left = times

    def end(self, *, newest: bool = False) -> int:
        if newest or self.left == 0:
            return self._store.end(newest=newest)
        self.left -= 1
        return 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def test_who_has_just_written_is_answered_with_it(open_on: OpenLedger, store: FullStore) -> None:
    """Whoever writes at the same time may keep it from being shown for a moment."""
    late: Any = Late(shown(store), times=5)
    ledger = open_on(store=late)
    ledger.open_run("r", "goal")
    assert [row[0] for row in ask(ledger, "timeline", run="r").rows] == [1]
    assert late.left == 0
