"""A handle appends on what it knows; where somebody was first it reads, decides and appends again."""

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from ledger import Actor, Ledger, Limits, Recovery, Source
from ledger.application.edge import Edge
from ledger.commands import ClaimEffect, MakeAssumption, MoveCursor
from ledger.errors import (
    AuthorityExceeded,
    ContractChanged,
    GuardMoved,
    IdInUse,
    IntegrityError,
    InvalidInput,
    NotForAgents,
    NotOpen,
    OffPlan,
    PositionConflict,
    RunExists,
    RunIsClosed,
    RunIsHeld,
    RunNotFound,
    StillOpen,
    StoreUnavailable,
)
from ledger.events import (
    ConstraintAccepted,
    ConstraintWithdrawnAtSource,
    SourceRevised,
)
from ledger.stores.base import Append, FullStore
from tests.application.conftest import OpenLedger, SetClock
from tests.stores.builder import shown


def once(step: Callable[[], object]) -> Callable[[Append], None]:
    done: list[bool] = []

    def run(append: Append) -> None:
        if not done:
            done.append(True)
            step()

    return run


def test_a_run_is_durable_when_open_run_returns(ledger: Ledger, open_on: OpenLedger) -> None:
    ledger.open_run("r", "Refund order 17")
    assert open_on().contract("r").goal.text == "Refund order 17"


def test_opening_again_with_equal_content_is_a_repeat_until_something_follows(ledger: Ledger) -> None:
    ledger.open_run("r", "Refund order 17")
    run = ledger.open_run("r", "Refund order 17")
    assert run.position == 1
    run.assume("a", "in stock")
    with pytest.raises(RunExists) as refused:
        ledger.open_run("r", "Refund order 17")
    assert refused.value.data["rule"] == "run_exists"


def test_opening_with_other_content_is_refused(ledger: Ledger) -> None:
    ledger.open_run("r", "Refund order 17")
    with pytest.raises(RunExists):
        ledger.open_run("r", "Refund order 18")


def test_asking_for_a_run_creates_none(ledger: Ledger) -> None:
    with pytest.raises(RunNotFound):
        ledger.run("nobody")
    assert ledger.runs().runs == ()


@pytest.mark.parametrize("id", ["", " ", "a\0b", "\n", "x" * 201, "$source:policy:refunds", "\ud800"])
def test_malformed_run_ids_are_refused_at_the_door(ledger: Ledger, id: str) -> None:
    for ask in (lambda: ledger.open_run(id, "goal"), lambda: ledger.run(id), lambda: ledger.contract(id)):
        with pytest.raises(InvalidInput) as refused:
            ask()
        assert refused.value.path == "run"


def test_bad_input_names_the_field(ledger: Ledger) -> None:
    run = ledger.open_run("r", "goal")
    with pytest.raises(InvalidInput) as refused:
        run.accept("c", "text", asserted_by="kim")
    assert refused.value.path == "asserted_by"
    assert run.position == 1


def test_a_handle_appends_without_reading(store: FullStore, wrapped: Any, open_on: OpenLedger) -> None:
    run = open_on(store=wrapped).open_run("r", "goal")
    before = wrapped.reads
    for number in range(20):
        run.move(f"node-{number}")
    assert wrapped.reads == before


def test_a_lost_race_is_decided_again(ledger: Ledger, open_on: OpenLedger) -> None:
    first = ledger.open_run("r", "goal")
    second = open_on().run("r")
    first.assume("a", "in stock")
    stated = second.assume("b", "in season")
    assert stated.position == 3
    assert [item.id for item in second.contract.assumptions] == ["a", "b"]


def test_a_lost_race_can_change_the_decision(ledger: Ledger, open_on: OpenLedger) -> None:
    first = ledger.open_run("r", "goal")
    second = open_on().run("r")
    first.assume("a", "in stock")
    with pytest.raises(IdInUse):
        second.assume("a", "something else")
    assert second.assume("a", "in stock").repeated


def test_a_refusal_is_checked_against_what_is_stored_now(ledger: Ledger, open_on: OpenLedger) -> None:
    first = ledger.open_run("r", "goal")
    second = open_on().run("r")
    first.promise("tell", "Mail the customer", owed_to="customer:17")
    assert second.discharge("tell", evidence="mail 4711 was sent").position == 3


def test_expected_surfaces_the_conflict(ledger: Ledger, open_on: OpenLedger) -> None:
    first = ledger.open_run("r", "goal")
    second = open_on().run("r")
    first.assume("a", "in stock")
    with pytest.raises(PositionConflict) as conflict:
        second.do(MakeAssumption(id="b", text="in season"), expected=1)
    assert (conflict.value.expected, conflict.value.actual) == (1, 2)
    assert second.do(MakeAssumption(id="b", text="in season"), expected=2).position == 3


def test_races_are_lost_only_so_often(wrapped: Any, ledger: Ledger, open_on: OpenLedger) -> None:
    rival = ledger.open_run("r", "goal")
    unlucky = open_on(store=wrapped).run("r")
    count = iter(range(10_000))
    wrapped.before = lambda append: rival.move(f"n{next(count)}")
    with pytest.raises(PositionConflict):
        unlucky.assume("a", "in stock")


def test_a_lost_acknowledgement_is_found_by_the_same_command(wrapped: Any, open_on: OpenLedger) -> None:
    run = open_on(store=wrapped).open_run("r", "goal")

    def cut() -> None:
        raise StoreUnavailable("the connection was lost at COMMIT")

    wrapped.after = once(cut)
    with pytest.raises(StoreUnavailable):
        run.move("pay")
    stated = run.move("pay")
    assert stated.position == 2
    assert run.contract.tally.steps == 1


def test_a_lost_acknowledgement_is_found_after_others_went_on(
    wrapped: Any, ledger: Ledger, open_on: OpenLedger
) -> None:
    run = open_on(store=wrapped).open_run("r", "goal")

    def cut() -> None:
        ledger.run("r").move("elsewhere")
        raise StoreUnavailable("the connection was lost at COMMIT")

    wrapped.after = once(cut)
    with pytest.raises(StoreUnavailable):
        run.move("pay")
    assert run.move("pay").position == 2
    assert run.contract.cursor is not None
    assert run.contract.cursor.node == "elsewhere"
    assert run.contract.position == 3


def test_an_append_that_was_not_stored_is_made_again(
    wrapped: Any, ledger: Ledger, open_on: OpenLedger
) -> None:
    run = open_on(store=wrapped).open_run("r", "goal")

    def cut() -> None:
        ledger.run("r").move("elsewhere")
        raise StoreUnavailable("the server is gone")

    wrapped.before = once(cut)
    with pytest.raises(StoreUnavailable):
        run.move("pay")
    assert run.move("pay").position == 3


def test_time_never_falls_along_a_run(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("r", "goal")
    clock.tick(-3600)
    run.move("n")
    first, second = ledger.log("r")
    assert second.at == first.at


def test_the_actor_and_the_claim_are_two_fields(ledger: Ledger) -> None:
    agent = Actor("agent:refunds", session="s-1", on_behalf_of=("human:kim",))
    run = ledger.open_run("r", "goal", actor=agent)
    run.revise_goal("another goal", reason="asked", by="human:kim")
    record = list(ledger.log("r"))[-1]
    assert record.actor == agent
    assert record.event.model_dump()["by"] == "human:kim"


def test_subjects_travel_with_the_record(ledger: Ledger) -> None:
    run = ledger.open_run("r", "goal", about=["person:17"])
    run.do(MoveCursor(node="n", about=("person:18",)), causation="request-1", correlation="case-9")
    opened, moved = ledger.log("r")
    assert opened.about == ("person:17",)
    assert (moved.about, moved.causation, moved.correlation) == (("person:18",), "request-1", "case-9")


def test_an_agent_cannot_withdraw(ledger: Ledger) -> None:
    run = ledger.open_run("r", "goal", actor=Actor("agent:refunds"))
    run.accept("c", "text", asserted_by="human:kim")
    with pytest.raises(NotForAgents):
        run.withdraw("c", reason="inconvenient", by="human:kim")
    ledger.run("r").withdraw("c", reason="obsolete", by="human:kim")
    assert run.contract.constraints == ()


def test_completing_needs_everything_done(ledger: Ledger) -> None:
    run = ledger.open_run("r", "goal")
    run.promise("tell", "Mail the customer", owed_to="customer:17")
    with pytest.raises(StillOpen) as refused:
        run.close("completed")
    assert refused.value.evidence["obligations"] == ["tell"]
    run.close("failed", reason="the mail server is down")
    closed = run.contract.closed
    assert closed is not None
    assert closed.obligations == ("tell",)
    with pytest.raises(RunIsClosed):
        run.move("n")


def test_a_limit_suspends_with_its_reason(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("r", "goal", limits=Limits(steps=2, wall_seconds=60))
    run.move("a")
    run.move("b")
    with pytest.raises(RunIsHeld) as held:
        run.move("c")
    assert held.value.evidence == {"limit": "steps"}
    contract = run.contract
    assert contract.status == "suspended"
    assert contract.suspended is not None
    assert contract.suspended.cause == "steps"
    with pytest.raises(RunIsHeld):
        run.move("c")
    assert run.contract.position == contract.position

    late = ledger.open_run("late", "goal", limits=Limits(wall_seconds=60))
    clock.tick(60)
    with pytest.raises(RunIsHeld) as over:
        late.promise("a", "Mail the customer", owed_to="customer:17")
    assert over.value.evidence == {"limit": "wall_seconds"}
    late.close("cancelled")


def test_threads_may_share_a_handle(ledger: Ledger) -> None:
    run = ledger.open_run("r", "goal")

    def write(number: int) -> None:
        for turn in range(10):
            run.assume(f"{number}-{turn}", "in stock")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(run.contract.assumptions) == 80
    assert run.position == 81


def test_24_writers_of_one_run_all_get_through(ledger: Ledger, store: FullStore) -> None:
    ledger.open_run("r", "goal")
    errors: list[Exception] = []
    writers, turns = 24, 5

    def write(number: int) -> None:
        # Each race is lost to an event of another; on a slow disk one may lose nearly all of them in a row.
        edge = Edge(store, "default", Actor(f"agent:{number}"), tries=writers * turns)
        handle = Ledger(edge).run("r")
        try:
            for turn in range(turns):
                handle.assume(f"{number}-{turn}", "in stock")
        except Exception as error:  # noqa: BLE001 - the test fails on whatever it was
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [record.position for record in ledger.log("r")] == list(range(1, 122))


# --- sources ---------------------------------------------------------------------------------------

POLICY = Source("policy", "refunds")


def test_what_the_source_publishes_is_told_from_what_is_claimed(ledger: Ledger) -> None:
    ledger.source("policy:refunds").publish("4", {"limit": "Never refund more than 100 EUR"})
    run = ledger.open_run("r", "goal")
    run.accept("limit", "Never refund more than 100 EUR", source=POLICY, asserted_by="human:kim")
    run.accept("other", "Be kind", source=POLICY, asserted_by="human:kim")
    run.accept("free", "Be quick", asserted_by="human:kim")
    limit, other, free = run.contract.constraints
    assert (limit.published, other.published, free.published) == (True, False, None)
    assert limit.source is not None
    assert limit.source.revision == "4"


def test_a_source_that_nobody_opened_can_be_claimed_and_later_moves_the_guard(
    wrapped: Any, ledger: Ledger, open_on: OpenLedger
) -> None:
    run = open_on(store=wrapped).open_run("r", "goal")
    wrapped.before = once(lambda: ledger.source("policy:refunds").publish("1", {"x": "text"}))
    run.accept("limit", "No more than 100 EUR", source=POLICY, asserted_by="human:kim")
    accepted = run.contract.constraints[0]
    assert accepted.published is False
    assert accepted.source_position == 2


def test_an_acceptance_meets_a_withdrawal_that_came_first(
    wrapped: Any, ledger: Ledger, open_on: OpenLedger
) -> None:
    policy = ledger.source("policy:refunds")
    policy.publish("4", {"limit": "100 EUR", "kind": "Be kind"})
    run = open_on(store=wrapped).open_run("r", "goal")
    run.accept("kind", "Be kind", source=POLICY, asserted_by="human:kim")
    wrapped.before = once(lambda: policy.withdraw("limit", reason="replaced", by="human:kim"))
    with pytest.raises(ContractChanged) as changed:
        run.accept("limit", "100 EUR", source=POLICY, asserted_by="human:kim")
    assert changed.value.evidence["change"] == "withdrawn"
    assert [item.id for item in run.contract.constraints] == ["kind"]


def test_an_acceptance_goes_on_when_the_source_moved_elsewhere(
    wrapped: Any, ledger: Ledger, open_on: OpenLedger
) -> None:
    policy = ledger.source("policy:refunds")
    policy.publish("4", {"limit": "100 EUR", "kind": "Be kind"})
    run = open_on(store=wrapped).open_run("r", "goal")
    wrapped.before = once(lambda: policy.withdraw("kind", reason="obvious", by="human:kim"))
    run.accept("limit", "100 EUR", source=POLICY, asserted_by="human:kim")
    assert run.contract.constraints[0].source_position == 3


def test_an_acceptance_does_not_turn_into_a_claim_behind_its_back(
    wrapped: Any, ledger: Ledger, open_on: OpenLedger
) -> None:
    policy = ledger.source("policy:refunds")
    policy.publish("4", {"limit": "100 EUR"})
    run = open_on(store=wrapped).open_run("r", "goal")
    wrapped.before = once(lambda: policy.publish("5", {"limit": "50 EUR"}))
    with pytest.raises(ContractChanged) as changed:
        run.accept("limit", "100 EUR", source=POLICY, asserted_by="human:kim")
    assert changed.value.evidence["change"] == "reworded"


def test_an_omitted_id_is_a_withdrawal_and_must_be_confirmed(ledger: Ledger) -> None:
    policy = ledger.source("policy:refunds")
    policy.publish("4", {"limit": "100 EUR", "kind": "Be kind"})
    with pytest.raises(ContractChanged) as changed:
        policy.publish("5", {"limit": "100 EUR"})
    assert changed.value.evidence["omitted"] == ["kind"]
    policy.publish("5", {"limit": "50 EUR"}, withdraw=["kind"])
    state = policy.state
    assert [(item.id, item.text) for item in state.items] == [("limit", "50 EUR")]
    assert [gone.id for gone in state.withdrawn] == ["kind"]
    assert policy.publish("5", {"limit": "50 EUR"}).repeated


def test_only_owners_publish_and_withdraw(ledger: Ledger) -> None:
    policy = ledger.source("policy:refunds")
    policy.open(owners=["human:kim"])
    with pytest.raises(AuthorityExceeded):
        policy.publish("1", {"limit": "100 EUR"})
    policy.publish("1", {"limit": "100 EUR"}, by="human:kim")
    with pytest.raises(AuthorityExceeded):
        policy.withdraw("limit", reason="obsolete", by="human:lee")
    with pytest.raises(NotOpen):
        policy.withdraw("other", reason="obsolete", by="human:kim")


def test_an_agent_cannot_publish(ledger: Ledger) -> None:
    policy = ledger.source("policy:refunds", actor=Actor("agent:refunds"))
    with pytest.raises(NotForAgents):
        policy.publish("1", {"limit": "1000000 EUR"})
    assert ledger.source("policy:refunds").state.position == 0


class Accepting(threading.Thread):
    """Accept what the source publishes again and again, each time in somebody else's name."""

    def __init__(
        self, ledger: Ledger, run: str, done: threading.Event, progress: threading.Semaphore
    ) -> None:
        super().__init__()
        self._ledger, self._run, self._done, self._progress = ledger, run, done, progress
        self.error: Exception | None = None

    def run(self) -> None:
        handle, turn = self._ledger.open_run(self._run, "goal"), 0
        limit = Source("policy", "refunds", item="limit")
        while not self._done.is_set():
            turn += 1
            change = "reworded" if handle.contract.constraints else None
            try:
                handle.accept("limit", "100 EUR", source=limit, asserted_by=f"human:k{turn}", change=change)
            except (ContractChanged, GuardMoved):
                continue
            except Exception as error:  # noqa: BLE001 - the test fails on whatever it was
                self.error = error
                return
            self._progress.release()


def test_acceptances_never_follow_a_withdrawal_they_relied_on(store: FullStore) -> None:
    """Acceptances by the thousand race with withdrawals; the global order judges them."""
    ledgers = [Ledger(Edge(store, "default", Actor(f"service:{number}"))) for number in range(5)]
    policy = ledgers[0].source("policy:refunds")
    policy.publish("0", {"limit": "100 EUR"})
    done, progress = threading.Event(), threading.Semaphore(0)
    threads = [Accepting(ledger, f"r{n}", done, progress) for n, ledger in enumerate(ledgers[1:])]
    for thread in threads:
        thread.start()
    for turn in range(1, 81):
        while progress.acquire(blocking=False):
            """What was accepted before this revision does not count."""
        for _ in range(25):
            assert progress.acquire(timeout=60)
        policy.withdraw("limit", reason="race", by="human:kim")
        policy.publish(str(turn), {"limit": "100 EUR"})
    done.set()
    for thread in threads:
        thread.join()
    assert [thread.error for thread in threads] == [None] * 4
    shown(store)
    published_at: int | None = None
    accepted = 0
    for record in ledgers[0].follow():
        event = record.event
        if isinstance(event, SourceRevised):
            published_at = record.position
        elif isinstance(event, ConstraintWithdrawnAtSource):
            published_at = None
        elif isinstance(event, ConstraintAccepted) and event.published:
            accepted += 1
            assert published_at == event.source_position
    assert accepted > 1000


def test_an_observation_the_contract_let_go_of_is_still_told_apart(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("r", "goal")
    for number in range(80):
        run.observe(f"k{number}", number, tool="stock", observed_at=clock.now)
    assert run.observe("k0", 0, tool="stock", observed_at=clock.now).position == 2
    assert run.invalidate("k1", reason="the shelf was moved").position == 82
    with pytest.raises(NotOpen):
        run.invalidate("never seen", reason="x")


def test_a_report_is_decided_again_until_it_is_stored(
    wrapped: Any, ledger: Ledger, open_on: OpenLedger, clock: SetClock
) -> None:
    rival = ledger.open_run("r", "goal")
    unlucky = open_on(store=wrapped).run("r")
    rounds = iter(range(200))

    def overtake(append: Append) -> None:
        number = next(rounds, None)
        if number is not None:
            rival.move(f"n{number}")

    wrapped.before = overtake
    assert unlucky.observe("k", 1, tool="stock", observed_at=clock.now).position == 202


def test_words_that_come_after_others_are_meant_anew(wrapped: Any, open_on: OpenLedger) -> None:
    run = open_on(store=wrapped).open_run("r", "goal")

    def cut() -> None:
        raise StoreUnavailable("the connection was lost at COMMIT")

    wrapped.after = once(cut)
    with pytest.raises(StoreUnavailable):
        run.move("a")
    run.move("b")
    assert run.move("a").position == 4
    assert run.contract.cursor is not None
    assert run.contract.cursor.node == "a"


def test_a_value_that_cannot_describe_itself_is_still_reported(ledger: Ledger, clock: SetClock) -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("no words")

    run = ledger.open_run("r", "goal")
    run.observe("k", Broken(), tool="stock", observed_at=clock.now)
    assert run.contract.observations[0].value.type == "Broken"


def test_a_refusal_is_not_told_on_an_old_source(ledger: Ledger, open_on: OpenLedger) -> None:
    policy = ledger.source("policy:refunds")
    policy.publish("1", {"limit": "100 EUR"})
    run = open_on().open_run("r", "goal")
    policy.withdraw("limit", reason="replaced", by="human:kim")
    with pytest.raises(ContractChanged):
        run.accept("limit", "100 EUR", source=POLICY, asserted_by="human:kim")
    policy.publish("2", {"limit": "100 EUR"})
    run.accept("limit", "100 EUR", source=POLICY, asserted_by="human:kim")
    assert run.contract.constraints[0].published


def test_expected_surfaces_the_conflict_of_a_repeat_too(ledger: Ledger, open_on: OpenLedger) -> None:
    handle = ledger.open_run("r", "goal")
    handle.assume("a", "in stock")
    open_on().run("r").refute("a", evidence="the shelf is empty")
    with pytest.raises(PositionConflict):
        handle.do(MakeAssumption(id="a", text="in stock"), expected=2)


def test_content_that_was_altered_is_not_handed_out(ledger: Ledger, store: FullStore) -> None:
    run = ledger.open_run("r", "goal")
    run.record_message("m", "user", "pay 10")
    digest = run.contract.messages[0].content.digest
    assert digest is not None

    class Altered:
        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def blobs(self, tenant: str, digests: Any) -> dict[bytes, bytes]:
            return dict.fromkeys(digests, b'"pay 9999"')

    other = Ledger(Edge(cast("FullStore", Altered()), "default", Actor("service:tests")))
    for ask in (lambda: other.blob(digest), lambda: other.run("r").load()):
        with pytest.raises(IntegrityError):
            ask()


def test_a_report_on_a_store_that_was_set_back_ends(
    wrapped: Any, ledger: Ledger, open_on: OpenLedger, clock: SetClock
) -> None:
    run = open_on(store=wrapped).open_run("r", "goal")

    def set_back(append: Append) -> None:
        raise PositionConflict("set back", run="r", expected=1, actual=0)

    wrapped.before = set_back
    with pytest.raises(PositionConflict):
        run.observe("k", 1, tool="stock", observed_at=clock.now)


def test_a_snapshot_that_cannot_be_saved_for_any_reason_fails_no_append(
    store: FullStore, open_on: OpenLedger
) -> None:
    class Refusing:
        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def put_snapshot(self, *args: object, **kwargs: object) -> None:
            raise IntegrityError("the page is damaged")

    run = open_on(store=Refusing()).open_run("r", "goal")
    for number in range(20):
        run.move(f"n{number}")
    assert run.contract.tally.steps == 20


def test_limits_of_effects_and_of_refusals_suspend_the_run(ledger: Ledger) -> None:
    claim = ClaimEffect(tool="refund", args="{}", recovery=Recovery.AT_MOST_ONCE, worker="w-1")
    first = claim.model_copy(update={"args": '{"order":1}'})
    for name, limits in (("effects", Limits(effects=1)), ("refusals_in_a_row", Limits(refusals_in_a_row=1))):
        run = ledger.open_run(name, "Refund", limits=limits)
        if name == "effects":
            run.do(first)
        else:
            run.commit_plan(["another step"])
            with pytest.raises(OffPlan):
                run.do(first)
        with pytest.raises(RunIsHeld) as refused:
            run.do(claim)
        assert refused.value.evidence in ({"limit": name}, {"cause": name})
        assert run.contract.suspended is not None
        assert run.contract.suspended.cause == name
