"""Looking again: what a run rests on and may not rely on any more is asked anew and recorded."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import Actor, Outcome, Runtime, SecretRef, Secrets, Source, Step, Verdict
from ledger import events as e
from ledger.application.readers import Reading
from ledger.errors import EffectsDisabled, RunIsClosed, Superseded
from ledger.gateway.tools import tool
from ledger.run.keys import check_key, observation_key
from tests.application.conftest import SetClock
from tests.application.faulty import FaultyStore
from tests.application.performing import Outside, Waiting, events, last, names, opened

KEY = observation_key("look", '{"order":17}')
AT_EACH = 60


@pytest.fixture
def open_on(store: Any, clock: SetClock) -> Waiting:
    return Waiting(store, clock)


@pytest.fixture
def ledger(open_on: Waiting) -> Any:
    return open_on()


def seeing(ledger: Any, *ends: Any, fresh_for: int | None = AT_EACH, run: str = "r", **more: Any) -> Any:
    """Open a run whose plan rests on what the registered tool `look` said of order 17."""
    outside = Outside(*ends)

    def look(order: int) -> Any:
        return outside(order=order)

    ledger.register(tool(recovery="read_only", fresh_for=fresh_for)(look))
    handle = opened(ledger, run)
    handle.perform("look", {"order": 17}, **more)
    handle.commit_plan([Step(name="pay", rests_on=(f"observation:{KEY}",))])
    return handle, outside


def test_what_is_stale_is_asked_again_with_the_same_arguments_under_the_same_key(
    ledger: Any, clock: SetClock
) -> None:
    model = Runtime(model="m-1")
    run, outside = seeing(
        ledger, {"a": 1}, {"a": 1}, {"a": 2}, step="read", occurrence="first", rests_on=(), runtime=model
    )
    key = run.contract.observations[-1].key
    run.revise_plan([Step(name="pay", rests_on=(f"observation:{key}",))], reason="named")
    assert run.refresh() == []
    clock.tick(AT_EACH)
    (one,) = run.refresh()
    assert (one.key, one.tool, one.found, one.is_fresh, one.because) == (key, "look", "refreshed", True, None)
    assert (one.position, outside.calls) == (run.position, 2)
    before, again = (event for event in events(ledger) if isinstance(event, e.ObservationRecorded))
    assert again == before.with_fields({"observed_at": clock()})
    assert run.refresh() == []
    clock.tick(AT_EACH)
    assert [(one.found, one.is_fresh) for one in run.refresh()] == [("changed", True)]
    assert run.contract.observations[-1].value.json_text == '{"a":2}'


def test_it_leads_a_held_run_out(ledger: Any, clock: SetClock) -> None:
    run, outside = seeing(ledger)
    clock.tick(AT_EACH)
    held = ledger.resume("r")
    assert (held.verdict, [one.kind for one in held.reasons]) == (Verdict.REPLAN, ["observation_stale"])
    assert [one.is_fresh for one in run.refresh()] == [True]
    answer = ledger.resume("r")
    assert answer.verdict is Verdict.CONTINUE
    assert outside.calls == 2
    run = answer.run
    run.suspend(reason="night")
    clock.tick(AT_EACH)
    assert [one.found for one in run.refresh()] == ["changed"]


def test_only_what_something_rests_on_is_asked_again(ledger: Any, clock: SetClock) -> None:
    run, outside = seeing(ledger)
    run.perform("look", {"order": 18})
    clock.tick(AT_EACH)
    assert [one.key for one in run.refresh()] == [KEY]
    run.revise_plan([Step(name="pay")], reason="rests on nothing")
    clock.tick(AT_EACH)
    assert run.refresh(all=True) == []
    assert outside.calls == 3


def test_all_that_is_rested_on_is_asked_again_on_demand(ledger: Any) -> None:
    run, outside = seeing(ledger, 1, 1, fresh_for=None)
    assert run.refresh() == []
    assert [(one.found, one.is_fresh) for one in run.refresh(all=True)] == [("refreshed", True)]
    assert outside.calls == 2


def test_what_was_invalidated_is_asked_again(ledger: Any, clock: SetClock) -> None:
    run, _ = seeing(ledger, 1, 1, fresh_for=None)
    run.invalidate(KEY, reason="the shop moved")
    clock.tick(1)
    assert [(one.found, one.is_fresh) for one in run.refresh()] == [("refreshed", True)]
    assert run.contract.observations[-1].invalidated is None


def test_what_was_seen_ahead_of_the_clock_is_asked_again(ledger: Any, clock: SetClock) -> None:
    run, outside = seeing(ledger, fresh_for=None)
    clock.tick(-60)
    held = ledger.resume("r")
    assert [one.kind for one in held.reasons] == ["observation_stale"]
    (one,) = run.refresh()
    assert (one.found, one.is_fresh, outside.calls) == ("changed", True, 2)
    assert run.contract.observations[-1].observed_at == clock()
    assert ledger.resume("r").verdict is Verdict.CONTINUE


def test_an_answer_that_is_never_used_again_leads_out_where_it_was_asked_since_the_stop(
    ledger: Any, clock: SetClock
) -> None:
    run, _ = seeing(ledger, 1, 1, fresh_for=0)
    clock.tick(1)
    held = ledger.resume("r")
    assert [one.kind for one in held.reasons] == ["observation_stale"]
    assert [one.is_fresh for one in run.refresh()] == [True]
    clock.tick(1)
    assert ledger.resume("r").verdict is Verdict.CONTINUE


def test_an_answer_that_is_never_used_again_cannot_become_fresh_while_the_run_works(
    ledger: Any, clock: SetClock
) -> None:
    run, _ = seeing(ledger, 1, 1, fresh_for=0)
    clock.tick(1)
    (one,) = run.refresh()
    assert (one.found, one.is_fresh, one.position) == ("refreshed", False, run.position)
    assert one.because == "its tool says that no answer is used again, so nothing should rest on one"


def test_what_raises_records_nothing_and_keeps_no_other_back(ledger: Any, clock: SetClock) -> None:
    run, outside = seeing(ledger)
    run.perform("look", {"order": 18})
    other = observation_key("look", '{"order":18}')
    rests = (f"observation:{KEY}", f"observation:{other}")
    run.revise_plan([Step(name="pay", rests_on=rests)], reason="both")
    clock.tick(AT_EACH)
    outside.ends = [RuntimeError("the shop is closed"), 2]
    before = run.position
    first, second = run.refresh()
    assert (first.found, first.is_fresh, first.position) == ("not_refreshed", False, None)
    assert first.because == "RuntimeError: the shop is closed"
    assert (second.key, second.found, second.is_fresh) == (other, "changed", True)
    assert run.position == before + 1


def hidden(ledger: Any, run: Any) -> None:
    ledger._shared.workshop.tools.clear()


def acting(ledger: Any, run: Any) -> None:
    ledger.register(tool(name="look", recovery="queryable", probe=lambda key, args: None)(lambda order: None))


def renamed(ledger: Any, run: Any) -> None:
    ledger.register(tool(name="look", recovery="read_only")(lambda number: None))


def awaited(ledger: Any, run: Any) -> None:
    async def look(order: int) -> None:
        raise AssertionError

    # As an AsyncLedger on the same store has it.
    ledger._shared.workshop.register(tool(recovery="read_only")(look))


def by_hand(ledger: Any, run: Any) -> None:
    run.observe(KEY, 7, tool="look", observed_at=ledger._edge.now(), fresh_for=AT_EACH)


NOT_ASKED = [
    (hidden, "no tool 'look' is registered here"),
    (acting, "'look' is queryable: only what is read_only is called again"),
    (renamed, "the arguments it was asked with cannot be used here"),
    (awaited, "nobody awaits here"),
    (by_hand, "it is not known here with which arguments it was asked"),
]


@pytest.mark.parametrize(("change", "because"), NOT_ASKED)
def test_what_cannot_be_asked_again_is_left_and_told(
    ledger: Any, clock: SetClock, change: Any, because: str
) -> None:
    run, outside = seeing(ledger)
    clock.tick(1)
    change(ledger, run)
    clock.tick(AT_EACH)
    before = run.contract.position
    (one,) = run.refresh()
    assert (one.found, one.is_fresh, one.position) == ("not_refreshed", False, None)
    assert because in str(one.because)
    assert (run.contract.position, outside.calls) == (before, 1)


def test_secrets_are_resolved_anew_and_told_nowhere(open_on: Waiting, clock: SetClock) -> None:
    values = ["sk-first-0123456789", "sk-other-0123456789"]
    given: list[str] = []

    def look(token: SecretRef) -> Any:
        given.append(token.resolve())
        if len(given) == 3:
            raise RuntimeError(f"{given[-1]} is not known")
        return {"token": given[-1]}

    ledger = open_on(secrets=Secrets(lookup=lambda name: values[0]))
    ledger.register(tool(recovery="read_only", fresh_for=AT_EACH)(look))
    run = opened(ledger)
    run.perform("look", {"token": SecretRef("shop")})
    key = last(ledger).key
    run.commit_plan([Step(name="pay", rests_on=(f"observation:{key}",))])
    values.pop(0)
    clock.tick(AT_EACH)
    assert [one.found for one in run.refresh()] == ["refreshed"]
    assert given == ["sk-first-0123456789", "sk-other-0123456789"]
    assert "sk-other" not in str(last(ledger).value)
    clock.tick(AT_EACH)
    (one,) = run.refresh()
    assert (one.found, "sk-other" in str(one.because)) == ("not_refreshed", False)


def test_who_may_not_look_is_told(ledger: Any, clock: SetClock) -> None:
    run, outside = seeing(ledger)
    fork = ledger.fork("r", as_="what-if", at=run.position)
    clock.tick(1)
    successor = ledger.resume("r").run
    clock.tick(AT_EACH)
    with pytest.raises(Superseded):
        run.refresh()
    with pytest.raises(EffectsDisabled):
        fork.refresh()
    successor.close("cancelled")
    with pytest.raises(RunIsClosed):
        successor.refresh()
    assert outside.calls == 1


@pytest.mark.parametrize("fault", ["lost", "lost_stored"])
def test_an_answer_whose_acknowledgement_was_lost_is_recorded_once(clock: SetClock, fault: str) -> None:
    faulty = FaultyStore()
    ledger = Waiting(faulty, clock)()
    run, _ = seeing(ledger, 1, 2)
    clock.tick(AT_EACH)
    faulty.faults = [fault]
    assert [one.found for one in run.refresh()] == ["changed"]
    assert names(ledger).count("observation.recorded") == 2


# --- sources --------------------------------------------------------------------------------------


class Handbook:
    """A source outside: what it says, and how often it was asked."""

    def __init__(self) -> None:
        self.reading: Any = Reading("1", {"a": "Refund once"})
        self.calls = 0

    def __call__(self, source: str) -> Reading:
        self.calls += 1
        if isinstance(self.reading, Exception):
            raise self.reading
        told: Reading = self.reading
        return told


def bound(ledger: Any, check_every: int | None = AT_EACH) -> tuple[Any, Handbook]:
    handbook = Handbook()
    ledger.sources.register("policy", handbook, check_every=check_every)
    ledger.sources.check("policy:refunds")
    run = opened(ledger)
    run.accept("a", "Refund once", source=Source("policy", "refunds", revision="1"), asserted_by="human:kim")
    return run, handbook


def test_a_source_that_was_not_read_lately_is_read(ledger: Any, clock: SetClock) -> None:
    run, handbook = bound(ledger)
    (one,) = run.refresh()  # it was read, but this run never noted so
    key = check_key("policy:refunds")
    assert (one.key, one.tool, one.found, one.is_fresh) == (key, "source.policy", "refreshed", True)
    assert (one.because, one.position) == ("revision 1, as before", run.position)
    assert run.refresh() == []
    clock.tick(AT_EACH)
    handbook.reading = Reading("2", {"a": "Refund once", "b": "Ask Kim"})
    assert [(one.found, one.because) for one in run.refresh()] == [("changed", "revision 2, new")]
    assert (ledger.source("policy:refunds").state.revision, handbook.calls) == ("2", 3)
    assert [one.found for one in run.refresh(all=True)] == ["refreshed"]


def test_a_source_that_cannot_be_read_is_told_and_stays_unchecked(ledger: Any, clock: SetClock) -> None:
    run, handbook = bound(ledger)
    run.refresh()
    clock.tick(AT_EACH)
    handbook.reading = RuntimeError("no route")
    (one,) = run.refresh()
    assert (one.found, one.is_fresh, one.because) == ("not_refreshed", False, "RuntimeError: no route")
    held = ledger.resume("r", actor=Actor("service:runner", session="s-9"), live_seconds=0)
    assert [one.kind for one in held.reasons] == ["source_unchecked"]


def test_a_stale_source_without_a_reader_is_told(open_on: Waiting, clock: SetClock) -> None:
    run, _ = bound(open_on())
    run.refresh()
    clock.tick(AT_EACH)
    (one,) = open_on().run("r").refresh()
    assert (one.found, one.is_fresh) == ("not_refreshed", False)
    assert one.because == "no reader is registered for its kind"


def test_a_source_that_never_ages_is_read_only_on_demand(ledger: Any, clock: SetClock) -> None:
    run, handbook = bound(ledger, None)
    clock.tick(10**6)
    assert run.refresh() == []
    assert [one.is_fresh for one in run.refresh(all=True)] == [True]
    assert handbook.calls == 2


def test_what_an_outcome_says_beside_its_result_is_recorded_again(ledger: Any, clock: SetClock) -> None:
    run, _ = seeing(ledger, Outcome(1, cost={"EUR": 1}), Outcome(1, cost={"EUR": 2}))
    clock.tick(AT_EACH)
    assert [one.found for one in run.refresh()] == ["refreshed"]
    assert str(last(ledger).cost) == "{'EUR': Decimal('2')}"
