"""The events of the golden file, with fixed contents: of each class a complete one and a smallest one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from ledger import events as e
from ledger import values as v
from ledger.record import Envelope, TermsMark
from ledger.upcasting import ObservationRecordedV1

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
LATER = datetime(2026, 2, 28, 23, 59, 59, 999_999, tzinfo=UTC)
KEY, ACT, HASH = "1a" * 32, "2b" * 32, "3c" * 32
TEXT = 'Zahle nie mehr als 100 €\nohne Rückfrage – "nie"\t\U0001f680\u2028\x00'
COST = {"EUR": Decimal("10.00"), "tokens": Decimal(5000)}
REFS = ("assumption:paid", "effect:" + KEY, "observation:order 17")
RUNTIME = v.Runtime(
    config="c-1",
    context_policy="p-1",
    model="m-1",
    prompt="pr-1",
    runtime="r-1",
    sampling="s-1",
    tool_schema="t-1",
)
RULE = v.Rule(
    allow=("refund",),
    deny=("delete",),
    needs_approval=True,
    require=(
        v.Predicate(operator=v.Operator.AT_MOST, path="/payment/amount", value="100.5"),
        v.Predicate(operator=v.Operator.ONE_OF, path="", value='["EUR","USD"]'),
        v.Predicate(operator=v.Operator.PRESENT, path="/a~1b"),
    ),
    resources=("order:17",),
    tenants=("acme",),
    tools=("refund", "mail"),
)
JSON_VALUE = v.Payload(json_text='{"a":[1,-0.5,1e-7,null,true],"\U0001f680":"\\u0000"}')
BLOB = v.Payload(digest=HASH, size=123_456)
NO_JSON = v.Payload(digest=HASH, size=0, type="decimal.Decimal")
ERROR = v.ErrorSaid(message="card declined\n", type="PaymentError")
COUNTS = {"Prüfung": 2, "node": 0, "\U0001f680": 3, "\ufb01n": 9_007_199_254_740_991}
PUBLISHED = v.Published(id="limit-100", rule=RULE, text=TEXT)
STEP = v.Step(description="Pay back", name="refund", rests_on=REFS, tool="refund")

COMPLETE: tuple[e.Event, ...] = (
    e.RunOpened(
        goal=TEXT,
        labels={"team": "rückgabe", "a": ""},
        limits=v.Limits(effects=1, refusals_in_a_row=2, steps=3, wall_seconds=4),
        owner="human:kim",
        parent=e.Parent(position=7, relation="child", root="run-0", run="run-1"),
        rests_on=REFS,
        runtime=RUNTIME,
        thread="thread 1",
    ),
    e.RunSuspended(by="human:kim", cause="wall_seconds", reason=TEXT),
    e.RunResumed(gap_seconds=3600, incarnation=2, prompt_digest=HASH, runtime=RUNTIME, take_over=True),
    e.ResumeRefused(
        reasons=(
            e.Reason(
                cleared_by="authority.renewed",
                kind="authority_expired",
                position=4,
                since=NOON,
                what=TEXT,
                who="human:kim",
            ),
        ),
        verdict=v.Verdict.REAPPROVE,
    ),
    e.RunForked(at=12, by="human:kim", hash=HASH, origin="run-1", reason=TEXT),
    e.RunRestarted(
        by="human:kim",
        dropped=(e.Dropped(reason=TEXT, ref="constraint:limit-100"),),
        effects_done=3,
        predecessor="run-1",
        predecessor_hash=HASH,
        predecessor_position=40,
        reason=TEXT,
        unsettled=(
            e.InheritedEffect(
                act=ACT,
                attempt=2,
                key=KEY,
                position=9,
                recovery=v.Recovery.QUERYABLE,
                run="run-1",
                status="unknown",
                tool="refund",
            ),
        ),
    ),
    e.RunClosed(
        by="human:kim",
        obligations=("tell-customer",),
        outcome=v.Ending.RESTARTED,
        reason=TEXT,
        result=JSON_VALUE,
        successor="run-2",
        unsettled=(KEY,),
    ),
    e.GoalRevised(by="human:kim", reason=TEXT, rests_on=REFS, text=TEXT),
    e.PlanCommitted(by="human:kim", reason=TEXT, steps=(STEP, v.Step(name="mail"))),
    e.PlanRevised(by="human:kim", reason=TEXT, steps=(STEP,)),
    e.ConstraintAccepted(
        accepted_by="agent:refunds",
        asserted_at=NOON,
        asserted_by="human:kim",
        change=v.Change.TIGHTENED,
        id="limit-100",
        published=False,
        rule=RULE,
        source=v.Source("policy", "refunds", item="limit", revision="4"),
        source_position=0,
        supersedes=3,
        text=TEXT,
        valid_from=NOON,
        valid_until=LATER,
    ),
    e.ConstraintWithdrawn(by="human:kim", id="limit-100", reason=TEXT),
    e.RevisionAcknowledged(
        by="human:kim",
        reason=TEXT,
        source=v.Source("policy", "refunds", item="limit", revision="5"),
        source_position=6,
    ),
    e.AssumptionMade(by="agent:refunds", id="paid", rests_on=REFS, text=TEXT),
    e.AssumptionRefuted(by="human:kim", evidence=TEXT, id="paid", occurred_at=NOON),
    e.ObligationOpened(
        because="effect:" + KEY, by="human:kim", due=LATER, id="tell", owed_to="customer:17", text=TEXT
    ),
    e.ObligationDischarged(by="human:kim", evidence=TEXT, id="tell", refs=REFS),
    e.ObligationWaived(by="customer:17", id="tell", reason=TEXT),
    e.ObligationTransferred(by="human:kim", id="tell", reason=TEXT, to="human:lee"),
    e.AuthorityGranted(
        budget=COST,
        carved_from=e.GrantOrigin(id="g-0", position=2, run="run-0"),
        expires_at=LATER,
        granted_by="human:kim",
        id="g-1",
        on_resume="continue",
        principal="agent:refunds",
        scopes=("refund", "mail:*"),
        session="s-1",
    ),
    e.AuthorityRenewed(
        add_budget=COST, by="human:kim", expires_at=LATER, id="g-1", reason=TEXT, session="s-2"
    ),
    e.AuthorityRevoked(by="human:kim", id="g-1", reason=TEXT),
    e.ObservationRecorded(
        args='{"deep":[1,-0.5,null],"order":17,"\U0001f680":""}',
        args_digest=HASH,
        cost=COST,
        fresh_for=600,
        key="order 17",
        observed_at=NOON - timedelta(seconds=1),
        occurrence="again",
        rests_on=REFS,
        runtime=RUNTIME,
        step="look",
        tool="get_order",
        value=JSON_VALUE,
        witnessed=False,
    ),
    e.ObservationInvalidated(by="human:kim", key="order 17", reason=TEXT),
    e.ApprovalRequested(
        expires_at=LATER, id="a-1", key=KEY, question=TEXT, runtime_digest=HASH, tool_schema=ACT
    ),
    e.ApprovalAnswered(answer="denied", by="human:kim", id="a-1", occurred_at=NOON, reason=TEXT),
    e.EffectIntended(
        act=ACT,
        approval="a-1",
        args='{"amount":"10.00","order":17}',
        authority=("g-1",),
        dedupes_for=86_400,
        given="refund of order 17",
        key=KEY,
        key_scheme="v1",
        max_attempts=3,
        occurrence="second parcel",
        recovery=v.Recovery.IDEMPOTENT,
        repeat_reason=TEXT,
        reserved=COST,
        resource="order:17",
        rests_on=REFS,
        settle_seconds=30,
        source_positions={"policy:refunds": 4, "policy:zürich": 0},
        step="refund",
        tool="refund",
        tool_schema=HASH,
        undone_by=HASH,
        witnessed=False,
    ),
    e.EffectStarted(
        attempt=2,
        key=KEY,
        lease_until=LATER,
        root="run-0",
        source_positions={"policy:refunds": 4},
        worker="host-1/7",
    ),
    e.EffectSucceeded(attempt=2, cost=COST, external_ref="re_123", key=KEY, occurred_at=NOON, result=BLOB),
    e.EffectFailed(attempt=1, cost=COST, error=ERROR, key=KEY, occurred_at=NOON),
    e.EffectUnknown(attempt=1, because="lease_lapsed", error=ERROR, key=KEY),
    e.EffectReconciled(
        attempt=1,
        by="human:kim",
        cost=COST,
        evidence=TEXT,
        external_ref="re_123",
        found="happened",
        key=KEY,
        method="probe",
        result=NO_JSON,
    ),
    e.EffectDisputed(
        act=ACT,
        attempt=1,
        error=ERROR,
        key=KEY,
        occurred_at=NOON,
        recovery=v.Recovery.AT_MOST_ONCE,
        reported="did_not_happen",
        reported_by="host-1/7",
        result=JSON_VALUE,
        settled_at=11,
        tool="refund",
    ),
    e.EffectCompensated(by="human:kim", key=KEY, reason=TEXT, undone_by=HASH),
    e.EffectRefused(
        act=ACT,
        args='{"amount":1e+21}',
        evidence={"constraint": "limit-100", "limit": "100 €"},
        key=KEY,
        position=3,
        rule="constraint_violated",
        step="refund",
        tool="refund",
    ),
    e.CursorMoved(
        branches=(v.Branch(name="left", node="n-1", round=2), v.Branch(name="right", node="n-2")),
        budget_left=COST,
        needs=REFS,
        next=("n-3", "n-4"),
        node="n-2",
        on_denied="n-9",
        retries=COUNTS,
        round=3,
        state=HASH,
        visited=COUNTS,
        waits_for=("approval:a-1",),
    ),
    e.MessageRecorded(content=BLOB, id="m-1", role="tool", tokens=17),
    e.MessagesSummarised(content=BLOB, count=12, through="m-1"),
    e.RuntimeAdopted(by="human:kim", reason=TEXT, runtime=RUNTIME),
    e.SourceOpened(owners=("human:kim", "service:policy"), source="policy:refunds"),
    e.SourceRevised(
        added=(PUBLISHED,),
        by="human:kim",
        reason=TEXT,
        revision="4",
        reworded=(v.Published(id="b", text="Be kind"),),
        withdrawn=("c",),
    ),
    e.ConstraintWithdrawnAtSource(by="human:kim", id="limit-100", reason=TEXT),
    e.ReviewSigned(by="human:lee", hash=HASH, head=41, meaning="objection", note=TEXT),
    e.ForeignRecorded(originator_version=-1, state="AP8Q+/9=", topic="shop.orders:Order.Placed"),
    e.AuthorityCarved(budget=COST, by="human:kim", id="g-1", run="run-2"),
    e.AuthorityReturned(budget=COST, by="human:kim", id="g-1", run="run-2"),
    e.RunRefused(code="schema_mismatch", found=2, position=7, run="run-1", supported=1, what=TEXT),
    e.ContentExpired(
        by="human:kim",
        classes=("message", "result"),
        cutoff=NOON,
        digests=(HASH, HASH[0] + "0" * 63),
        prefix=HASH[0],
        reason=TEXT,
        run="run-1",
    ),
)

MINIMAL: tuple[e.Event, ...] = (
    e.RunOpened(goal="x"),
    e.RunSuspended(cause="asked", reason="x"),
    e.RunResumed(gap_seconds=0, incarnation=2, prompt_digest=HASH),
    e.ResumeRefused(reasons=(e.Reason(cleared_by="c", kind="k", what="w"),), verdict=v.Verdict.REFUSE),
    e.RunForked(at=1, hash=HASH, origin="r"),
    e.RunRestarted(
        by="human:kim",
        effects_done=0,
        predecessor="r",
        predecessor_hash=HASH,
        predecessor_position=1,
        reason="x",
    ),
    e.RunClosed(outcome=v.Ending.COMPLETED),
    e.GoalRevised(by="human:kim", reason="x", text="x"),
    e.PlanCommitted(steps=(v.Step(name="s"),)),
    e.PlanRevised(reason="x", steps=(v.Step(name="s"),)),
    e.ConstraintAccepted(accepted_by="agent:a", asserted_by="human:kim", id="c", text="x"),
    e.ConstraintWithdrawn(by="human:kim", id="c", reason="x"),
    e.RevisionAcknowledged(by="human:kim", source=v.Source("policy", "p"), source_position=1),
    e.AssumptionMade(id="a", text="x"),
    e.AssumptionRefuted(evidence="x", id="a"),
    e.ObligationOpened(id="o", owed_to="customer:1", text="x"),
    e.ObligationDischarged(evidence="x", id="o"),
    e.ObligationWaived(by="human:kim", id="o", reason="x"),
    e.ObligationTransferred(by="human:kim", id="o", reason="x", to="human:lee"),
    e.AuthorityGranted(granted_by="human:kim", id="g", principal="agent:a", scopes=("s",)),
    e.AuthorityRenewed(by="human:kim", id="g"),
    e.AuthorityRevoked(by="human:kim", id="g", reason="x"),
    e.ObservationRecorded(key="k", observed_at=NOON, tool="t", value=v.Payload(json_text="null")),
    e.ObservationInvalidated(key="k", reason="x"),
    e.ApprovalRequested(id="a", key=KEY),
    e.ApprovalAnswered(answer="approved", by="human:kim", id="a"),
    e.EffectIntended(
        act=ACT, args="{}", key=KEY, key_scheme="given", recovery=v.Recovery.AT_MOST_ONCE, tool="t"
    ),
    e.EffectStarted(attempt=1, key=KEY, lease_until=NOON, root="r", worker="w"),
    e.EffectSucceeded(attempt=1, key=KEY),
    e.EffectFailed(attempt=1, error=v.ErrorSaid(message="", type="E"), key=KEY),
    e.EffectUnknown(attempt=1, because="stopped", key=KEY),
    e.EffectReconciled(attempt=1, evidence="x", found="unknown", key=KEY, method="probe"),
    e.EffectDisputed(act=ACT, attempt=1, key=KEY, recovery=v.Recovery.READ_ONLY, reported="failed", tool="t"),
    e.EffectCompensated(key=KEY, undone_by=HASH),
    e.EffectRefused(rule="off_plan", tool="t"),
    e.CursorMoved(node="n"),
    e.MessageRecorded(content=v.Payload(json_text='""'), id="m", role="user"),
    e.MessagesSummarised(content=v.Payload(digest=HASH), count=0, through="m"),
    e.RuntimeAdopted(by="human:kim", reason="x", runtime=v.Runtime()),
    e.SourceOpened(source="policy:p"),
    e.SourceRevised(revision="1"),
    e.ConstraintWithdrawnAtSource(by="human:kim", id="c", reason="x"),
    e.ReviewSigned(by="human:kim", hash=HASH, head=1, meaning="noted"),
    e.ForeignRecorded(originator_version=1, state="", topic=""),
    e.AuthorityCarved(by="human:kim", id="g", run="r"),
    e.AuthorityReturned(budget={}, by="human:kim", id="g", run="r"),
    e.RunRefused(code="chain_broken", run="r", what="x"),
    e.ContentExpired(by="human:kim", cutoff=NOON, digests=(HASH,), prefix=HASH[0], reason="x"),
)

OLD_COMPLETE: tuple[e.Event, ...] = (
    ObservationRecordedV1(
        args_digest=HASH,
        cost=COST,
        fresh_for=600,
        key="order 17",
        observed_at=NOON - timedelta(seconds=1),
        occurrence="again",
        rests_on=REFS,
        runtime=RUNTIME,
        step="look",
        tool="get_order",
        value=JSON_VALUE,
        witnessed=False,
    ),
)
"""Of shapes that were written before and are only read."""

OLD_MINIMAL: tuple[e.Event, ...] = (
    ObservationRecordedV1(key="k", observed_at=NOON, tool="t", value=v.Payload(json_text="null")),
)

FULL_ENVELOPE = Envelope(
    tenant="acme – Zürich",
    run="refund-17",
    position=42,
    prev=bytes(range(32)),
    id="0193fa5e-7b00-7000-8000-000000000042",
    at=datetime(2026, 1, 31, 12, 0, 0, 1, tzinfo=UTC),
    actor=v.Actor(
        "agent:refunds",
        authenticated_by="mtls",
        on_behalf_of=("service:desk", "human:kim"),
        role="clerk",
        session="s-1",
    ),
    causation="0193fa5e-7b00-7000-8000-000000000041",
    correlation="order 17",
    terms=TermsMark(digest="v1:" + "4d" * 32, position=40),
    about=("subject:17", "konto:€"),
)
SMALL_ENVELOPE = Envelope(
    "default", "r", 1, bytes(32), "e", datetime(1, 1, 1, tzinfo=UTC), v.Actor("service:s")
)
