"""The run of the golden ledger in which something of every kind happens, and what its other runs share."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any

from ledger import commands as c
from ledger import events as e
from ledger import values as v
from ledger.application.ledger import Ledger
from ledger.application.runs import Run
from ledger.errors import OffPlan

KIM, LEE = "human:kim", "human:lee"
AGENT = v.Actor("agent:refunds", session="s-1", on_behalf_of=(KIM,))
LIMIT, KIND = "Never refund more than 100 EUR – \u201enie\u201c", "Be kind"
POLICY = v.Source("policy", "refunds", revision="1")
RUNTIME = v.Runtime(model="m-1", prompt="p-1", runtime="r-1", sampling="t=0")
WIRE = v.Rule(
    tools=("wire",), require=(v.Predicate(operator=v.Operator.AT_MOST, path="/amount", value="100"),)
)
EUR_10 = {"EUR": Decimal("10.00")}


class World:
    """The clock that ticks with each look at it, and ids that count."""

    def __init__(self) -> None:
        self._now = datetime(2026, 3, 1, 8, 0, 0, 1, tzinfo=UTC)
        self._numbers = count(1)

    def clock(self) -> datetime:
        """Return a moment that is a second after the one before."""
        self._now += timedelta(seconds=1)
        return self._now

    def pass_by(self, **span: float) -> None:
        """Let time go by."""
        self._now += timedelta(**span)

    def id(self) -> str:
        """Return the next id."""
        return f"event-{next(self._numbers):04}"


def claim(run: Run, tool: str, args: str, worker: str = "worker-1", **more: Any) -> str:
    """Claim an act in the name of a worker, and return its key."""
    fields = {"recovery": v.Recovery.QUERYABLE, "settle_seconds": 30, **more}
    stated = run.do(c.ClaimEffect(tool=tool, args=args, worker=worker, **fields))
    return next(found.event.key for found in stated.records if isinstance(found.event, e.EffectStarted))


def bring(ledger: Ledger, run: str, *events: e.Event, **more: Any) -> None:
    """Import events at the end of a run."""
    page = ledger.runs(prefix=run)
    expected = next((found.position for found in page.runs if found.run == run), 0)
    ledger.import_events(run, events, expected=expected, **more)


def refund(ledger: Ledger, world: World) -> None:
    """Let something of every kind happen, and leave open all that an open run can."""
    run = ledger.open_run(
        "order-17",
        "Refund order 17",
        actor=AGENT,
        owner=KIM,
        labels={"team": "Rückgabe"},
        limits=v.Limits(steps=500, wall_seconds=10**9),
        runtime=RUNTIME,
        thread="thread 1",
        rests_on=("assumption:returned",),
        about=("subject:17",),
    )
    desk = ledger.run("order-17")
    run.assume("returned", "The goods came back", by=LEE)
    run.assume("reachable", "The customer reads mails")
    run.accept("limit", LIMIT, source=POLICY, asserted_by=KIM)
    run.accept("kind", KIND, source=v.Source("policy", "refunds", item="kind"), asserted_by=KIM)
    run.accept("hours", "Only by day", source=POLICY, asserted_by=KIM)
    run.accept("tone", "No jokes", asserted_by=LEE, valid_until=datetime(2027, 1, 1, tzinfo=UTC))
    desk.accept("tone", "No jokes at all", asserted_by=LEE, change=v.Change.TIGHTENED)
    desk.accept("gone", "Ask twice", asserted_by=LEE)
    desk.withdraw("gone", reason="goes without saying", by=LEE)
    desk.grant(
        "refunds",
        principal="agent:refunds",
        scopes=("refund", "mail", "look"),
        granted_by=KIM,
        budget={"EUR": "100", "mails": 10},
        expires_at=datetime(2026, 3, 2, tzinfo=UTC),
        session="s-1",
    )
    desk.grant("old", principal="agent:*", scopes=("look",), granted_by=KIM)
    desk.renew("refunds", by=KIM, add_budget={"EUR": 50}, reason="two parcels")
    desk.revoke("old", reason="not needed", by=KIM)
    run.commit_plan(
        [
            v.Step(name="look", tool="look", rests_on=("observation:stock",)),
            v.Step(name="pay", tool="refund", rests_on=("assumption:returned",)),
            v.Step(name="tell", tool="mail", description="Say so"),
        ],
        reason="as always",
    )
    _seen(run, world)
    _done(run, desk, world)
    _said(run)
    _open(ledger, run, desk, world)


def _seen(run: Run, world: World) -> None:
    run.perform(
        "look",
        {"order": 17, "deep": {"ä": [1, 2.5, None]}},
        lambda order, deep: {"left": 3},
        recovery=v.Recovery.READ_ONLY,
        step="look",
        fresh_for=600,
    )
    run.observe(
        "stock",
        {"left": 3},
        tool="count",
        observed_at=world.clock(),
        fresh_for=60,
        args_digest="ab" * 32,
        occurrence="first",
        rests_on=("assumption:returned",),
        step="look",
    )
    run.observe("stock", {"left": 2}, tool="count", observed_at=world.clock(), fresh_for=60)
    run.observe("weather", "x" * 5000, tool="look", observed_at=world.clock(), cost={"EUR": Decimal("0.01")})
    run.observe("page", "y" * 80_000, tool="look", observed_at=world.clock(), fresh_for=0)
    run.observe("answer", "yes", tool="model", observed_at=world.clock(), runtime=RUNTIME)
    run.invalidate("weather", reason="broken sensor", by=LEE)


def _done(run: Run, desk: Run, world: World) -> None:
    """Claim effects and report every outcome."""
    paid = claim(
        run,
        "refund",
        '{"amount":"10.00","order":17}',
        step="pay",
        reserved=EUR_10,
        resource="order:17",
        rests_on=("assumption:returned",),
        tool_schema="cd" * 32,
    )
    run.do(
        c.ReportSuccess(
            attempt=1,
            key=paid,
            cost=EUR_10,
            external_ref="re_17",
            result=v.Payload(json_text='{"id":"re_17"}'),
            worker="worker-1",
        )
    )
    failed = claim(
        run,
        "mail",
        '{"to":"customer:17"}',
        step="tell",
        max_attempts=2,
        recovery=v.Recovery.IDEMPOTENT,
        dedupes_for=86_400,
        reserved={"mails": 1},
    )
    run.do(c.ReportFailure(attempt=1, key=failed, error=v.ErrorSaid(message="no such box", type="NoBox")))
    claim(
        run,
        "mail",
        '{"to":"customer:17"}',
        step="tell",
        max_attempts=2,
        worker="worker-2",
        recovery=v.Recovery.IDEMPOTENT,
        dedupes_for=86_400,
        reserved={"mails": 1},
    )
    run.do(c.ReportFailure(attempt=2, key=failed, error=v.ErrorSaid(message="no such box", type="NoBox")))
    _asked(run, desk, world)
    disputed = claim(run, "mail", '{"to":"human:kim"}', step="tell", given="note to Kim")
    run.do(c.ReportSuccess(attempt=1, key=disputed, worker="worker-1"))
    run.do(
        c.ReportFailure(
            attempt=1,
            key=disputed,
            worker="worker-2",
            error=v.ErrorSaid(message="late bounce", type="Bounced"),
        )
    )
    with suppress(OffPlan):  # what is wanted here is that the refusal is recorded
        claim(run, "burn", "{}", step="burn")


def _asked(run: Run, desk: Run, world: World) -> None:
    """Leave an outcome unknown twice, and find it out in two ways."""
    asked = claim(run, "refund", '{"amount":"5.00","order":17}', step="pay", occurrence="second parcel")
    run.do(
        c.ReportUnknown(
            attempt=1,
            because="raised",
            key=asked,
            error=v.ErrorSaid(message="timed out", type="TimeoutError"),
        )
    )
    world.pass_by(minutes=5)
    run.do(
        c.ReconcileEffect(evidence="nothing at the bank", found="did_not_happen", key=asked, method="probe")
    )
    claim(run, "refund", '{"amount":"5.00","order":17}', step="pay", occurrence="second parcel")
    run.do(c.ReportUnknown(attempt=2, because="stopped", key=asked))
    desk.do(
        c.ReconcileEffect(
            evidence="the bank's statement",
            found="happened",
            key=asked,
            by=KIM,
            method="person",
            external_ref="re_18",
            cost={"EUR": Decimal(5)},
        )
    )


def _said(run: Run) -> None:
    for number in range(1, 13):
        role = ("system", "user", "assistant", "tool")[number % 4]
        run.record_message(f"m-{number}", role, {"text": f"Message {number} – \U0001f4e6"}, tokens=number)
    run.summarise("They talked about parcels.", through="m-8")
    run.promise("tell", "Mail the customer", owed_to="customer:17", due=datetime(2026, 3, 3, tzinfo=UTC))
    for id in ("call", "file", "count"):
        run.promise(id, f"To {id} it", owed_to=LEE)
    run.discharge("call", evidence="call 9", refs=("observation:stock",))


def _open(ledger: Ledger, run: Run, desk: Run, world: World) -> None:
    desk.waive("file", reason="no need", by=LEE)
    desk.transfer("count", to="agent:stock", reason="not ours", by=LEE)
    run.refute("reachable", evidence="the mail came back", by=LEE)
    desk.revise_goal(
        "Refund order 17 and call the customer",
        reason="mails come back",
        by=KIM,
        rests_on=("assumption:returned",),
    )
    run.revise_plan(
        [
            v.Step(name="pay", tool="refund"),
            v.Step(name="call", tool="phone"),
            v.Step(name="tell", tool="mail"),
        ],
        reason="mails come back",
    )
    desk.adopt_runtime(v.Runtime(model="m-2", prompt="p-1"), reason="upgrade", by=KIM)
    undone = claim(run, "refund", '{"amount":"1.00","order":17}', step="pay", reserved={"EUR": Decimal(1)})
    run.do(c.ReportSuccess(attempt=1, key=undone))
    back = claim(run, "mail", '{"about":"re_19"}', step="tell", undone_by=None)
    lapsed = claim(
        run,
        "mail",
        '{"about":"re_20"}',
        step="tell",
        lease_seconds=5,
        max_attempts=3,
        recovery=v.Recovery.AT_MOST_ONCE,
    )
    unknown = claim(run, "mail", '{"about":"re_21"}', step="tell", recovery=v.Recovery.AT_MOST_ONCE)
    run.do(c.ReportUnknown(attempt=1, because="inconclusive", key=unknown))
    bring(
        ledger,
        "order-17",
        e.EffectCompensated(key=undone, undone_by=back, by=KIM, reason="too much"),
        e.ApprovalRequested(id="ok-1", key=lapsed, question="Write again?", tool_schema="ef" * 32),
        e.ApprovalAnswered(id="ok-1", answer="approved", by=KIM),
        e.ApprovalRequested(id="ok-2", key=unknown, expires_at=datetime(2026, 3, 5, tzinfo=UTC)),
    )
    desk = ledger.run("order-17")
    desk.accept("wire", "Wire no more than 100", source=POLICY, asserted_by=KIM, rule=WIRE)
    desk.move(
        "pay",
        round=2,
        next=("call",),
        needs=(f"effect:{undone}", "observation:stock"),
        branches=(v.Branch(name="left", node="pay", round=1),),
        visited={"pay": 2, "prüfen": 1},
        retries={"pay": 1},
        budget_left={"EUR": Decimal("84.00")},
        waits_for=("approval:ok-2",),
        state="12" * 32,
    )
    world.pass_by(minutes=1)
