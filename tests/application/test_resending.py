"""What nobody knows is found out by sending it again under its key, where the outside dedupes on that."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from ledger import Actor, Happened, NotHappened, Outcome, SecretRef, Secrets, Tool, current_effect, tool
from ledger import events as e
from ledger.errors import EffectInFlight, OutcomeUnknown, RunIsHeld
from ledger.gateway.current import CurrentEffect
from ledger.values import Payload
from tests.application.conftest import SetClock
from tests.application.performing import Outside, Waiting, events, names, opened

ARGS = {"order": 17, "amount": "10.00"}
TRY = ["effect.intended", "effect.started", "effect.unknown"]
SENT = ["effect.reconciled", "effect.reconciled"]
TOKEN = "hunter2-hunter2"


@pytest.fixture
def open_on(store: Any, clock: SetClock) -> Waiting:
    return Waiting(store, clock)


@pytest.fixture
def ledger(open_on: Waiting) -> Any:
    return open_on()


class Killed(BaseException):
    """The process ends in the middle of a call."""


class Refused(Exception):
    """The outside says no."""


def deduped(outside: Any, **declared: Any) -> Tool:
    """Declare a tool that acts on an outside which dedupes for an hour."""

    def refund(order: int, amount: str = "1.00") -> Any:
        return outside(order=order, amount=amount)

    return tool(**{"recovery": "idempotent", "dedupes_for": 3600, "definite_errors": Refused, **declared})(
        refund
    )


def left(ledger: Any, one: Tool, args: Any = None, run: str = "r") -> str:
    """Let the first call of an act get lost, and return its key."""
    with pytest.raises(OutcomeUnknown):
        opened(ledger, run).perform(one, ARGS if args is None else args)
    [unsettled] = ledger.effects(run)
    return str(unsettled.effect.key)


def only(found: Any) -> Any:
    [one] = found
    return one


# --- what it comes to --------------------------------------------------------------------------------


def test_its_answer_is_recorded_and_settles_it(ledger: Any, open_on: Waiting) -> None:
    outcome = Outcome({"id": 1}, external_ref="re_1", cost={"EUR": "9.50"})
    outside = Outside(TimeoutError("no answer"), outcome)
    one = deduped(outside)
    key = left(ledger, one)
    told = only(open_on(tools=[one]).reconcile("r"))
    said = "sent again under its key; the outside answered and calls it re_1"
    assert (told.run, told.found, told.because) == ("r", "happened", said)
    assert (told.effect.status, told.effect.result) == ("succeeded", Payload(json_text='{"id":1}'))
    assert (told.effect.external_ref, dict(told.effect.cost)) == ("re_1", {"EUR": Decimal("9.50")})
    found = told.effect.findings[-1]
    assert (found.method, found.found, found.evidence) == ("redelivery", "happened", said)
    assert names(ledger) == [*TRY, *SENT]
    assert ledger.contract("r").effects == ()
    assert ledger.run("r").perform(one, ARGS) == {"id": 1}
    assert ledger.effect(key).attempt == 1, "nothing was begun a second time"
    assert outside.calls == 2


def test_it_is_called_as_the_attempt_that_it_repeats(ledger: Any) -> None:
    seen: list[Any] = []

    def refund(order: int, *, effect: CurrentEffect) -> str:
        seen.append((effect.key, effect.attempt, effect.last_progress, order))
        assert current_effect() is effect
        if len(seen) < 3:
            effect.progress({"page": len(seen)})
            raise TimeoutError
        effect.progress("this is not kept")
        return "ok"

    one = tool(recovery="idempotent", dedupes_for=3600)(refund)
    key = left(ledger, one, {"order": 17})
    with pytest.raises(OutcomeUnknown):
        ledger.run("r").perform(one, {"order": 17})
    assert only(ledger.reconcile()).found == "happened"
    assert seen == [(key, 1, None, 17), (key, 2, {"page": 1}, 17), (key, 2, {"page": 2}, 17)]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Refused("no"), "it was refused, which says nothing of what was sent first: Refused: no"),
        (OSError("down"), "it raised: OSError: down"),
    ],
)
def test_an_error_leaves_it_unknown(ledger: Any, clock: SetClock, error: Exception, words: str) -> None:
    one = deduped(Outside(TimeoutError(), error, error))
    left(ledger, one)
    for _ in range(2):
        told = only(ledger.reconcile())
        clock.tick(1)
        assert (told.found, told.because) == ("unknown", f"sent again under its key; {words}")
        assert told.effect.status == "unknown"
    assert names(ledger) == [*TRY, *SENT, "effect.reconciled"], "the same words are not kept twice"
    assert only(ledger.reconcile()).found == "happened"


def test_who_is_killed_while_sending_leaves_word_of_it(ledger: Any, clock: SetClock) -> None:
    """What was sent again may land later, so that what the probe does not find may happen still."""
    answers: list[Any] = [None, NotHappened(), NotHappened()]
    outside = Outside(TimeoutError(), Killed(), Refused())
    one = deduped(outside, probe=lambda key, args: answers.pop(0), settle_seconds=30)
    with pytest.raises(OutcomeUnknown):
        opened(ledger).perform(one, ARGS)
    clock.tick(60)
    answers.insert(0, None)
    with pytest.raises(Killed):
        next(ledger.reconcile())
    [word] = [finding for finding in only(ledger.effects()).effect.findings if finding.method != "probe"]
    assert word.evidence.startswith("being sent again under its key by ")
    clock.tick(29)
    assert only(ledger.reconcile()).found == "unknown"
    clock.tick(30)
    assert only(ledger.reconcile()).found == "did_not_happen"
    assert outside.calls == 3


def test_what_another_run_of_the_lineage_settled_is_settled_here(ledger: Any) -> None:
    one = deduped(Outside(TimeoutError()))
    key = left(ledger, one)
    head = ledger.contract("r")
    [effect] = head.effects
    parent = e.Parent(position=head.position, relation="successor", root="r", run="r")
    fields = ("act", "attempt", "key", "position", "recovery", "status", "tool")
    inherited = e.InheritedEffect(run="r", **{name: getattr(effect, name) for name in fields})
    restarted = e.RunRestarted(
        by="human:kim",
        effects_done=0,
        predecessor="r",
        predecessor_hash=head.hash,
        predecessor_position=head.position,
        reason="the policy was withdrawn",
        unsettled=(inherited,),
    )
    ledger.import_events("heir", [e.RunOpened(goal="g", parent=parent), restarted], expected=0)
    assert only(ledger.reconcile("r")).found == "happened"
    assert [held.key for held in ledger.contract("heir").effects] == [key]
    ledger.run("heir").ask(ledger.effect(key))
    assert ledger.contract("heir").effects == ()


# --- the probe first ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "seconds", "found", "calls"),
    [
        (Happened(), 0, "happened", 1),
        (NotHappened(), 30, "did_not_happen", 1),
        (NotHappened(), 29, "happened", 2),
        (None, 30, "happened", 2),
        (OSError("down"), 30, "happened", 2),
    ],
)
def test_it_is_sent_only_where_the_probe_cannot_tell(
    ledger: Any, clock: SetClock, answer: Any, seconds: int, found: str, calls: int
) -> None:
    answers: list[Any] = [None, answer]

    def probe(key: str, args: Any) -> Any:
        one = answers.pop(0)
        if isinstance(one, Exception):
            raise one
        return one

    outside = Outside(TimeoutError())
    left(ledger, deduped(outside, probe=probe))
    clock.tick(seconds)
    assert only(ledger.reconcile()).found == found
    assert outside.calls == calls


def test_a_probe_that_a_call_named_is_asked_before_what_is_registered_is_sent(ledger: Any) -> None:
    outside = Outside(TimeoutError())
    one = ledger.register(deduped(outside))
    with pytest.raises(OutcomeUnknown):
        opened(ledger).perform(one.name, ARGS, probe=lambda key, args: None)
    told = only(ledger.reconcile())
    assert told.because == "the probe could not tell; sent again under its key; the outside answered"
    assert outside.calls == 2


# --- not where it could act twice ----------------------------------------------------------------------


def is_not_sent(ledger: Any, outside: Outside, because: str) -> None:
    calls, recorded = outside.calls, names(ledger)
    told = only(ledger.reconcile("r"))
    assert (told.found, told.because) == ("not_asked", because)
    assert (outside.calls, names(ledger)) == (calls, recorded)


PERSON = "a person has to find out, and settle it"
FORGOTTEN = f"the outside may have forgotten its key: {PERSON}"


@pytest.mark.parametrize(("before", "now"), [(3600, None), (None, 3600), (3600, 7200), (7200, 3600)])
def test_it_is_sent_within_the_shorter_memory_that_was_ever_declared(
    ledger: Any, open_on: Waiting, clock: SetClock, before: int | None, now: int | None
) -> None:
    outside = Outside(TimeoutError(), TimeoutError())
    left(ledger, deduped(outside, dedupes_for=before))
    later = open_on(tools=[deduped(outside, dedupes_for=now)])
    clock.tick(3599)
    assert only(later.reconcile()).found == "unknown"
    clock.tick(1)
    is_not_sent(later, outside, FORGOTTEN)


def test_the_time_may_be_over_before_the_call(
    ledger: Any, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock is read once more right before it, after all that is read and recorded."""
    outside = Outside(TimeoutError())
    left(ledger, deduped(outside))
    clock.tick(3599)
    find = type(ledger._edge.store).lease

    def slow(*given: Any) -> Any:
        clock.tick(1)
        return find(*given)

    monkeypatch.setattr(type(ledger._edge.store), "lease", slow)
    told = only(ledger.reconcile())
    assert told.because == "not sent again after all: the outside may have forgotten its key meanwhile"
    assert outside.calls == 1


def test_a_call_is_told_when_the_outside_may_forget(ledger: Any, clock: SetClock) -> None:
    seen: list[Any] = []

    def refund(order: int, *, effect: CurrentEffect) -> None:
        seen.append(effect.deadline)
        effect.check()
        raise TimeoutError

    left(ledger, tool(recovery="idempotent", dedupes_for=60)(refund), {"order": 17})
    sent = clock.now
    clock.tick(40)
    told = only(ledger.reconcile())
    assert told.because == "sent again under its key; it raised: TimeoutError: "
    assert (seen[1] - sent).total_seconds() == 60


def test_it_is_left_to_a_worker_that_holds_its_lease(ledger: Any, clock: SetClock) -> None:
    outside = Outside(Killed())
    one = deduped(outside, lease_seconds=10)
    with pytest.raises(Killed):
        opened(ledger).perform(one, ARGS)
    with pytest.raises(EffectInFlight):
        ledger.run("r").perform(one, ARGS)
    told = only(ledger.reconcile())
    assert told.found == "not_asked"
    assert "holds its lease until" in told.because
    assert ledger.run("r").ask(told.effect) == "not_asked", "who asks about one effect meets the same"
    assert outside.calls == 1
    clock.tick(10)
    assert only(ledger.reconcile()).found == "happened"


def test_what_was_sent_as_something_else_is_not_sent_again(ledger: Any, open_on: Waiting) -> None:
    outside = Outside(TimeoutError())
    left(ledger, tool(name="refund", recovery="at_most_once")(outside))
    later = open_on(tools=[deduped(outside)])
    is_not_sent(later, outside, f"'refund' was at_most_once when it was sent: {PERSON}")


def test_what_is_declared_as_something_else_now_is_not_sent_again(ledger: Any, open_on: Waiting) -> None:
    outside = Outside(TimeoutError())
    left(ledger, deduped(outside))
    later = open_on(tools=[tool(name="refund", recovery="at_most_once")(outside)])
    is_not_sent(later, outside, f"'refund' has no probe: {PERSON}")


def test_what_only_a_call_declared_is_not_sent_again(ledger: Any) -> None:
    """Its function may hold what the arguments do not say, and the next call another."""
    outside = Outside(TimeoutError())
    with pytest.raises(OutcomeUnknown):
        opened(ledger).perform("refund", ARGS, outside, recovery="idempotent", dedupes_for=None)
    is_not_sent(ledger, outside, "'refund' is not registered here with its function")


def test_a_block_is_not_sent_again(ledger: Any) -> None:
    """Only its caller could run it; what stands for it here does nothing."""
    with (
        pytest.raises(OutcomeUnknown),
        opened(ledger).effect("mail", ARGS, recovery="idempotent", dedupes_for=None),
    ):
        raise TimeoutError
    is_not_sent(ledger, Outside(), "'mail' is not registered here with its function")


def test_a_fork_sends_nothing(ledger: Any) -> None:
    outside = Outside(TimeoutError())
    key = left(ledger, deduped(outside))
    head = ledger.contract("r")
    parent = e.Parent(position=head.position, relation="fork", root="r", run="r")
    forked = e.RunForked(at=head.position, hash=head.hash, origin="r")
    ledger.import_events("f", [e.RunOpened(goal="try", parent=parent), forked], expected=0)
    assert ledger.run("f").ask(ledger.effect(key)) == "not_asked"
    assert outside.calls == 1


def test_reports_that_contradict_each_other_are_for_a_person(ledger: Any) -> None:
    outside = Outside(TimeoutError())
    key = left(ledger, deduped(outside))
    for happened in (False, True):
        ledger.settle(
            key, happened=happened, evidence=f"{happened}", by="human:kim", actor=Actor("human:kim")
        )
    assert ledger.effect(key).status == "disputed"
    is_not_sent(ledger, outside, f"reports about it contradict each other: {PERSON}")


def test_a_run_that_is_suspended_finds_out(ledger: Any) -> None:
    one = deduped(Outside(TimeoutError()))
    left(ledger, one)
    ledger.run("r").suspend(reason="wait", by="human:kim")
    with pytest.raises(RunIsHeld):
        ledger.run("r").perform(one, ARGS)
    assert only(ledger.reconcile()).found == "happened"


# --- its arguments -----------------------------------------------------------------------------------


class Item(BaseModel):
    name: str
    price: Decimal = Decimal("1.50")


def test_arguments_are_read_as_their_types_have_them(ledger: Any, open_on: Waiting) -> None:
    seen: list[Any] = []

    def buy(item: Item, times: int = 2) -> str:
        seen.append((item, times))
        if len(seen) == 1:
            raise TimeoutError
        return "ok"

    buy.__annotations__["item"] = Item
    one = tool(recovery="idempotent", dedupes_for=None)(buy)
    left(ledger, one, {"item": {"name": "tea"}})
    assert only(open_on(tools=[one]).reconcile()).found == "happened"
    assert seen == [(Item(name="tea"), 2)] * 2


def test_arguments_that_fit_no_more_are_not_sent(ledger: Any, open_on: Waiting) -> None:
    outside = Outside(TimeoutError())
    left(ledger, deduped(outside))

    def refund(order: int) -> Any:
        return outside(order=order)

    later = open_on(tools=[tool(recovery="idempotent", dedupes_for=3600)(refund)])
    told = only(later.reconcile())
    assert told.found == "not_asked"
    assert told.because.startswith("its arguments cannot be used here: ")
    assert "amount" in told.because
    assert outside.calls == 1


def test_secrets_are_looked_up_and_told_nowhere(open_on: Waiting) -> None:
    seen: list[str] = []

    def pay(token: SecretRef) -> Outcome:
        seen.append(token.resolve())
        if len(seen) == 1:
            raise TimeoutError
        return Outcome({"paid with": token.resolve()}, external_ref=f"re-{token.resolve()}")

    pay.__annotations__["token"] = SecretRef
    one = tool(recovery="idempotent", dedupes_for=None)(pay)
    secrets = Secrets(lookup={"stripe": TOKEN}.__getitem__)
    ledger = open_on(secrets=secrets)
    left(ledger, one, {"token": SecretRef("stripe")})
    without = open_on(secrets=Secrets(lookup=dict[str, str]().__getitem__), tools=[one])
    told = only(without.reconcile())
    assert (told.found, len(seen)) == ("not_asked", 1)
    assert "stripe" in told.because
    told = only(open_on(secrets=secrets, tools=[one]).reconcile())
    assert (told.found, seen) == ("happened", [TOKEN] * 2)
    assert TOKEN not in told.because + "".join(str(event) for event in events(ledger))


# --- what a probe says is of when it was asked ---------------------------------------------------------


@pytest.mark.parametrize(("seconds", "found"), [(29, "unknown"), (30, "did_not_happen")])
def test_what_a_probe_does_not_find_is_so_of_when_it_was_asked(
    ledger: Any, clock: SetClock, seconds: int, found: str
) -> None:
    """What was sent may land while the probe, or the record of what it said, takes its time."""

    def find(key: str, args: Any) -> NotHappened | None:
        if clock.now == sent:
            return None
        clock.tick(60)
        return NotHappened()

    sent = clock.now
    left(ledger, tool(name="refund", recovery="queryable", probe=find)(Outside(TimeoutError())))
    clock.tick(seconds)
    assert only(ledger.reconcile()).found == found
