"""Laws of effects: whatever is asked and told in which order at which time, nothing begins twice blindly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise

from hypothesis import given as draws
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from ledger import commands as c
from ledger import events as e
from ledger.record import Record
from ledger.run.decision import Admitted, Refusal
from ledger.run.history import history_of
from ledger.run.known import Status
from ledger.testing import given
from ledger.values import Ending, ErrorSaid, Payload, Recovery
from tests.run import examples as x
from tests.run.claiming import NO, Run, begun, claim, key_of, looked_at, started, successor

BUDGET = {"EUR": Decimal(25)}
FUNDED = given(x.opened(), x.granted(principal="service:test", budget=BUDGET))
STEPS = st.sampled_from(["a", "b"])
SPANS = st.sampled_from([0, 1, 29, 30, 31, 60, 100, 3600])
ATTEMPTS = st.integers(1, 4)
SETTLED = ("succeeded", "failed", "did_not_happen")

CLAIMS = st.builds(
    claim,
    step=STEPS,
    recovery=st.sampled_from(
        [Recovery.IDEMPOTENT, Recovery.IDEMPOTENT, Recovery.QUERYABLE, Recovery.AT_MOST_ONCE]
    ),
    dedupes_for=st.sampled_from([None, 60, 100]),
    max_attempts=st.sampled_from([1, 2]),
    settle_seconds=st.sampled_from([None, 0]),
    repeat_reason=st.sampled_from([None, None, "on purpose"]),
    reserved=st.sampled_from([None, {"EUR": Decimal(10)}]),
    worker=st.sampled_from(["w-1", "w-2"]),
)
KEYS = STEPS.map(lambda step: key_of(FUNDED, claim(step=step)))
PAYLOADS = st.sampled_from([None, x.ANSWER, Payload(json_text="1")])
COSTS = st.sampled_from([None, {"EUR": Decimal(7)}, {"EUR": Decimal(10)}])
ERRORS = st.sampled_from([ErrorSaid(message="no", type="No"), ErrorSaid(message="never", type="No")])
OUTCOMES: st.SearchStrategy[c.Command] = st.one_of(
    st.builds(c.ReportSuccess, attempt=ATTEMPTS, key=KEYS, result=PAYLOADS),
    st.builds(c.ReportFailure, attempt=ATTEMPTS, key=KEYS, error=ERRORS),
    st.builds(
        c.ReportUnknown,
        attempt=ATTEMPTS,
        key=KEYS,
        because=st.sampled_from(["inconclusive", "lease_lapsed", "raised", "stopped"]),
    ),
    st.builds(
        c.ReconcileEffect,
        evidence=st.sampled_from(["asked", "asked again"]),
        found=st.sampled_from(["did_not_happen", "happened", "unknown"]),
        key=KEYS,
        method=st.sampled_from(["probe", "person"]),
        result=PAYLOADS,
    ),
)


def in_doubt(records: Sequence[Record], key: str) -> Iterator[tuple[Record, list[Record]]]:
    """Pair each start of an effect with the earlier starts that nothing said did not happen."""
    open_: list[Record] = []
    for record in records:
        event = record.event
        if getattr(event, "key", None) != key:
            continue
        if isinstance(event, e.EffectStarted):
            yield record, list(open_)
            open_.append(record)
        elif isinstance(event, e.EffectFailed):
            open_ = [one for one in open_ if one.event.attempt != event.attempt]  # type: ignore[attr-defined]
        elif isinstance(event, e.EffectReconciled) and event.found == "did_not_happen":
            open_ = []


def declared(records: Sequence[Record], key: str, until: Record) -> list[e.EffectIntended]:
    """List what was declared for the attempts of an effect, the last one that of this start."""
    events = [record.event for record in records[: records.index(until)]]
    return [event for event in events if isinstance(event, e.EffectIntended) and event.key == key]


def assert_nothing_began_twice_blindly(records: Sequence[Record], key: str) -> None:
    for start, doubtful in in_doubt(records, key):
        assert isinstance(start.event, e.EffectStarted)
        assert start.event.lease_until > start.at
        if not doubtful:
            continue
        tools = declared(records, key, start)[-len(doubtful) - 1 :]
        assert {tool.recovery for tool in tools} == {Recovery.IDEMPOTENT}
        for first, tool in zip(doubtful, tools, strict=False):
            if tool.dedupes_for is not None:
                # The last moment at which this worker may send is one at which the outside remembers.
                assert (start.event.lease_until - first.at).total_seconds() <= tool.dedupes_for


def assert_attempts_are_counted(records: Sequence[Record], key: str) -> None:
    attempts = [
        record.event.attempt
        for record in records
        if isinstance(record.event, e.EffectStarted) and record.event.key == key
    ]
    # A report about an attempt that nobody began takes its number, so there may be gaps.
    assert attempts == sorted(set(attempts))


def assert_contradictions_are_disputes(records: Sequence[Record], key: str) -> None:
    """No effect goes from one settled outcome to another but through a dispute, or a new attempt."""
    statuses: list[Status] = []
    for count in range(1, len(records) + 1):
        known = history_of(key, records[:count])
        if known is not None and statuses[-1:] != [known.status]:
            statuses.append(known.status)
    for one, other in pairwise(statuses):
        if one in SETTLED:
            assert other in ("disputed", "pending")
            assert one != "succeeded" or other == "disputed"
        if one == "disputed":
            assert other in ("succeeded", "did_not_happen")


class Effects(RuleBasedStateMachine):
    """One run, two steps, two workers: what is decided keeps every promise about its effects."""

    def __init__(self) -> None:
        super().__init__()
        self.run: Run = FUNDED

    def ask(self, command: c.Command) -> None:
        first = self.run.when(command)
        self.run = first.after
        if not command.report:
            return
        known = history_of(command.key, self.run.records)  # type: ignore[attr-defined]
        if known is None:
            assert isinstance(first.decision, Refusal)
            return
        assert isinstance(first.decision, Admitted)
        again = self.run.when(command).decision
        assert isinstance(again, Admitted)
        assert again.events == ()

    @rule(command=CLAIMS, wait=SPANS)
    def claim(self, command: c.Command, wait: float) -> None:
        self.run = self.run.later(seconds=wait)
        self.ask(command)

    @rule(command=OUTCOMES)
    def tell(self, command: c.Command) -> None:
        self.ask(command)

    @rule(step=STEPS, cost=COSTS)
    def succeed(self, step: str, cost: dict[str, Decimal] | None) -> None:
        """Report as the worker of the last attempt, at no higher cost than it set aside."""
        effect = next((one for one in self.run.contract.effects if one.step == step), None)
        if effect is None or effect.attempt == 0:
            return
        spent = cost if effect.reserved else None
        self.ask(c.ReportSuccess(attempt=effect.attempt, cost=spent, key=effect.key))

    @rule(wait=st.sampled_from([30, 31, 45]))
    def send_again(self, wait: float) -> None:
        """Claim what the outside dedupes for a minute, as its lease lapses and it is soon forgotten."""
        self.run = self.run.later(seconds=wait)
        self.ask(claim(step="a", recovery=Recovery.IDEMPOTENT, dedupes_for=60, repeat_reason="on purpose"))

    @rule()
    def fail_the_last(self) -> None:
        for effect in self.run.contract.effects:
            if effect.attempt:
                self.ask(c.ReportFailure(attempt=effect.attempt, error=NO, key=effect.key))

    @invariant()
    def contract_and_history_agree(self) -> None:
        held = {effect.key: effect for effect in self.run.contract.effects}
        for step in ("a", "b"):
            key = key_of(FUNDED, claim(step=step))
            known, effect = history_of(key, self.run.records), held.pop(key, None)
            assert (effect is None) == (known is None or known.is_settled)
            if known is not None and effect is not None:
                assert (effect.status, effect.attempt) == (known.status, known.attempt)
                assert effect.at == known.at
                if known.status != "disputed":
                    assert effect.since_attempt == known.since_attempt
        assert held == {}

    @invariant()
    def no_budget_is_overdrawn(self) -> None:
        (grant,) = self.run.contract.grants
        used = sum(
            ((amounts or {}).get("EUR", Decimal(0)) for amounts in (grant.spent, grant.reserved)), Decimal(0)
        )
        assert used <= BUDGET["EUR"]

    @invariant()
    def nothing_begins_twice_blindly(self) -> None:
        for step in ("a", "b"):
            key = key_of(FUNDED, claim(step=step))
            assert_nothing_began_twice_blindly(self.run.records, key)
            assert_attempts_are_counted(self.run.records, key)

    def teardown(self) -> None:
        for step in ("a", "b"):
            assert_contradictions_are_disputes(self.run.records, key_of(FUNDED, claim(step=step)))


TestEffects = Effects.TestCase
TestEffects.settings = settings(stateful_step_count=25)


class Lineage(RuleBasedStateMachine):
    """A run and its successors at one key, each decided on what all of them recorded in one order.

    An ancestor's worker goes on reporting to its own run, which looks up only what it does not wait for.
    """

    runs = Bundle("runs")

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.alive: dict[str, Run] = {}
        self.order: list[Record] = []

    @initialize(target=runs, command=CLAIMS)
    def open(self, command: c.ClaimEffect) -> str:
        run = given(x.opened(), run="run-1")
        self._keep(run)
        self._keep(begun(run, command.with_fields({"step": "a", "reserved": None})))
        return "run-1"

    @rule(target=runs)
    def restart(self) -> str:
        last = self.alive[self.names[-1]]
        if len(self.names) > 3:
            return self.names[-1]
        heir = successor(last, run=f"run-{len(self.names) + 1}")
        self._keep(last.also(e.RunClosed(outcome=Ending.RESTARTED, successor=heir.stream)))
        self._keep(heir)
        return heir.stream

    @rule(name=runs, command=CLAIMS, wait=SPANS)
    def claim(self, name: str, command: c.ClaimEffect, wait: float) -> None:
        for one, run in self.alive.items():
            self.alive[one] = run.later(seconds=wait)
        self._ask(name, command.with_fields({"step": "a", "reserved": None}))

    @rule(name=runs, command=OUTCOMES)
    def tell(self, name: str, command: c.Command) -> None:
        self._ask(name, command.with_fields({"key": KEY}))

    def _ask(self, name: str, command: c.Command) -> None:
        run = self.alive[name]
        others = [self.alive[one] for one in self.names if one != name]
        looked = looked_at(run, command, None, *others, order=self.order)
        decided = run.when(command, looked=looked)
        if command.report:
            assert isinstance(decided.decision, Admitted)
        self._keep(decided.after)

    def _keep(self, run: Run) -> None:
        before = self.alive.get(run.stream)
        if before is None:
            self.names.append(run.stream)
        self.order += run.records[0 if before is None else before.position :]
        self.alive[run.stream] = run

    @invariant()
    def nothing_begins_twice_blindly(self) -> None:
        assert_nothing_began_twice_blindly(self.order, KEY)
        assert_attempts_are_counted(self.order, KEY)

    def teardown(self) -> None:
        assert_contradictions_are_disputes(self.order, KEY)
        self._settle_by_hand()

    def _settle_by_hand(self) -> None:
        """Whatever happened, a person in the last run settles it, in its contract and for the lineage."""
        name = self.names[-1]
        self.alive[name] = self.alive[name].later(days=9)
        for words in ("one look", "another look"):
            word = c.ReconcileEffect(
                by="human:kim", evidence=words, found="happened", key=KEY, method="person"
            )
            self._ask(name, word)
        known = history_of(KEY, self.order)
        assert known is not None
        assert known.status == "succeeded"
        assert self.alive[name].contract.effects == ()
        assert started(self.alive[name].when(claim(step="a"), looked=self._looked(name))) is None

    def _looked(self, name: str):  # type: ignore[no-untyped-def]
        return looked_at(self.alive[name], claim(step="a"), order=self.order)


KEY = key_of(given(x.opened()), claim(step="a"))
TestLineage = Lineage.TestCase
TestLineage.settings = settings(stateful_step_count=25)


@draws(told=st.lists(OUTCOMES, max_size=6), wait=SPANS, command=CLAIMS)
def test_a_settled_act_is_begun_again_by_nobody(
    told: list[c.Command], wait: float, command: c.Command
) -> None:
    first = claim(step="a")
    run = begun(FUNDED, first).when(c.ReportSuccess(attempt=1, key=KEY)).after
    for one in told:
        run = run.when(one).after
    known = history_of(KEY, run.records)
    assert known is not None
    if known.status == "succeeded":
        run = run.later(seconds=wait)
        assert started(run.when(command.with_fields({"step": "a"}))) is None
