"""Performing an act: what is called, recorded, returned and raised."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from ledger import Happened, NotHappened, Outcome, Retry, SecretRef, Secrets, tool
from ledger import events as e
from ledger.errors import (
    AlreadyDone,
    AuthorityExceeded,
    EffectFailed,
    EffectInFlight,
    EffectsDisabled,
    InvalidInput,
    KeyConflict,
    LeaseLost,
    OffPlan,
    OutcomeUnknown,
    PossibleRepeat,
    ResultNotKept,
    SecretFound,
    StoreUnavailable,
)
from tests.application.conftest import SetClock
from tests.application.performing import Outside, Waiting, events, last, names, opened

ARGS = {"order": 17, "amount": "10.00"}
TOKEN = "sk_live_" + "abcdefghijklmnopqrstuvwx"
TRY = ["effect.intended", "effect.started"]


@pytest.fixture
def open_on(store: Any, clock: SetClock) -> Waiting:
    return Waiting(store, clock)


@pytest.fixture
def ledger(open_on: Waiting) -> Any:
    return open_on()


class Receipt(BaseModel):
    id: str
    amount: Decimal


# --- once --------------------------------------------------------------------------------------------


def test_an_act_is_done_once_and_told_again(ledger: Any, open_on: Waiting) -> None:
    run, outside = opened(ledger), Outside()
    assert run.perform("refund", ARGS, outside) == {"done": 1}
    assert run.perform("refund", ARGS, outside) == {"done": 1}
    assert open_on().run("r").perform("refund", dict(reversed(ARGS.items())), outside) == {"done": 1}
    assert outside.calls == 1
    assert names(ledger) == [*TRY, "effect.succeeded"]


def test_intent_and_start_are_stored_before_the_call(ledger: Any) -> None:
    run = opened(ledger)
    seen: list[str] = []
    run.perform("refund", ARGS, lambda order, amount: seen.extend(names(ledger)))
    assert seen == TRY


def test_another_step_is_a_possible_repeat_until_somebody_says_otherwise(ledger: Any) -> None:
    run, outside = opened(ledger), Outside()
    run.perform("refund", ARGS, outside, step="a")
    with pytest.raises(PossibleRepeat) as refused:
        run.perform("refund", ARGS, outside, step="b")
    first = next(event for event in events(ledger) if isinstance(event, e.EffectIntended))
    assert refused.value.data["evidence"]["key"] == first.key
    assert refused.value.data["evidence"]["run"] == "r"
    assert last(ledger).rule == "possible_repeat"
    assert run.perform("refund", ARGS, outside, step="b", repeat=True, reason="asked for") == {"done": 2}
    assert run.perform("refund", ARGS, outside, step="b") == {"done": 2}
    assert run.perform("refund", ARGS, outside, step="b", occurrence="2") == {"done": 3}
    assert outside.calls == 3


def test_an_act_that_was_undone_is_no_repeat_and_what_followed_the_undoing_is(
    ledger: Any, clock: SetClock
) -> None:
    run, outside = opened(ledger), Outside()
    run.perform("book", ARGS, outside, step="a")
    clock.tick(1)
    run.perform("cancel", ARGS, outside)
    undoing = last(ledger).key
    clock.tick(1)
    with pytest.raises(PossibleRepeat):
        run.perform("book", ARGS, outside, step="b")
    assert run.perform("book", ARGS, outside, step="b", undone_by=undoing) == {"done": 3}
    clock.tick(1)
    with pytest.raises(PossibleRepeat):
        run.perform("book", ARGS, outside, step="c", repeat=True, undone_by=undoing)
    assert outside.calls == 3


def test_what_was_not_done_undoes_nothing(ledger: Any) -> None:
    run, outside = opened(ledger), Outside()
    run.perform("book", ARGS, outside, step="a")
    with pytest.raises(Exception, match="nothing is known to be undone"):
        run.perform("book", ARGS, outside, step="b", repeat=True, undone_by="b" * 64)
    assert outside.calls == 1


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("reason", {"repeat": True}),
        ("repeat", {"reason": "asked for"}),
        ("wait_seconds", {"wait_seconds": -1}),
        ("wait_seconds", {"wait_seconds": float("nan")}),
        ("wait_seconds", {"wait_seconds": True}),
        ("stepp", {"stepp": "a"}),
        ("key", {"key": "k", "recovery": "read_only"}),
    ],
    ids=str,
)
def test_options_that_contradict_each_other_are_refused(
    ledger: Any, path: str, options: dict[str, Any]
) -> None:
    run, outside = opened(ledger), Outside()
    with pytest.raises(InvalidInput) as refused:
        run.perform("refund", ARGS, outside, **options)
    assert refused.value.path == path
    assert (outside.calls, names(ledger)) == (0, [])


def test_a_key_of_the_callers_own_is_for_one_act(ledger: Any) -> None:
    run, outside = opened(ledger), Outside()
    assert run.perform("refund", ARGS, outside, key="invoice-9") == {"done": 1}
    assert run.perform("refund", ARGS, outside, key="invoice-9", step="elsewhere") == {"done": 1}
    with pytest.raises(KeyConflict):
        run.perform("refund", {**ARGS, "amount": "11.00"}, outside, key="invoice-9")
    with pytest.raises(KeyConflict):
        run.perform("other", ARGS, outside, key="invoice-9")
    assert outside.calls == 1
    assert [event.rule for event in events(ledger) if isinstance(event, e.EffectRefused)] == [
        "key_conflict",
        "key_conflict",
    ]


def test_a_key_is_the_same_in_every_ledger_and_another_in_every_lineage(open_on: Waiting) -> None:
    one, other = open_on(), open_on()
    keys = []
    for ledger, run in ((one, "r"), (other, "s")):
        with pytest.raises(OutcomeUnknown) as unknown:
            opened(ledger, run).perform("refund", ARGS, Outside(RuntimeError()))
        keys.append(unknown.value.data["key"])
    assert keys[0] != keys[1]
    with pytest.raises(OutcomeUnknown) as unknown:
        other.run("r").perform("refund", ARGS, Outside())
    assert unknown.value.data["key"] == keys[0]


# --- what it raises ----------------------------------------------------------------------------------


def test_any_error_leaves_it_unknown_and_is_not_done_again(ledger: Any) -> None:
    run, outside = opened(ledger), Outside(RuntimeError("broken"))
    for _ in range(2):
        with pytest.raises(OutcomeUnknown) as unknown:
            run.perform("refund", ARGS, outside)
        assert unknown.value.retry_after is None
    assert outside.calls == 1
    assert names(ledger) == [*TRY, "effect.unknown"]
    assert (last(ledger).because, last(ledger).error.message) == ("raised", "broken")
    [one] = ledger.effects(unknown=True)
    assert one.status == "unknown"


def test_a_definite_error_is_a_failure_that_may_be_tried_again(ledger: Any) -> None:
    run, outside = opened(ledger), Outside(ValueError("no"), KeyError("no"))
    with pytest.raises(EffectFailed) as failed:
        run.perform("refund", ARGS, outside, definite_errors=(ValueError, KeyError))
    assert failed.value.data["cause"] == "ValueError: no"
    assert isinstance(failed.value.__cause__, ValueError)
    assert ledger.effects() == []
    with pytest.raises(EffectFailed):
        run.perform("refund", ARGS, outside, definite_errors=LookupError)
    assert run.perform("refund", ARGS, outside) == {"done": 3}
    assert names(ledger) == [*TRY, "effect.failed", *TRY, "effect.failed", *TRY, "effect.succeeded"]
    assert last(ledger).attempt == 3


def test_definite_failures_are_retried_with_growing_pauses(ledger: Any, open_on: Waiting) -> None:
    run, outside = opened(ledger), Outside(ValueError(), ValueError(), ValueError())
    retry = Retry(4, backoff=2.0, factor=3.0, longest=10.0)
    assert run.perform("refund", ARGS, outside, definite_errors=ValueError, retry=retry) == {"done": 4}
    assert open_on.waits == [2.0, 6.0, 10.0]
    assert run.contract.obligations == ()


def test_a_retry_goes_on_counting_in_another_ledger_and_ends_in_an_obligation(
    ledger: Any, open_on: Waiting
) -> None:
    options: Any = {"definite_errors": ValueError, "retry": Retry(3, backoff=1.0)}
    run, outside = (
        opened(ledger),
        Outside(ValueError("a"), KeyboardInterrupt(), ValueError("b"), ValueError("c")),
    )
    with pytest.raises(KeyboardInterrupt):
        run.perform("refund", ARGS, outside, **options)
    open_on.clock.tick(60)
    ledger.settle(
        ledger.effects()[0].effect.key, happened=False, evidence="nothing in the books", by="human:kim"
    )
    with pytest.raises(EffectFailed):
        open_on().run("r").perform("refund", ARGS, outside, **options)
    assert outside.calls == 3
    [owed] = ledger.contract("r").obligations
    assert "3 times" in owed.text
    assert "ValueError" in owed.text
    with pytest.raises(EffectFailed, match="3 attempts were declared"):
        run.perform("refund", ARGS, outside, **options)
    assert outside.calls == 3


def test_only_errors_that_are_worth_it_are_tried_again(ledger: Any, open_on: Waiting) -> None:
    run, outside = opened(ledger), Outside(ValueError(), KeyError())
    options: Any = {"definite_errors": (ValueError, KeyError), "retry": Retry(5, on=(ValueError,))}
    with pytest.raises(EffectFailed):
        run.perform("refund", ARGS, outside, **options)
    assert (outside.calls, len(open_on.waits)) == (2, 1)


def test_an_interrupt_leaves_it_executing(ledger: Any, clock: SetClock) -> None:
    run, outside = opened(ledger), Outside(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run.perform("refund", ARGS, outside)
    assert names(ledger) == TRY
    with pytest.raises(EffectInFlight) as busy:
        run.perform("refund", ARGS, outside)
    assert busy.value.data["retry_after"] == 30.0
    clock.tick(30)
    with pytest.raises(OutcomeUnknown):
        run.perform("refund", ARGS, outside)
    assert last(ledger).because == "lease_lapsed"
    assert outside.calls == 1


# --- refusals ----------------------------------------------------------------------------------------


def test_a_step_outside_of_the_plan_is_refused_and_recorded(ledger: Any) -> None:
    run, outside = opened(ledger), Outside()
    run.commit_plan(["pay"])
    with pytest.raises(OffPlan):
        run.perform("refund", ARGS, outside)
    assert (last(ledger).rule, outside.calls) == ("off_plan", 0)
    assert run.perform("refund", ARGS, outside, step="pay") == {"done": 1}


def test_what_it_costs_is_set_aside_and_spent(ledger: Any) -> None:
    run = opened(ledger)
    principal = ledger.actor.id
    run.grant(
        "g", principal=principal, scopes=["refund"], granted_by="human:kim", budget={"EUR": Decimal(10)}
    )
    outside = Outside(Outcome(1, "ch-1", {"EUR": "4.00"}), Outcome(2, cost={"EUR": "4.00"}))
    options: Any = {"cost": {"EUR": Decimal(5)}}
    seen: list[Any] = []

    def refund(**args: Any) -> Any:
        seen.append(run.contract.grants[0].reserved)
        return outside(**args)

    assert run.perform("refund", {"order": 1}, refund, **options) == 1
    assert (last(ledger).external_ref, last(ledger).cost) == ("ch-1", {"EUR": Decimal("4.00")})
    assert run.perform("refund", {"order": 2}, refund, **options) == 2
    assert seen == [{"EUR": Decimal(5)}] * 2
    [grant] = run.contract.grants
    assert grant.spent == {"EUR": Decimal("8.00")}
    assert not grant.reserved
    with pytest.raises(AuthorityExceeded):
        run.perform("refund", {"order": 3}, refund, **options)
    with pytest.raises(AuthorityExceeded):
        run.perform("other", {"order": 3}, refund)
    assert outside.calls == 2


def test_a_secret_in_the_arguments_is_refused_wherever_it_stands(ledger: Any) -> None:
    class Card(BaseModel):
        api_key: str
        note: str = ""

    def pay(card: Card) -> None: ...

    pay.__annotations__["card"] = Card
    run, outside = opened(ledger), Outside()
    for function, args in (
        (outside, {"token": "hunter2-hunter2"}),
        (outside, {"note": f"use {TOKEN}"}),
        (pay, {"card": {"api_key": "hunter2-hunter2"}}),
        (pay, {"card": Card(api_key="hunter2-hunter2")}),
        (pay, {"card": Card(api_key="", note=TOKEN)}),
    ):
        with pytest.raises(SecretFound):
            run.perform("pay", args, function)
    assert outside.calls == 0
    told = "".join(str(event) for event in events(ledger))
    assert "hunter2" not in told
    assert TOKEN not in told
    assert names(ledger) == ["effect.refused"] * 5


def test_a_read_with_a_secret_is_refused_too(ledger: Any) -> None:
    run, outside = opened(ledger), Outside()
    with pytest.raises(InvalidInput) as refused:
        run.perform("look", {"token": "hunter2-hunter2"}, outside, recovery="read_only")
    assert refused.value.path == "args.token"
    assert outside.calls == 0


def test_a_reference_to_a_secret_is_resolved_inside_the_tool_only(open_on: Waiting) -> None:
    vault = {"stripe": "hunter2-hunter2"}
    ledger = open_on(secrets=Secrets(lookup=vault.__getitem__))
    run = opened(ledger)
    seen: list[str] = []

    class Card(BaseModel):
        key: SecretRef
        more: dict[str, Any] = {}

    def pay(token: SecretRef, card: Card, keys: list[SecretRef]) -> str:
        seen.extend(one.resolve() for one in (token, card.key, card.more["key"], keys[0]))
        return "ok"

    pay.__annotations__ |= {"token": SecretRef, "card": Card, "keys": list[SecretRef]}
    ref = SecretRef("stripe")
    args = {"token": ref, "card": Card(key=ref, more={"key": ref}), "keys": [ref]}
    assert run.perform("pay", args, pay) == "ok"
    assert seen == ["hunter2-hunter2"] * 4
    assert "hunter2" not in "".join(str(event) for event in events(ledger))


# --- results -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_result_is_told_whole_whatever_its_size(ledger: Any, open_on: Waiting, size: int) -> None:
    run, outside = opened(ledger), Outside({"text": "x" * size})
    first = run.perform("refund", ARGS, outside)
    assert open_on().run("r").perform("refund", ARGS, outside) == first == {"text": "x" * size}
    assert (last(ledger).result.json_text is None) == (size > 10)


def test_a_result_that_is_no_json_is_recorded_by_type_and_digest(ledger: Any) -> None:
    class Cursor:
        def __repr__(self) -> str:
            return "<cursor 7>"

    run, cursor = opened(ledger), Cursor()
    outside = Outside(cursor)
    assert run.perform("refund", ARGS, outside) is cursor
    with pytest.raises(ResultNotKept) as lost:
        run.perform("refund", ARGS, outside)
    assert lost.value.data["type"] == "Cursor"
    assert lost.value.data["digest"] == hashlib.sha256(b"<cursor 7>").hexdigest()
    assert outside.calls == 1


def test_a_secret_is_redacted_from_results_errors_and_evidence(ledger: Any, clock: SetClock) -> None:
    def probe(key: str, args: Any) -> Any:
        return Happened({"token": "hunter2-hunter2"}, evidence=f"found {TOKEN}")

    run = opened(ledger)
    outside = Outside({"token": "hunter2-hunter2", "id": 1}, RuntimeError(f"bad {TOKEN}"), ValueError(TOKEN))
    assert run.perform("login", {"a": 1}, outside)["token"] == "hunter2-hunter2"
    assert run.perform("login", {"a": 1}, outside)["token"].startswith("[redacted:")
    redacted = run.perform("login", {"a": 2}, outside, recovery="queryable", probe=probe)
    assert redacted["token"].startswith("[redacted:")
    with pytest.raises(EffectFailed):
        run.perform("pay", {"a": 3}, outside, definite_errors=ValueError)
    told = "".join(str(event) for event in events(ledger))
    assert "hunter2" not in told
    assert TOKEN not in told


def test_a_typed_result_comes_back_as_its_type(ledger: Any, open_on: Waiting) -> None:
    def refund(order: int) -> Receipt:
        return Receipt(id="ch-1", amount=Decimal("10.00"))

    refund.__annotations__["return"] = Receipt
    run = opened(ledger)
    first = run.perform(refund, {"order": 1})
    assert run.perform(refund, {"order": "1"}) == first == Receipt(id="ch-1", amount=Decimal("10.00"))
    assert open_on().run("r").perform(refund, {"order": 1}) == first
    assert len(names(ledger)) == 3


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(1, external_ref=" "),
        Outcome(1, external_ref=17),  # type: ignore[arg-type]
        Outcome(1, external_ref="x" * 1000),
        Outcome(1, cost={"EUR": "much"}),
        Outcome(1, cost={"EUR": float("nan")}),  # type: ignore[dict-item]
        Outcome(1, cost={"EUR": -1}),
        Outcome(1, cost=3),  # type: ignore[arg-type]
        Outcome(1, external_ref="", cost={"": 1}),
    ],
    ids=str,
)
def test_what_no_event_can_hold_of_an_outcome_is_left_out(ledger: Any, outcome: Outcome) -> None:
    run, outside = opened(ledger), Outside(outcome)
    assert run.perform("refund", ARGS, outside) == 1
    assert last(ledger).name == "effect.succeeded"
    assert run.perform("refund", ARGS, outside) == 1


# --- recoveries --------------------------------------------------------------------------------------


def test_a_probe_settles_what_raised(ledger: Any) -> None:
    asked: list[Any] = []

    def probe(key: str, args: Any) -> Happened:
        asked.append((key, args))
        return Happened({"id": 7}, external_ref="ch-7", cost={"EUR": 1})

    run, outside = opened(ledger), Outside(RuntimeError())
    options: Any = {"recovery": "queryable", "probe": probe}
    assert run.perform("refund", ARGS, outside, **options) == {"id": 7}
    assert run.perform("refund", ARGS, outside, **options) == {"id": 7}
    assert (outside.calls, len(asked)) == (1, 1)
    assert asked[0][1] == ARGS
    assert names(ledger) == [*TRY, "effect.unknown", "effect.reconciled"]
    assert (last(ledger).external_ref, last(ledger).cost) == ("ch-7", {"EUR": Decimal(1)})


def test_that_the_outside_does_not_have_it_counts_once_nothing_can_land(ledger: Any, clock: SetClock) -> None:
    run, outside = opened(ledger), Outside(RuntimeError())
    options: Any = {"recovery": "queryable", "probe": lambda key, args: NotHappened(), "settle_seconds": 5}
    for tick in (0, 4.9):
        clock.tick(tick)
        with pytest.raises(OutcomeUnknown):
            run.perform("refund", ARGS, outside, **options)
    clock.tick(0.1)
    assert run.perform("refund", ARGS, outside, **options) == {"done": 2}
    assert [event.found for event in events(ledger) if isinstance(event, e.EffectReconciled)] == [
        "unknown",
        "did_not_happen",
    ]


def test_waiting_lets_it_land_or_not(ledger: Any, open_on: Waiting) -> None:
    run, outside = opened(ledger), Outside(RuntimeError())
    options: Any = {"recovery": "queryable", "probe": lambda key, args: NotHappened()}
    with pytest.raises(OutcomeUnknown):
        run.perform("refund", ARGS, outside, **options)
    with pytest.raises(OutcomeUnknown):
        run.perform("refund", ARGS, outside, wait_seconds=29, **options)
    assert run.perform("refund", ARGS, outside, wait_seconds=30, **options) == {"done": 2}
    assert open_on.waits == [30.0]


def test_a_probe_that_fails_leaves_it_unknown(ledger: Any) -> None:
    def probe(key: str, args: Any) -> Any:
        raise OSError("down")

    run, outside = opened(ledger), Outside(RuntimeError())
    with pytest.raises(OutcomeUnknown):
        run.perform("refund", ARGS, outside, recovery="queryable", probe=probe)
    assert last(ledger).evidence == "the probe raised OSError: down"


def test_the_same_key_is_sent_again_while_it_is_remembered(ledger: Any, clock: SetClock) -> None:
    run, outside = opened(ledger), Outside(RuntimeError(), RuntimeError(), RuntimeError())
    options: Any = {"recovery": "idempotent", "dedupes_for": 60}
    for tick in (0, 59):
        clock.tick(tick)
        with pytest.raises(OutcomeUnknown):
            run.perform("refund", ARGS, outside, **options)
    clock.tick(1)
    with pytest.raises(OutcomeUnknown):
        run.perform("refund", ARGS, outside, **options)
    assert outside.calls == 2


def test_a_refusal_of_what_was_sent_again_leaves_it_unknown(ledger: Any) -> None:
    run, outside = opened(ledger), Outside(RuntimeError(), ValueError())
    options: Any = {"recovery": "idempotent", "dedupes_for": 60, "definite_errors": ValueError}
    for _ in range(2):
        with pytest.raises(OutcomeUnknown):
            run.perform("refund", ARGS, outside, **options)
    assert ledger.effects()[0].status == "unknown"
    assert run.perform("refund", ARGS, outside, **options) == {"done": 3}


def test_a_fork_reads_what_was_done_and_does_nothing(ledger: Any) -> None:
    run, outside = opened(ledger), Outside()
    run.perform("refund", ARGS, outside)
    head = list(ledger.log("r"))[-1]
    parent = e.Parent(position=head.position, relation="fork", root="r", run="r")
    forked = e.RunForked(at=head.position, hash=head.hash.hex(), origin="r")
    ledger.import_events("f", [e.RunOpened(goal="try", parent=parent), forked], expected=0)
    fork = ledger.run("f")
    assert fork.perform("refund", ARGS, outside) == {"done": 1}
    with pytest.raises(EffectsDisabled):
        fork.perform("refund", {**ARGS, "order": 18}, outside)
    with pytest.raises(EffectsDisabled):
        fork.perform("look", ARGS, outside, recovery="read_only")
    assert outside.calls == 1


# --- waiting and settling ----------------------------------------------------------------------------


def test_who_waits_for_another_worker_gets_its_result(open_on: Waiting) -> None:
    first, second = open_on(), open_on()
    opened(first)
    outside = Outside()
    waited: list[Any] = []

    def slow(**args: Any) -> Any:
        with pytest.raises(EffectInFlight):
            second.run("r").perform("refund", ARGS, outside)
        with pytest.raises(EffectInFlight):
            second.run("r").perform("refund", ARGS, outside, wait_seconds=0.5)
        waited.append(sum(open_on.waits))
        return outside(**args)

    assert first.run("r").perform("refund", ARGS, slow) == {"done": 1}
    assert waited[0] == pytest.approx(0.5)

    assert second.run("r").perform("refund", ARGS, outside, wait_seconds=1) == {"done": 1}
    assert outside.calls == 1


def test_who_waits_takes_over_when_the_lease_lapses(open_on: Waiting) -> None:
    opened(open_on())
    with pytest.raises(KeyboardInterrupt):
        open_on().run("r").perform("refund", ARGS, Outside(KeyboardInterrupt()))
    options: Any = {"recovery": "idempotent", "dedupes_for": None}
    other = Outside()
    with pytest.raises(OutcomeUnknown):
        open_on().run("r").perform("refund", ARGS, other, wait_seconds=40)
    with pytest.raises(KeyboardInterrupt):
        open_on().run("r").perform("order", ARGS, Outside(KeyboardInterrupt()), **options)
    assert open_on().run("r").perform("order", ARGS, other, wait_seconds=40, **options) == {"done": 1}


def test_a_late_success_after_somebody_said_that_it_did_not_happen_is_disputed(
    open_on: Waiting, clock: SetClock
) -> None:
    first, second = open_on(), open_on()
    run = opened(first)

    def slow(**args: Any) -> str:
        clock.tick(31)
        [one] = second.effects()
        second.settle(one.effect.key, happened=False, evidence="not in the books", by="human:kim")
        assert second.run("r").perform("refund", ARGS, lambda **args: "second") == "second"
        return "first"

    with pytest.raises(LeaseLost) as lost:
        run.perform("refund", ARGS, slow)
    assert lost.value.data["result"] == "first"
    [one] = second.effects()
    assert (one.status, one.effect.key) == ("disputed", lost.value.data["key"])
    with pytest.raises(OutcomeUnknown):
        run.perform("refund", ARGS, slow)
    assert "effect.disputed" in names(first)
    key = second.effects()[0].effect.key
    known = second.settle(key, happened=True, evidence="two charges", by="human:kim")
    assert known.status == "succeeded"
    assert second.effects() == []


def test_a_late_success_of_the_attempt_that_is_unknown_settles_it(open_on: Waiting, clock: SetClock) -> None:
    first, second = open_on(), open_on()
    run = opened(first)

    def slow(**args: Any) -> str:
        clock.tick(31)
        with pytest.raises(OutcomeUnknown):
            second.run("r").perform("refund", ARGS, lambda **args: "second")
        return "first"

    assert run.perform("refund", ARGS, slow) == "first"
    assert second.run("r").perform("refund", ARGS, lambda **args: "second") == "first"
    assert first.effects() == []


def test_an_outcome_is_reported_until_the_store_answers(open_on: Waiting, wrapped: Any) -> None:
    ledger = open_on(wrapped)
    run, outside = opened(ledger), Outside()
    faults = [StoreUnavailable("down"), StoreUnavailable("down"), StoreUnavailable("down")]

    def down(append: Any) -> None:
        if outside.calls and faults:
            raise faults.pop()

    wrapped.before = down
    assert run.perform("refund", ARGS, outside) == {"done": 1}
    assert not faults
    assert names(ledger) == [*TRY, "effect.succeeded"]
    assert open_on.waits == sorted(open_on.waits)


def test_a_claim_whose_acknowledgement_was_lost_is_not_made_twice(open_on: Waiting, wrapped: Any) -> None:
    ledger = open_on(wrapped)
    run, outside = opened(ledger), Outside()
    faults = [StoreUnavailable("lost at COMMIT")]

    def lost(append: Any) -> None:
        if faults:
            raise faults.pop()

    wrapped.after = lost
    with pytest.raises(StoreUnavailable):
        run.perform("refund", ARGS, outside)
    assert run.perform("refund", ARGS, outside) == {"done": 1}
    assert outside.calls == 1
    assert names(ledger) == [*TRY, "effect.succeeded"]


# --- tools -------------------------------------------------------------------------------------------


def test_a_tool_is_found_by_its_name(open_on: Waiting) -> None:
    outside = Outside()

    @tool(recovery="queryable", probe=lambda key, args: None)
    def refund(order: int) -> Any:
        return outside(order=order)

    ledger = open_on(tools=[refund])
    run = opened(ledger)
    assert run.perform("refund", {"order": 1}) == {"done": 1}
    assert run.perform(refund, {"order": 1}) == {"done": 1}
    with pytest.raises(InvalidInput) as unknown:
        run.perform("refundd", {"order": 1})
    assert unknown.value.path == "tool"
    with pytest.raises(InvalidInput) as twice:
        run.perform(refund, {"order": 1}, outside)
    assert twice.value.path == "function"
    assert [one.name for one in ledger.tools] == ["refund"]


@pytest.mark.parametrize("args", [3, [("order", 1)], "order"])
def test_arguments_are_a_mapping(ledger: Any, args: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        opened(ledger).perform("refund", args, Outside())
    assert refused.value.path == "args"


def test_what_has_to_be_awaited_is_refused_before_anything_is_recorded(ledger: Any) -> None:
    async def refund(order: int) -> None: ...
    async def find(key: str, args: Any) -> None: ...

    run = opened(ledger)
    with pytest.raises(InvalidInput) as refused:
        run.perform(refund, {"order": 1})
    assert refused.value.path == "function"
    with pytest.raises(InvalidInput) as refused:
        run.perform("refund", {"order": 1}, Outside(), recovery="queryable", probe=find)
    assert refused.value.path == "probe"
    assert names(ledger) == []


def test_done_before_is_told_with_its_result(ledger: Any) -> None:
    run = opened(ledger)
    with run.effect("mail", {"to": "kim"}) as effect:
        effect.succeed({"id": 1}, external_ref="m-1", cost={"EUR": 1})
    with pytest.raises(AlreadyDone) as done, run.effect("mail", {"to": "kim"}):
        raise AssertionError("it was entered")
    assert done.value.data["result"] == {"id": 1}
