"""An error handed in as `again` stands for a try of the same command, and of no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ledger.application.doubts import is_from
from ledger.commands import AcceptConstraint, Command, MakeAssumption, MoveCursor
from ledger.errors import InvalidInput, StoreUnavailable
from ledger.run.decision import Refusal
from ledger.run.sources import PREFIX
from ledger.testing import Decided, History
from tests.application.conftest import OpenLedger
from tests.run.test_declared import examples

PAY = MoveCursor(node="pay")
OTHERS = [
    MakeAssumption(id="a", text="in stock"),
    MoveCursor(node="look"),
    MoveCursor(node="pay", round=2),
]


def lost(wrapped: Any, call: Callable[[], object], *, stored: bool) -> StoreUnavailable:
    """Lose the acknowledgement of one append, which is stored or not."""

    def fail(append: Any) -> None:
        wrapped.before = wrapped.after = lambda append: None
        raise StoreUnavailable("the connection was lost at COMMIT")

    setattr(wrapped, "after" if stored else "before", fail)
    with pytest.raises(StoreUnavailable) as raised:
        call()
    return raised.value


@pytest.mark.parametrize("other", OTHERS)
def test_what_another_command_stored_is_not_told_as_what_this_one_came_to(
    wrapped: Any, open_on: OpenLedger, other: Command
) -> None:
    run = open_on(store=wrapped).open_run("r", "goal")
    error = lost(wrapped, lambda: run.do(PAY), stored=True)
    with pytest.raises(InvalidInput) as refused:
        run.do(other, again=error)
    assert refused.value.path == "again"
    assert refused.value.reason == "that error is of another command: it stored cursor.moved at 2"
    assert run.contract.position == 2
    assert run.do(PAY, again=error).position == 2


@pytest.mark.parametrize("other", OTHERS)
def test_who_was_refused_may_say_it_without_the_error(
    wrapped: Any, open_on: OpenLedger, other: Command
) -> None:
    run = open_on(store=wrapped).open_run("r", "goal")
    error = lost(wrapped, lambda: run.do(PAY), stored=True)
    with pytest.raises(InvalidInput):
        run.do(other, again=error)
    assert run.do(other).position == 3


@pytest.mark.parametrize("other", OTHERS)
def test_where_nothing_was_stored_another_command_is_decided_anew(
    wrapped: Any, open_on: OpenLedger, other: Command
) -> None:
    run = open_on(store=wrapped).open_run("r", "goal")
    error = lost(wrapped, lambda: run.do(PAY), stored=False)
    told = run.do(other, again=error)
    assert (told.position, told.repeated) == (2, False)


def test_what_was_filled_in_for_the_same_command_is_recognised(wrapped: Any, open_on: OpenLedger) -> None:
    ledger = open_on(store=wrapped)
    ledger.source("policy:refunds").publish("4", {"limit": "At most 100 EUR"})
    run = ledger.open_run("r", "goal")
    accept = AcceptConstraint(
        id="limit",
        text="At most 100 EUR",
        asserted_by="human:kim",
        source={"kind": "policy", "name": "refunds"},  # type: ignore[arg-type]
        about=("customer:17",),
    )
    error = lost(wrapped, lambda: run.do(accept), stored=True)
    run.move("on")
    told = run.do(accept, again=error)
    assert told.position == 2
    assert told.records[0].event.source.revision == "4"  # type: ignore[attr-defined]


def test_all_that_any_command_comes_to_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    decide = History.when
    strange: list[Command] = []
    recognised: set[type[Command]] = set()

    def watched(history: History[Any], command: Command, **more: Any) -> Decided[Any]:
        decided = decide(history, command, **more)
        decision = decided.decision
        if not isinstance(decision, Refusal) and decision.events and not history.stream.startswith(PREFIX):
            if is_from(command, decision.events):
                recognised.add(type(command))
            else:
                strange.append(command)
        return decided

    monkeypatch.setattr(History, "when", watched)
    for example in examples():
        example()
    assert strange == []
    assert len(recognised) > 20
