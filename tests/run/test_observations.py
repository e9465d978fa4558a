"""Observations: the latest of each key, kept while something rests on it, else the last 64."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from ledger import events as e
from ledger.commands import InvalidateObservation, RecordObservation
from ledger.run.contract import WINDOW, Contract
from ledger.run.observations import MAX_ARGS_LENGTH, SET_BACK, to_look_up
from ledger.testing import START, History, given
from ledger.values import Payload, Step
from tests.run import examples as x

RECORD = RecordObservation(key="stock", observed_at=START, tool="count", value=x.ANSWER)
LONG = Payload(json_text='"' + "é" * 2000 + '"')


def keys(history: History[Contract | None]) -> list[str]:
    return [item.key for item in history.contract.observations]


def test_what_was_seen_is_recorded_with_all_that_was_said_of_it() -> None:
    command = RecordObservation(
        args='{"shelf":3}',
        args_digest="a" * 64,
        cost={"EUR": Decimal(1)},
        fresh_for=60,
        key="stock",
        observed_at=START,
        occurrence="first",
        rests_on=("assumption:a",),
        step="look",
        tool="count",
        value=x.ANSWER,
    )
    fields = {name: getattr(command, name) for name in RecordObservation.model_fields if name != "about"}
    (seen,) = given(x.opened()).when(command).then(e.ObservationRecorded(**fields)).contract.observations
    assert (seen.position, seen.value, seen.witnessed) == (2, x.ANSWER, True)
    assert seen.args == '{"shelf":3}'
    assert seen.stale_at == START + timedelta(seconds=60)


def test_told_twice_it_is_one_observation() -> None:
    given(x.opened(), x.observed()).when(RECORD).then_stands_at(2)


def test_of_arguments_that_are_too_long_the_contract_holds_none() -> None:
    fits, long = ('"' + "x" * (MAX_ARGS_LENGTH - less) + '"' for less in (2, 1))
    told = given(x.opened(), x.observed("a", args=fits), x.observed("b", args=long)).contract
    assert [seen.args for seen in told.observations] == [fits, None]


def test_told_twice_with_arguments_that_are_too_long_it_is_one_and_with_others_another() -> None:
    long, other = ('"' + letter * MAX_ARGS_LENGTH + '"' for letter in "xy")
    told = given(x.opened(), x.observed(args=long))
    again, another = (RECORD.model_copy(update={"args": args}) for args in (long, other))
    assert to_look_up(told.contract, again)
    told.when(again, prior=told.records[-1:]).then_stands_at(2)
    told.when(another, prior=told.records[-1:]).then(x.observed(args=other))


def test_seen_again_later_it_is_another_one_in_the_place_of_the_first() -> None:
    later = START + timedelta(hours=1)
    history = given(x.opened(), x.observed(), x.observed("weather"))
    history = history.when(RECORD.model_copy(update={"observed_at": later})).then(
        x.observed(observed_at=later)
    )
    assert keys(history) == ["weather", "stock"]
    assert history.contract.observations[1].observed_at == later


def test_of_two_seen_at_the_same_moment_the_one_told_last_counts() -> None:
    told = given(x.opened(), x.observed(), x.observed(value=Payload(json_text="2"))).contract
    assert [(seen.position, seen.value.json_text) for seen in told.observations] == [(3, "2")]


def test_what_was_seen_earlier_and_told_later_does_not_replace_what_is_newer() -> None:
    history = given(x.opened(), x.observed(value=Payload(json_text="2")))
    early = START - timedelta(hours=1)
    told = history.when(RECORD.model_copy(update={"observed_at": early})).then(x.observed(observed_at=early))
    assert told.contract.observations == history.contract.observations
    assert history.also(x.observed(observed_at=None)).contract.observations == history.contract.observations


def test_what_nobody_dated_is_replaced_by_whatever_comes() -> None:
    undated = x.observed(observed_at=None, value=Payload(json_text="1"))
    assert given(x.opened(), undated, x.observed()).contract.observations[0].position == 3
    assert given(x.opened(), undated, undated).contract.observations[0].position == 3


def test_one_that_left_the_contract_is_still_a_repeat_when_the_store_knows_it() -> None:
    history = given(x.opened(), x.observed())
    empty = given(x.opened())
    empty.when(RECORD, prior=history.records[1:2]).then_stands_at(2)
    empty.when(RECORD.model_copy(update={"value": LONG}), prior=history.records[1:2]).then(
        x.observed(value=LONG)
    )


def test_one_told_late_is_recorded_once_whatever_was_told_since() -> None:
    early = RECORD.model_copy(update={"observed_at": START - x.HOUR})
    late = x.observed(observed_at=START - x.HOUR)
    history = given(x.opened(), x.observed()).when(early).then(late)
    history = history.later(hours=1).also(x.observed(observed_at=START + x.HOUR))
    history.when(early, prior=history.records[1:]).then_stands_at(3)
    history.when(RECORD, prior=history.records[1:]).then_stands_at(2)
    other = early.model_copy(update={"value": LONG})
    history.when(other, prior=history.records[1:]).then(x.observed(observed_at=START - x.HOUR, value=LONG))


def test_the_store_is_asked_only_for_what_the_contract_cannot_tell() -> None:
    few = given(x.opened(), x.observed()).contract
    gone = InvalidateObservation(key="unseen", reason="r")
    for hours, asked in [(-1, True), (0, True), (1, False)]:
        command = RECORD.model_copy(update={"observed_at": START + hours * x.HOUR})
        assert to_look_up(few, command) is asked
    assert not to_look_up(few, RECORD.model_copy(update={"key": "unseen"}))
    assert not to_look_up(few, gone)
    assert not to_look_up(given(x.opened(), x.observed(observed_at=None)).contract, RECORD)
    full = given(x.opened(), *(x.observed(f"k-{number}") for number in range(WINDOW))).contract
    assert to_look_up(full, RECORD)
    assert to_look_up(full, gone)
    assert not to_look_up(full, InvalidateObservation(key="k-1", reason="r"))


def test_a_long_value_is_named_by_its_digest_and_is_still_a_repeat() -> None:
    command = RECORD.model_copy(update={"value": LONG})
    history = given(x.opened()).when(command).then(x.observed(value=LONG))
    (seen,) = history.contract.observations
    assert (seen.value.json_text, seen.value.size) == (None, 4002)
    history.when(command).then_stands_at(2)


# --- invalidating ------------------------------------------------------------------------------


def test_an_invalidated_observation_says_why_and_is_not_revived_by_its_own_report() -> None:
    history = (
        given(x.opened(), x.observed())
        .when(InvalidateObservation(key="stock", reason="miscounted"))
        .then(e.ObservationInvalidated(key="stock", reason="miscounted"))
    )
    assert history.contract.observations[0].invalidated == "miscounted"
    history.when(RECORD).then_stands_at(2)
    history.when(InvalidateObservation(key="stock", reason="miscounted")).then_stands_at(3)
    history.when(InvalidateObservation(key="stock", reason="stolen")).then(
        e.ObservationInvalidated(key="stock", reason="stolen")
    )
    fresh = history.also(x.observed(observed_at=START + x.HOUR))
    assert fresh.contract.observations[0].invalidated is None


def test_what_was_never_seen_cannot_be_invalidated() -> None:
    command = InvalidateObservation(key="stock", reason="miscounted")
    given(x.opened()).when(command).then_refused("not_open")
    prior = given(x.opened(), x.observed()).records[1:]
    given(x.opened()).when(command, prior=prior).then(
        e.ObservationInvalidated(key="stock", reason="miscounted")
    )
    wrong = given(x.opened(), x.message()).records[1:]
    given(x.opened()).when(command, prior=wrong).then_refused("not_open")


def test_an_invalidation_of_what_left_the_contract_is_a_repeat_until_it_is_seen_again() -> None:
    command = InvalidateObservation(key="stock", reason="miscounted")
    event = e.ObservationInvalidated(key="stock", reason="miscounted")
    elsewhere = given(x.opened())
    told = given(x.opened(), x.observed(), event)
    elsewhere.when(command, prior=told.records[1:]).then_stands_at(3)
    elsewhere.when(command.model_copy(update={"reason": "stolen"}), prior=told.records[1:]).then(
        e.ObservationInvalidated(key="stock", reason="stolen")
    )
    elsewhere.when(RECORD, prior=told.records[1:]).then_stands_at(2)
    again = told.also(x.observed(observed_at=START + x.HOUR))
    elsewhere.when(command, prior=again.records[1:]).then(event)


def test_invalidating_what_the_contract_no_longer_holds_changes_nothing() -> None:
    history = given(x.opened())
    assert history.also(e.ObservationInvalidated(key="stock", reason="r")).contract.observations == ()


# --- how many ----------------------------------------------------------------------------------


def test_the_last_64_are_kept() -> None:
    history = given(x.opened(), *(x.observed(f"k-{number}") for number in range(WINDOW + 6)))
    assert keys(history) == [f"k-{number}" for number in range(6, WINDOW + 6)]


@pytest.mark.parametrize(
    "resting",
    [
        e.GoalRevised(by="human:kim", reason="r", rests_on=("observation:k-0",), text="t"),
        e.PlanCommitted(steps=(Step(name="a", rests_on=("observation:k-0",)),)),
        e.AssumptionMade(id="a", rests_on=("observation:k-0",), text="t"),
        x.intended(rests_on=("observation:k-0",)),
        e.CursorMoved(node="a", needs=("observation:k-0",)),
    ],
)
def test_what_something_open_rests_on_is_kept_beside_them(resting: e.Event) -> None:
    many = [x.observed(f"k-{number}") for number in range(1, WINDOW + 6)]
    history = given(x.opened(), x.observed("k-0"), resting, *many)
    assert keys(history) == ["k-0", *(f"k-{number}" for number in range(6, WINDOW + 6))]


def test_what_nothing_rests_on_any_more_leaves_at_once() -> None:
    steps = tuple(Step(name=f"s-{n}", rests_on=(f"observation:k-{n}",)) for n in range(WINDOW + 6))
    history = given(
        x.opened(), e.PlanCommitted(steps=steps), *(x.observed(f"k-{number}") for number in range(WINDOW + 6))
    )
    assert len(keys(history)) == WINDOW + 6
    revised = history.also(e.PlanRevised(reason="done", steps=(Step(name="rest"),)))
    assert keys(revised) == [f"k-{number}" for number in range(6, WINDOW + 6)]


# --- how long ----------------------------------------------------------------------------------


def test_what_is_rested_on_says_when_it_becomes_stale() -> None:
    first = x.opened(rests_on=("observation:stock", "observation:weather"))
    contract = given(
        first,
        x.observed("stock", fresh_for=7200),
        x.observed("weather", fresh_for=3600),
        x.observed("mood", fresh_for=1),
    ).contract
    assert contract.stale_from == START + x.HOUR
    assert given(first, x.observed("stock")).contract.stale_from is None


def test_what_nobody_dated_was_stale_from_the_start_and_a_span_beyond_all_calendars_is_no_error() -> None:
    first = x.opened(rests_on=("observation:stock",))
    undated = given(first, x.observed(observed_at=None, fresh_for=60)).contract
    assert undated.stale_from is not None
    assert undated.stale_from < START
    endless = given(first, x.observed(fresh_for=2**53 - 1)).contract
    assert endless.stale_from is not None
    assert endless.stale_from.year == 9999


def test_what_was_seen_at_a_time_to_come_gives_way_to_what_is_seen_now() -> None:
    """A clock that ran ahead was set back: nothing that it dated may stand in the way for as long."""
    ahead = RecordObservation(
        key="stock", observed_at=START + timedelta(hours=2), tool="count", value=x.ANSWER
    )
    other = Payload(json_text="7")
    now = RecordObservation(key="stock", observed_at=START, tool="count", value=other)
    seen_ahead = e.ObservationRecorded(
        key="stock", observed_at=START + timedelta(hours=2), tool="count", value=x.ANSWER
    )
    dated = given(x.opened()).at(START + timedelta(hours=2)).when(ahead).then(seen_ahead).at(START)
    told = dated.when(now).then(
        e.ObservationInvalidated(key="stock", reason=SET_BACK),
        e.ObservationRecorded(key="stock", observed_at=START, tool="count", value=other),
    )
    (seen,) = told.contract.observations
    assert (seen.value, seen.observed_at, seen.invalidated) == (other, START, None)


def test_a_late_report_of_what_was_seen_before_takes_no_place() -> None:
    newer = RecordObservation(
        key="stock", observed_at=START + timedelta(hours=2), tool="count", value=x.ANSWER
    )
    older = RecordObservation(key="stock", observed_at=START, tool="count", value=Payload(json_text="7"))
    fields: dict[str, Any] = {"key": "stock", "tool": "count"}
    two = START + timedelta(hours=2)
    first = e.ObservationRecorded(observed_at=two, value=x.ANSWER, **fields)
    late = given(x.opened()).at(two).when(newer).then(first).later(hours=1)
    second = e.ObservationRecorded(observed_at=START, value=Payload(json_text="7"), **fields)
    (seen,) = late.when(older).then(second).contract.observations
    assert (seen.value, seen.observed_at) == (x.ANSWER, START + timedelta(hours=2))
