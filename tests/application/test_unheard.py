"""Who was interrupted, or told that nobody knows, finds out by asking again, and never says it twice."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from ledger import Actor, Ledger
from ledger.application.doubts import cut_short
from ledger.application.edge import Edge
from ledger.application.statements import Stated, Statement
from ledger.application.steps import blocking
from ledger.commands import DischargeObligation, MoveCursor
from ledger.errors import (
    ChainBroken,
    InvalidInput,
    LedgerError,
    PositionConflict,
    RunIsHeld,
    StoreBusy,
    StoreUnavailable,
)
from ledger.values import Limits
from tests.application.conftest import SetClock
from tests.application.faulty import FaultyStore, Interrupt
from tests.application.test_together import LOOK, PAY, PROMISE, Waiting

ONCE = MoveCursor(node="once")


@pytest.fixture
def store() -> FaultyStore:
    return FaultyStore()


@pytest.fixture
def ledger(store: FaultyStore) -> Ledger:
    return Ledger(edge_on(store))


@pytest.fixture
def rival(store: FaultyStore) -> Ledger:
    return Ledger(edge_on(store._store))


def edge_on(store: Any) -> Edge:
    return Edge(store, "default", Actor("service:tests"), SetClock(), pause=lambda attempt: None)


def nodes(ledger: Ledger) -> list[str]:
    return [record.event.node for record in ledger.log("r", after=1) if record.name == "cursor.moved"]  # type: ignore[attr-defined]


def fail(store: FaultyStore, *faults: str) -> None:
    store.faults = list(faults)


def test_a_time_after_which_it_landed_is_no_conflict(store: FaultyStore, ledger: Ledger) -> None:
    run = ledger.open_run("r", "goal")
    fail(store, "lost_late", "late_first")
    with pytest.raises(StoreUnavailable) as lost:
        run.do(ONCE, expected=1)
    assert run.do(ONCE, expected=1, again=lost.value).position == 2
    assert nodes(ledger) == ["once"]


def test_what_landed_meanwhile_is_not_told_as_refused(
    store: FaultyStore, ledger: Ledger, rival: Ledger
) -> None:
    run = ledger.open_run("r", "goal")
    run.do(PROMISE)
    done = DischargeObligation(id="mail", evidence="sent")
    fail(store, "lost_late", "late_first")
    with pytest.raises(StoreUnavailable) as lost:
        run.do(done)
    told = run.do(done, again=lost.value)
    assert (told.position, told.repeated) == (3, False)


def test_an_error_names_the_tries_before_it_too(store: FaultyStore, ledger: Ledger) -> None:
    ledger.open_run("r", "goal")
    again: StoreUnavailable | None = None
    fail(store, "lost_late", "lost", "none")
    for _ in range(2):
        with pytest.raises(StoreUnavailable) as lost:
            Ledger(edge_on(store)).run("r").do(ONCE, again=again)
        again = lost.value
    store.land()
    Ledger(edge_on(store)).run("r").move("on")
    assert Ledger(edge_on(store)).run("r").do(ONCE, again=again).position == 2
    assert nodes(ledger) == ["once", "on"]


@pytest.mark.parametrize("trouble", ["read", "busy"])
def test_a_try_that_sends_nothing_loses_no_names(store: FaultyStore, ledger: Ledger, trouble: str) -> None:
    run = ledger.open_run("r", "goal")
    fail(store, "lost_late")
    with pytest.raises(StoreUnavailable) as lost:
        run.do(ONCE)
    other = Ledger(edge_on(store)).run("r")
    if trouble == "read":
        store.failing_reads = 1
    else:
        fail(store, "busy")
    with pytest.raises((StoreUnavailable, StoreBusy)) as second:
        other.do(ONCE, again=lost.value)
    assert second.value.data["events"] == lost.value.data["events"]
    store.land()
    ledger.run("r").move("on")
    assert Ledger(edge_on(store)).run("r").do(ONCE, again=second.value).position == 2  # type: ignore[arg-type]
    assert nodes(ledger) == ["once", "on"]


def test_what_landed_late_is_found_behind_what_others_went_on_with(
    store: FaultyStore, ledger: Ledger, rival: Ledger
) -> None:
    run = ledger.open_run("r", "goal")
    fail(store, "lost_late", "late_first")
    store.rivals = [lambda: rival.run("r").move("elsewhere")]
    with pytest.raises(StoreUnavailable):
        run.do(ONCE)
    assert run.do(ONCE).position == 2
    assert nodes(ledger) == ["once", "elsewhere"]


def test_the_same_words_find_each_of_several_tries(store: FaultyStore, ledger: Ledger, rival: Ledger) -> None:
    run = ledger.open_run("r", "goal")
    fail(store, "lost_late", "lost")
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            run.do(ONCE)
    store.land()
    rival.run("r").move("elsewhere")
    assert run.do(ONCE).position == 2
    assert nodes(ledger) == ["once", "elsewhere"]


def test_who_had_no_turn_is_told_what_was_in_doubt_before(waiting: Waiting, store: FaultyStore) -> None:
    earlier = ({"after": 1, "events": ("a",)},)
    lost = StoreUnavailable("lost", run="r", after=1, events=("id",), earlier=earlier)
    doubts = waiting.stream.doubts
    with pytest.raises(StoreBusy) as busy:
        doubts.answer(Statement(ONCE, again=lost), StoreBusy("too many wait", waiting=7))
    assert busy.value.data == {**lost.data, "waiting": 7}
    fail(store, "lost")
    (sent,) = waiting.settle([PAY])
    said_again = Statement(PAY, waiting._context, caller=0)
    with pytest.raises(StoreUnavailable) as cut:
        doubts.answer(said_again, cut_short(None))
    assert cut.value.data["events"] == sent.data["events"]


def test_an_error_about_another_run_fails_only_who_hands_it_in(waiting: Waiting, store: FaultyStore) -> None:
    wrong = StoreUnavailable("lost", run="other", after=1, events=("id",))
    said = [Statement(PAY, waiting._context, caller=1), Statement(LOOK, waiting._context, None, wrong, 2)]
    blocking(waiting._edge.store, waiting.stream.settle(said))
    assert isinstance(said[0].outcome, Stated)
    assert isinstance(said[1].outcome, InvalidInput)


def test_a_refusal_whose_record_was_lost_is_not_told_as_admitted(store: FaultyStore, ledger: Ledger) -> None:
    run = ledger.open_run("r", "goal", limits=Limits(steps=1))
    run.move("first")
    fail(store, "lost_stored")
    with pytest.raises(StoreUnavailable) as lost:
        run.do(ONCE)
    with pytest.raises(RunIsHeld):
        run.do(ONCE, again=lost.value)
    assert nodes(ledger) == ["first"]


def test_what_the_store_repeated_by_itself_is_told_though_it_cannot_be_read_back(
    store: FaultyStore, ledger: Ledger
) -> None:
    run = ledger.open_run("r", "goal")
    fail(store, "twice")
    store.failing_reads = 1
    with pytest.raises(StoreUnavailable) as lost:
        run.do(ONCE)
    run.move("on")
    assert run.do(ONCE, again=lost.value).position == 2
    assert nodes(ledger) == ["once", "on"]


@pytest.mark.parametrize("trouble", [StoreBusy, StoreUnavailable, ChainBroken])
def test_what_was_stored_for_several_is_in_doubt_where_it_cannot_be_read_back(
    waiting: Waiting, store: FaultyStore, ledger: Ledger, trouble: type[LedgerError]
) -> None:
    read = store._store.read

    def refuse(*_: Any, **__: Any) -> Any:
        store._store.read = read  # type: ignore[method-assign]
        raise trouble("it cannot be read", run="r", position=2)

    store._store.read = refuse  # type: ignore[method-assign]
    fail(store, "twice")
    lost = waiting.settle([PAY, LOOK])
    assert [type(one) for one in lost] == [StoreUnavailable] * 2
    again = waiting.settle([PAY, LOOK])
    assert [one.records[0].id for one in again] == [one.data["events"][0] for one in lost]
    assert nodes(ledger) == ["pay", "look"]


def test_a_run_that_the_store_opened_twice_by_itself_says_what_it_holds(
    store: FaultyStore, ledger: Ledger
) -> None:
    fail(store, "twice")
    ledger.open_run("r", "goal")
    fail(store, "twice_overtaken")
    assert len(ledger.open_run("s", "goal").do(ONCE).records) == 1


def test_nothing_is_refused_on_a_stream_that_others_have_begun_meanwhile(
    ledger: Ledger, rival: Ledger
) -> None:
    policy = ledger.source("policy:refunds")
    rival.source("policy:refunds").publish("4", {"a": "Refund once"})
    assert len(policy.withdraw("a", reason="replaced", by="human:kim").records) == 1


# --- interrupts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["interrupted", "interrupted_stored", "broken_stored"])
def test_who_is_interrupted_says_the_same_words_again(
    store: FaultyStore, ledger: Ledger, rival: Ledger, fault: str
) -> None:
    run = ledger.open_run("r", "goal")
    fail(store, fault)
    with pytest.raises((Interrupt, RuntimeError)):
        run.do(ONCE)
    rival.run("r").move("elsewhere")
    assert run.do(ONCE).position == (2 if "stored" in fault else 3)
    assert nodes(ledger).count("once") == 1


@pytest.mark.parametrize("fault", ["interrupted", "interrupted_stored", "broken", "broken_stored"])
def test_those_who_spoke_with_one_that_is_interrupted_learn_what_was_sent(
    store: FaultyStore, ledger: Ledger, rival: Ledger, fault: str
) -> None:
    """Followers wait while a leader commits; what was sent for all of them is cut short."""
    run = ledger.open_run("r", "goal")
    told = _together(store, run, [fault])
    assert not any(isinstance(one, Interrupt) for one in told[1:])
    rival.run("r").move("elsewhere")
    for number, one in enumerate(told):
        if isinstance(one, StoreUnavailable):
            run.do(MoveCursor(node=f"n-{number}"), again=one)
    counted = [nodes(ledger).count(f"n-{number}") for number in range(1, 4)]
    assert counted == [1, 1, 1]


def _together(store: FaultyStore, run: Any, faults: list[str]) -> list[Any]:
    """Let three threads speak while a fourth one's append is held, and fail what comes next."""
    held, free = threading.Event(), threading.Event()
    answers: list[Any] = [None] * 4

    def hold() -> None:
        held.set()
        assert free.wait(30)
        store.faults = list(faults)

    store.rivals, store.faults = [hold], ["rival"]

    def say(number: int) -> None:
        try:
            answers[number] = run.do(MoveCursor(node=f"n-{number}"))
        except BaseException as error:  # noqa: BLE001
            answers[number] = error

    threads = [threading.Thread(target=say, args=(number,)) for number in range(4)]
    threads[0].start()
    assert held.wait(30)
    for thread in threads[1:]:
        thread.start()
    group = run._turns._group
    while len(group._queue) < 3:
        assert all(thread.is_alive() for thread in threads)
    free.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    first = next((number for number in (1, 2, 3) if isinstance(answers[number], Interrupt)), None)
    if first is not None:
        # The one that led finds out by the same words of its own thread; here another one speaks for it.
        error = next(one for one in answers[1:] if isinstance(one, StoreUnavailable))
        assert "events" in error.data
        answers[first] = _unheard_by(store, run, first)
    return answers


def _unheard_by(store: FaultyStore, run: Any, number: int) -> Any:
    sent = store.sent[-1].streams[0]
    place = next(place for place, row in enumerate(sent.rows) if f'"n-{number}"'.encode() in row.record)
    return StoreUnavailable("", run="r", after=sent.expected + place, events=(sent.rows[place].id,))


def test_the_same_words_are_the_same_by_whichever_method(
    store: FaultyStore, ledger: Ledger, rival: Ledger
) -> None:
    run = ledger.open_run("r", "goal")
    fail(store, "lost_stored")
    with pytest.raises(StoreUnavailable):
        run.move("once")
    rival.run("r").move("elsewhere")
    assert run.do(ONCE).position == 2


def test_what_was_told_to_nobody_is_asked_for_by_the_same_words(waiting: Waiting, rival: Ledger) -> None:
    said = Statement(PAY, waiting._context, caller="me")
    blocking(waiting._edge.store, waiting.stream.settle([said]))
    waiting.stream.unheard(said)
    rival.run("r").move("elsewhere")
    again = Statement(PAY, waiting._context, caller="me")
    other = Statement(LOOK, waiting._context, caller="other")
    blocking(waiting._edge.store, waiting.stream.settle([other, again]))
    assert again.outcome == said.outcome


@pytest.fixture
def waiting(ledger: Ledger, store: FaultyStore) -> Waiting:
    ledger.open_run("r", "goal")
    return Waiting(ledger, store)


# --- whose error it is -------------------------------------------------------------------------------


def test_a_clock_without_a_zone_is_refused_where_it_is_read(ledger: Ledger, store: FaultyStore) -> None:
    run = ledger.open_run("r", "goal")
    naive = Ledger(Edge(store, "default", Actor("service:tests"), lambda: datetime(2026, 1, 31)))  # noqa: DTZ001
    for call in (lambda: naive.run("r").do(ONCE), lambda: naive.open_run("s", "goal")):
        with pytest.raises(InvalidInput) as wrong:
            call()
        assert wrong.value.path == "clock"
    assert run.do(ONCE).position == 2


@pytest.mark.parametrize("id", [None, 5, b"id", ""])
def test_an_id_that_is_none_is_refused_before_it_is_stored(store: FaultyStore, id: Any) -> None:
    ledger = Ledger(replace(edge_on(store), ids=lambda: id))
    with pytest.raises(InvalidInput):
        ledger.open_run("r", "goal")
    assert store.sent == []


def test_a_fault_of_the_program_is_told_to_who_asked_and_not_to_the_others(waiting: Waiting) -> None:
    class Broken(SetClock):
        def __call__(self) -> datetime:
            raise ZeroDivisionError

    object.__setattr__(waiting._edge, "clock", Broken())
    outcomes = waiting.settle([PAY, LOOK, None])
    assert [type(one).__name__ for one in outcomes] == ["ZeroDivisionError", "ZeroDivisionError", "Stated"]
    assert outcomes[0] is not outcomes[1]


def test_a_snapshot_that_cannot_be_made_fails_nobody(
    waiting: Waiting, store: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("no room")

    store.put_snapshot = refuse  # type: ignore[attr-defined]
    outcomes = waiting.settle([MoveCursor(node=str(number)) for number in range(40)])
    assert [one.position for one in outcomes] == list(range(2, 42))
    assert "no room" in caplog.text


def test_those_who_look_together_each_get_an_error_of_their_own(waiting: Waiting, store: FaultyStore) -> None:
    store.failing_reads = 1
    first, second = waiting.settle([None, None])
    assert isinstance(first, StoreUnavailable)
    assert first is not second


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("kind", ["refused", "conflict", "lost"])
def test_an_error_keeps_nothing_alive_once_it_was_dealt_with(
    store: FaultyStore, ledger: Ledger, kind: str
) -> None:
    """Neither the frames it came through nor what they hold wait for the collector."""
    run = ledger.open_run("r", "goal")

    def meet() -> weakref.ref[LedgerError]:
        try:
            if kind == "refused":
                run.do(DischargeObligation(id="none", evidence="sent"))
            elif kind == "conflict":
                run.do(ONCE, expected=7)
            else:
                fail(store, "lost")
                run.do(ONCE)
        except (LedgerError, PositionConflict) as error:
            return weakref.ref(error)
        raise AssertionError("it was refused")

    assert meet()() is None


def test_who_hands_in_an_error_and_has_no_turn_is_known_by_the_words_afterwards(
    store: FaultyStore, ledger: Ledger, rival: Ledger
) -> None:
    run = ledger.open_run("r", "goal")
    fail(store, "lost_stored")
    with pytest.raises(StoreUnavailable) as lost:
        run.do(ONCE)
    waiting = Waiting(ledger, store)
    context = ledger._shared.context(Actor("agent:a"), 1)
    leads = Statement(PAY, context, expected=2, caller="leads")
    again = Statement(ONCE, context, again=lost.value, caller="follows")
    fail(store, "interrupted")
    with pytest.raises(Interrupt):
        blocking(store, waiting.stream.settle([leads, again]))
    with pytest.raises(StoreUnavailable) as cut:
        waiting.stream.answer(again, cut_short(None))
    assert cut.value.data["events"] == lost.value.data["events"]
    rival.run("r").move("elsewhere")
    same = Statement(ONCE, context, caller="follows")
    blocking(store, waiting.stream.settle([same]))
    assert isinstance(same.outcome, Stated)
    assert same.outcome.position == 2
    assert nodes(ledger) == ["once", "elsewhere"]
