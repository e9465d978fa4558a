"""A statement whose acknowledgement was lost is found by its event ids, whatever happened meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from ledger import Ledger
from ledger.commands import MakeAssumption, MoveCursor, RenewAuthority
from ledger.errors import InvalidInput, StoreBusy, StoreUnavailable
from tests.application.conftest import OpenLedger


def lose(wrapped: Any, *, stored: bool) -> None:
    """Let the next append end without an answer, stored or not."""

    def cut(append: Any) -> None:
        wrapped.before = wrapped.after = lambda append: None
        raise StoreUnavailable("the connection was lost at COMMIT")

    if stored:
        wrapped.after = cut
    else:
        wrapped.before = cut


def lost(call: Callable[[], object]) -> StoreUnavailable:
    with pytest.raises(StoreUnavailable) as raised:
        call()
    return raised.value


@pytest.mark.parametrize("stored", [True, False])
def test_the_error_finds_what_was_sent_even_after_other_words(
    wrapped: Any, open_on: OpenLedger, stored: bool
) -> None:
    run = open_on(store=wrapped).open_run("r", "goal")
    lose(wrapped, stored=stored)
    error = lost(lambda: run.move("pay"))
    run.move("look")
    again = run.do(MoveCursor(node="pay"), again=error)
    assert (again.position, len(again.records)) == ((2 if stored else 3), 1)
    assert run.contract.tally.steps == 2
    assert run.do(MoveCursor(node="pay"), again=error).position == again.position


def test_the_error_finds_it_through_another_handle_and_another_ledger(
    wrapped: Any, ledger: Ledger, open_on: OpenLedger
) -> None:
    run = open_on(store=wrapped).open_run("r", "goal")
    run.grant("g", principal="agent:a", scopes=["pay"], granted_by="human:kim", budget={"EUR": Decimal(10)})
    lose(wrapped, stored=True)
    more = RenewAuthority(id="g", by="human:kim", add_budget={"EUR": Decimal(5)})
    error = lost(lambda: run.do(more))
    assert ledger.run("r").do(more, again=error).position == 3
    assert str(ledger.contract("r").grants[0].budget) == str(run.contract.grants[0].budget)
    assert run.contract.position == 3


def test_what_others_undid_meanwhile_is_not_done_again(
    wrapped: Any, ledger: Ledger, open_on: OpenLedger
) -> None:
    run = open_on(store=wrapped).open_run("r", "goal")
    lose(wrapped, stored=True)
    error = lost(lambda: run.accept("limit", "Never more than 100", asserted_by="human:kim"))
    ledger.run("r").withdraw("limit", reason="gone", by="human:kim")
    told = run.accept("limit", "Never more than 100", asserted_by="human:kim")
    assert (told.position, told.repeated) == (2, False)
    assert run.contract.constraints == ()
    assert error.data["events"] == (told.records[0].id,)


def test_a_store_that_is_busy_at_the_repeat_leaves_the_doubt(wrapped: Any, open_on: OpenLedger) -> None:
    run = open_on(store=wrapped).open_run("r", "goal")
    run.move("start")
    lose(wrapped, stored=False)
    lost(lambda: run.move("pay"))

    def full(append: Any) -> None:
        wrapped.before = lambda append: None
        raise StoreBusy("too many wait")

    wrapped.before = full
    with pytest.raises(StoreBusy):
        run.move("pay")
    lose(wrapped, stored=True)
    lost(lambda: run.move("pay"))
    run.contract  # noqa: B018  looking says nothing
    assert run.move("pay").position == 3
    assert run.contract.tally.steps == 2


def test_a_repeat_that_is_lost_too_is_found_by_either_try(wrapped: Any, open_on: OpenLedger) -> None:
    run = open_on(store=wrapped).open_run("r", "goal")
    lose(wrapped, stored=False)
    first = lost(lambda: run.move("pay"))
    lose(wrapped, stored=True)
    second = lost(lambda: run.move("pay"))
    assert first.data["events"] != second.data["events"]
    assert run.move("pay").position == 2
    assert run.contract.tally.steps == 1


def test_words_of_another_thread_in_between_do_not_hide_it(wrapped: Any, open_on: OpenLedger) -> None:
    run = open_on(store=wrapped).open_run("r", "goal")
    lose(wrapped, stored=True)
    lost(lambda: run.move("pay"))
    other = threading.Thread(target=lambda: run.move("look"))
    other.start()
    other.join()
    assert run.move("pay").position == 2
    assert run.contract.cursor is not None
    assert run.contract.cursor.node == "look"


def test_what_lands_late_is_met_where_it_landed(wrapped: Any, open_on: OpenLedger) -> None:
    run = open_on(store=wrapped).open_run("r", "goal")
    kept: list[Any] = []

    def delay(append: Any) -> None:
        kept.append(append)
        wrapped.before = land
        raise StoreUnavailable("the connection was lost at COMMIT")

    def land(append: Any) -> None:
        wrapped.before = lambda append: None
        wrapped._store.append(kept[0])

    wrapped.before = delay
    lost(lambda: run.move("pay"))
    assert run.move("pay").position == 2
    assert run.contract.position == 2


def test_an_error_about_another_run_is_refused(wrapped: Any, open_on: OpenLedger) -> None:
    ledger = open_on(store=wrapped)
    run, other = ledger.open_run("r", "goal"), ledger.open_run("other", "goal")
    lose(wrapped, stored=True)
    error = lost(lambda: run.move("pay"))
    with pytest.raises(InvalidInput, match="again"):
        other.do(MoveCursor(node="pay"), again=error)


def test_an_error_from_before_anything_was_sent_changes_nothing(ledger: Ledger) -> None:
    run = ledger.open_run("r", "goal")
    early = StoreUnavailable("the server is not there", reason="missing")
    assert run.do(MakeAssumption(id="a", text="in stock"), again=early).position == 2


def test_facts_name_what_was_sent_too(wrapped: Any, ledger: Ledger, open_on: OpenLedger) -> None:
    copied = open_on(store=wrapped)
    events = [record.event for record in _log_of(ledger)]
    lose(wrapped, stored=True)
    error = lost(lambda: copied.import_events("copy", events, expected=0))
    assert (error.data["run"], error.data["after"]) == ("copy", 0)
    assert error.data["events"] == tuple(record.id for record in copied.log("copy"))


def _log_of(ledger: Ledger) -> Any:
    ledger.open_run("r", "goal").move("pay")
    return ledger.log("r")
