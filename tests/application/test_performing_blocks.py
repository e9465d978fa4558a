"""Effects whose body is a block of the caller's."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import Happened, NotHappened, current_effect
from ledger import events as e
from ledger.errors import (
    AlreadyDone,
    EffectFailed,
    EffectInFlight,
    InvalidInput,
    LeaseLost,
    OutcomeUnknown,
    PossibleRepeat,
)
from tests.application.conftest import SetClock
from tests.application.performing import Waiting, last, names, opened

ARGS = {"to": "kim"}
TRY = ["effect.intended", "effect.started"]


@pytest.fixture
def open_on(store: Any, clock: SetClock) -> Waiting:
    return Waiting(store, clock)


@pytest.fixture
def ledger(open_on: Waiting) -> Any:
    return open_on()


def test_a_block_says_what_it_came_to(ledger: Any) -> None:
    run = opened(ledger)
    with run.effect("mail", ARGS) as effect:
        assert names(ledger) == TRY
        effect.succeed({"id": 1}, external_ref="m-1", cost={"EUR": "0.10"})
        assert names(ledger) == TRY
    assert names(ledger) == [*TRY, "effect.succeeded"]
    assert (last(ledger).external_ref, last(ledger).result.json_text) == ("m-1", '{"id":1}')
    assert ledger.effect(effect.key).status == "succeeded"


def test_a_block_that_says_nothing_is_done_without_a_result(ledger: Any) -> None:
    run = opened(ledger)
    with run.effect("mail", ARGS):
        pass
    assert last(ledger).result is None
    with pytest.raises(AlreadyDone) as done, run.effect("mail", ARGS):
        pass
    assert done.value.data["result"] is None


def test_a_block_is_not_entered_twice(ledger: Any, open_on: Waiting) -> None:
    run = opened(ledger)
    with run.effect("mail", ARGS) as effect:
        effect.succeed(7)
    for each in (run, open_on().run("r")):
        with pytest.raises(AlreadyDone) as done, each.effect("mail", ARGS):
            pytest.fail("it was entered")
        assert done.value.data["result"] == 7


def broken(run: Any, error: BaseException, **options: Any) -> None:
    """Enter a block that raises."""
    with run.effect("mail", ARGS, **options):
        raise error


def test_what_a_block_raises_leaves_it_unknown(ledger: Any) -> None:
    run = opened(ledger)
    with pytest.raises(OutcomeUnknown) as unknown:
        broken(run, RuntimeError("broken"))
    assert isinstance(unknown.value.__cause__, RuntimeError)
    assert last(ledger).name == "effect.unknown"
    with pytest.raises(OutcomeUnknown), run.effect("mail", ARGS):
        pytest.fail("it was entered")


def test_a_definite_error_of_a_block_is_a_failure(ledger: Any) -> None:
    run = opened(ledger)
    for number in (1, 2):
        with pytest.raises(EffectFailed):
            broken(run, ValueError(), definite_errors=ValueError)
        assert last(ledger).attempt == number
    with run.effect("mail", ARGS) as effect:
        assert effect.attempt == 3


def test_an_interrupt_in_a_block_leaves_it_executing(ledger: Any, clock: SetClock) -> None:
    run = opened(ledger)
    with pytest.raises(KeyboardInterrupt), run.effect("mail", ARGS):
        raise KeyboardInterrupt
    assert names(ledger) == TRY
    with pytest.raises(EffectInFlight), run.effect("mail", ARGS):
        pytest.fail("it was entered")


@pytest.mark.parametrize("error", [ValueError, RuntimeError, StopIteration, KeyboardInterrupt])
def test_what_a_block_said_stands_though_it_raises_then(ledger: Any, error: type[BaseException]) -> None:
    """Sent again it would be done twice: that it was done is no less so because something else went wrong."""
    run = opened(ledger)

    def broken_late() -> None:
        with run.effect("mail", ARGS, definite_errors=ValueError) as effect:
            effect.succeed({"id": 1}, external_ref="m-1")
            raise error

    with pytest.raises(error):
        broken_late()
    assert names(ledger) == [*TRY, "effect.succeeded"]
    assert last(ledger).external_ref == "m-1"
    with pytest.raises(AlreadyDone) as done, run.effect("mail", ARGS, definite_errors=ValueError):
        pytest.fail("it was entered")
    assert done.value.data["result"] == {"id": 1}


def test_an_exception_is_never_swallowed_though_the_outside_has_it(ledger: Any) -> None:
    """What the block had still to do was not done; whoever enters it again is told that the act was."""
    run = opened(ledger)
    options: Any = {"recovery": "queryable", "probe": lambda key, args: Happened("m-1")}
    with pytest.raises(RuntimeError, match="broken"), run.effect("mail", ARGS, **options):
        raise RuntimeError("broken")
    assert last(ledger).found == "happened"
    with pytest.raises(AlreadyDone) as done, run.effect("mail", ARGS):
        pytest.fail("it was entered")
    assert done.value.data["result"] == "m-1"


def test_a_stop_iteration_in_a_block_is_an_error_like_others(ledger: Any) -> None:
    run = opened(ledger)
    with pytest.raises(OutcomeUnknown) as unknown, run.effect("mail", ARGS):
        next(iter(()))
    assert isinstance(unknown.value.__cause__, StopIteration)


def test_the_outside_does_not_have_what_a_block_raised_from(ledger: Any) -> None:
    run = opened(ledger)
    options: Any = {
        "recovery": "queryable",
        "probe": lambda key, args: NotHappened(),
        "settle_seconds": 0,
    }
    with pytest.raises(EffectFailed), run.effect("mail", ARGS, **options):
        raise RuntimeError("broken")
    with run.effect("mail", ARGS) as effect:
        assert effect.attempt == 2


def test_blocks_nest(ledger: Any) -> None:
    run = opened(ledger)
    with run.effect("trip", {"to": "Oslo"}) as trip:
        with run.effect("flight", {"to": "Oslo"}) as flight:
            assert current_effect().key == flight.key
            flight.succeed("f-1")
        with pytest.raises(OutcomeUnknown), run.effect("hotel", {"in": "Oslo"}):
            raise RuntimeError
        trip.succeed("t-1")
    assert names(ledger) == [*TRY, *TRY, "effect.succeeded", *TRY, "effect.unknown", "effect.succeeded"]
    assert [one.effect.tool for one in ledger.effects()] == ["hotel"]


def test_an_act_is_in_flight_inside_of_itself(ledger: Any) -> None:
    run = opened(ledger)
    with run.effect("mail", ARGS) as effect:
        with pytest.raises(EffectInFlight), run.effect("mail", ARGS):
            pytest.fail("it was entered")
        with pytest.raises(PossibleRepeat), run.effect("mail", ARGS, step="again"):
            pytest.fail("it was entered")
        effect.succeed()


def test_a_lapsed_block_hears_of_it_and_its_outcome_is_recorded_all_the_same(
    ledger: Any, clock: SetClock
) -> None:
    run = opened(ledger)
    with run.effect("mail", ARGS) as effect:
        clock.tick(31)
        with pytest.raises(LeaseLost):
            effect.progress()
        with pytest.raises(LeaseLost):
            effect.check()
        effect.succeed("sent")
    assert last(ledger).name == "effect.succeeded"


def test_a_block_keeps_its_result_when_it_is_no_json(ledger: Any) -> None:
    run = opened(ledger)
    with run.effect("mail", ARGS) as effect:
        effect.succeed(object())
    assert last(ledger).result.type == "object"
    assert isinstance(last(ledger), e.EffectSucceeded)


def test_what_only_reads_encloses_nothing(ledger: Any) -> None:
    run = opened(ledger)
    with pytest.raises(InvalidInput) as refused, run.effect("look", ARGS, recovery="read_only"):
        pytest.fail("it was entered")
    assert refused.value.path == "recovery"


def test_the_same_block_and_function_are_one_act(ledger: Any) -> None:
    run = opened(ledger)
    assert run.perform("mail", ARGS, lambda to: f"sent to {to}") == "sent to kim"
    with pytest.raises(AlreadyDone) as done, run.effect("mail", ARGS):
        pytest.fail("it was entered")
    assert done.value.data["result"] == "sent to kim"
