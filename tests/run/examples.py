"""One example of every event and command, and a run in which something of every kind is open."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from ledger import commands as c
from ledger import events as e
from ledger.run.contract import Contract
from ledger.testing import START, History, given, given_source
from ledger.values import (
    Branch,
    Change,
    Ending,
    ErrorSaid,
    Kept,
    Limits,
    Operator,
    Payload,
    Predicate,
    Published,
    Recovery,
    Rule,
    Runtime,
    SavedName,
    Source,
    Step,
    Verdict,
)

ONE, TWO, THREE = "1" * 64, "2" * 64, "3" * 64
"""Keys of effects."""

LIMIT = "Never refund more than 100 EUR"
POLICY = Source("policy", "refunds", revision="4")
AT_MOST_100 = Rule(require=(Predicate(operator=Operator.AT_MOST, path="/amount", value="100"),))
EUR_10 = {"EUR": Decimal("10.00")}
ANSWER = Payload(json_text='{"left":3}')
SAID = Payload(digest="c" * 64, size=12)
BLOB = Kept(digest="e" * 64, size=12)
HOUR = timedelta(hours=1)


def opened(**more: Any) -> e.RunOpened:
    return e.RunOpened(**{"goal": "Refund order 17", **more})


def accepted(id: str = "limit-100", **more: Any) -> e.ConstraintAccepted:
    fields = {"accepted_by": "service:test", "asserted_by": "human:kim", "text": LIMIT}
    return e.ConstraintAccepted(id=id, **{**fields, **more})


def accept(id: str = "limit-100", **more: Any) -> c.AcceptConstraint:
    return c.AcceptConstraint(id=id, **{"asserted_by": "human:kim", "text": LIMIT, **more})


def granted(id: str = "refunds", **more: Any) -> e.AuthorityGranted:
    fields = {"granted_by": "human:kim", "principal": "agent:refunds", "scopes": ("refund",)}
    return e.AuthorityGranted(id=id, **{**fields, **more})


def observed(key: str = "stock", **more: Any) -> e.ObservationRecorded:
    return e.ObservationRecorded(key=key, **{"observed_at": START, "tool": "count", "value": ANSWER, **more})


def intended(key: str = ONE, **more: Any) -> e.EffectIntended:
    fields = {
        "act": "a" * 64,
        "args": "{}",
        "key_scheme": "v1",
        "recovery": Recovery.QUERYABLE,
        "tool": "refund",
    }
    return e.EffectIntended(key=key, **{**fields, **more})


def started(key: str = ONE, attempt: int = 1, **more: Any) -> e.EffectStarted:
    fields = {"lease_until": START + HOUR, "root": "run-1", "worker": "w-1"}
    return e.EffectStarted(key=key, attempt=attempt, **{**fields, **more})


def message(id: str = "m-1", **more: Any) -> e.MessageRecorded:
    return e.MessageRecorded(id=id, **{"content": SAID, "role": "user", **more})


def state(id: str = "state-1", **more: Any) -> e.StateSaved:
    return e.StateSaved(id=id, **{"content": BLOB, **more})


def published(*constraints: Published, revision: str = "4", **more: Any) -> e.SourceRevised:
    return e.SourceRevised(revision=revision, added=constraints, **more)


SUSPENDED = e.RunSuspended(cause="asked", reason="lunch")
HELD = e.ResumeRefused(reasons=(), verdict=Verdict.REPLAN)
RESUMED = e.RunResumed(gap_seconds=60, incarnation=2, prompt_digest="d" * 64)
CLOSED = e.RunClosed(outcome=Ending.FAILED, reason="out of stock")

REFUNDS = given_source("policy:refunds", published(Published(id="limit-100", text=LIMIT)))
"""A source at position 1 that publishes `limit-100` in revision 4."""

EVENTS: tuple[e.Event, ...] = (
    opened(owner="human:kim", limits=Limits(steps=1000), runtime=Runtime(model="m-1"), thread="t-1"),
    SUSPENDED,
    HELD,
    RESUMED,
    e.GoalRevised(by="human:kim", reason="customer asked", text="Refund order 17 and say so"),
    e.AssumptionMade(id="in-stock", text="The goods came back"),
    e.PlanCommitted(
        steps=(Step(name="look", rests_on=("observation:stock",)), Step(name="pay", tool="refund"))
    ),
    e.PlanRevised(
        reason="nothing to look at",
        steps=(Step(name="pay", tool="refund", rests_on=("assumption:in-stock",)),),
    ),
    accepted(source=POLICY, source_position=1, published=True),
    accepted("kind", text="Be kind", rule=AT_MOST_100),
    e.ConstraintWithdrawn(by="human:kim", id="kind", reason="goes without saying"),
    e.RevisionAcknowledged(
        by="human:kim", source=Source("policy", "refunds", revision="5"), source_position=2
    ),
    e.ObligationOpened(id="tell", owed_to="customer:17", text="Mail the customer", due=START + HOUR),
    e.ObligationOpened(id="call", owed_to="customer:17", text="Call the customer"),
    e.ObligationOpened(id="file", owed_to="human:kim", text="File it"),
    e.ObligationDischarged(id="call", evidence="call 9"),
    e.ObligationWaived(by="human:kim", id="file", reason="no need"),
    e.ObligationOpened(id="count", owed_to="human:kim", text="Count again"),
    e.ObligationTransferred(by="human:kim", id="count", reason="not ours", to="agent:stock"),
    granted(budget={"EUR": Decimal(100)}, expires_at=START + HOUR, session="s-1"),
    e.AuthorityRenewed(by="human:kim", id="refunds", add_budget={"EUR": Decimal(50)}),
    e.AuthorityCarved(by="human:kim", id="refunds", budget={"EUR": Decimal(20)}, run="run-2"),
    e.AuthorityReturned(by="human:kim", id="refunds", budget={"EUR": Decimal(5)}, run="run-2"),
    granted("mail", scopes=("mail",)),
    e.AuthorityRevoked(by="human:kim", id="mail", reason="not needed"),
    observed(),
    observed("weather", fresh_for=60),
    e.ObservationInvalidated(key="weather", reason="broken sensor"),
    e.ApprovalRequested(id="ok-1", key=ONE, question="Pay 10 EUR?"),
    e.ApprovalAnswered(id="ok-1", answer="approved", by="human:kim"),
    intended(authority=("refunds",), reserved=EUR_10, step="pay"),
    started(),
    e.EffectUnknown(key=ONE, attempt=1, because="lease_lapsed"),
    e.EffectReconciled(
        key=ONE, attempt=1, evidence="no payment found", found="did_not_happen", method="probe"
    ),
    intended(TWO, act="b" * 64),
    started(TWO),
    e.EffectSucceeded(key=TWO, attempt=1, result=ANSWER, cost=EUR_10),
    intended(THREE, act="b" * 64),
    started(THREE),
    e.EffectFailed(key=THREE, attempt=1, error=ErrorSaid(message="no such order", type="NotFound")),
    e.EffectDisputed(
        key=THREE, act="b" * 64, attempt=1, recovery=Recovery.QUERYABLE, reported="succeeded", tool="refund"
    ),
    e.EffectCompensated(key=TWO, undone_by=THREE),
    e.EffectRefused(rule="off_plan", tool="mail"),
    e.CursorMoved(node="pay", round=1, branches=(Branch(name="left", node="pay"),), visited={"pay": 1}),
    message("m-1"),
    message("m-2", role="assistant"),
    e.MessagesSummarised(content=SAID, count=1, through="m-1"),
    state(),
    state("sub-1", line="sub", parent="state-0"),
    e.StatePartSaved(content=BLOB, line="sub", state="sub-1", task="look"),
    state("state-2", parent="state-0", branch=True, whole=True),
    e.StatesDropped(by="human:kim", reason="too old", states=(SavedName(id="state-2"),)),
    state("state-3", parent="state-2"),
    e.RuntimeAdopted(by="human:kim", reason="upgrade", runtime=Runtime(model="m-2")),
    e.AssumptionRefuted(id="in-stock", evidence="an empty shelf"),
    e.ReviewSigned(by="human:kim", hash="e" * 64, head=3, meaning="noted"),
    e.RunClosed(outcome=Ending.FAILED, obligations=("tell",), unsettled=(THREE,), result=ANSWER),
)
"""A run in which every event of a run happens at least once, but those of forks and successors."""

SUCCESSOR_EVENTS: tuple[e.Event, ...] = (
    opened(parent=e.Parent(position=9, relation="successor", root="run-0", run="run-0")),
    e.RunRestarted(
        by="human:kim",
        effects_done=3,
        predecessor="run-0",
        predecessor_hash="f" * 64,
        predecessor_position=9,
        reason="limit-100 was withdrawn",
        unsettled=(
            e.InheritedEffect(
                act="a" * 64,
                attempt=1,
                key=ONE,
                position=4,
                recovery=Recovery.AT_MOST_ONCE,
                run="run-0",
                status="unknown",
                tool="refund",
            ),
        ),
    ),
)
FORK_EVENTS: tuple[e.Event, ...] = (
    opened(parent=e.Parent(position=9, relation="fork", root="run-0", run="run-0")),
    e.RunForked(at=9, hash="f" * 64, origin="run-0"),
)

RICH: History[Contract | None] = given(
    opened(),
    accepted(source=POLICY, source_position=1, published=True),
    e.AssumptionMade(id="in-stock", text="The goods came back"),
    e.ObligationOpened(id="tell", owed_to="customer:17", text="Mail the customer"),
    granted(budget={"EUR": Decimal(100)}, expires_at=START + HOUR, session="s-1"),
    granted("tests", principal="service:test"),
    granted("agents"),
    observed(),
    message(),
    state(),
    e.PlanCommitted(steps=(Step(name="pay", tool="refund"),)),
    intended(),
    started(),
    sources=[REFUNDS.also(published(revision="5"))],
)
"""A run in which something of every kind is open, beside a source that has moved on."""

COMMANDS: tuple[c.Command, ...] = (
    c.OpenRun(goal="Refund order 17"),
    c.SuspendRun(reason="lunch"),
    c.ResumeRun(),
    c.ForkRun(as_run="run-2", at=1),
    c.RestartRun(as_run="run-2", by="human:kim", reason="contract changed"),
    c.OpenChild(as_run="run-2", goal="Mail the customer"),
    c.CloseRun(outcome=Ending.CANCELLED),
    c.ReviseGoal(by="human:kim", reason="customer asked", text="Refund order 17 and say so"),
    c.CommitPlan(steps=(Step(name="pay", tool="refund"),)),
    c.RevisePlan(reason="shorter", steps=(Step(name="all"),)),
    accept("be-kind", text="Be kind"),
    c.WithdrawConstraint(by="human:kim", id="limit-100", reason="obsolete"),
    c.AcknowledgeRevision(by="human:kim", source=Source("policy", "refunds")),
    c.MakeAssumption(id="open-late", text="The shop is open"),
    c.RefuteAssumption(id="in-stock", evidence="an empty shelf"),
    c.OpenObligation(id="call", owed_to="customer:17", text="Call the customer"),
    c.DischargeObligation(id="tell", evidence="mail 42"),
    c.WaiveObligation(by="human:kim", id="tell", reason="told in person"),
    c.TransferObligation(by="human:kim", id="tell", reason="our turn ended", to="agent:mail"),
    c.GrantAuthority(granted_by="human:kim", id="mail", principal="agent:refunds", scopes=("mail",)),
    c.RenewAuthority(by="human:kim", id="refunds", expires_at=START + 2 * HOUR),
    c.NarrowAuthority(as_id="less", by="human:kim", id="refunds", reason="less will do", budget=EUR_10),
    c.RevokeAuthority(by="human:kim", id="refunds", reason="done"),
    c.RecordObservation(key="weather", observed_at=START, tool="look", value=ANSWER),
    c.InvalidateObservation(key="stock", reason="miscounted"),
    c.RequestApproval(key=ONE),
    c.AnswerApproval(answer="approved", by="human:kim", id="ok-1"),
    c.ClaimEffect(args="{}", recovery=Recovery.QUERYABLE, step="pay", tool="refund", worker="w-1"),
    c.ReportSuccess(attempt=1, key=ONE),
    c.ReportFailure(attempt=1, error=ErrorSaid(message="no", type="No"), key=ONE),
    c.ReportUnknown(attempt=1, because="stopped", key=ONE),
    c.ReconcileEffect(evidence="seen", found="happened", key=ONE, method="probe"),
    c.CompensateEffect(key=ONE, undone_by=TWO),
    c.MoveCursor(node="pay"),
    c.RecordMessage(content=SAID, id="m-2", role="assistant"),
    c.SummariseMessages(content=SAID, through="m-1"),
    c.SaveState(content=SAID, id="state-2", parent="state-1"),
    c.SaveStatePart(content=SAID, state="state-1", task="look"),
    c.DropStates(by="human:kim", reason="too old", states=(SavedName(id="state-1"),)),
    c.AdoptRuntime(by="human:kim", reason="upgrade", runtime=Runtime(model="m-2")),
    c.OpenSource(owners=("human:kim",)),
    c.PublishRevision(constraints=(Published(id="limit-100", text=LIMIT),), revision="4"),
    c.WithdrawAtSource(by="human:kim", id="limit-100", reason="replaced"),
    c.SignReview(by="human:kim", meaning="noted"),
)
"""One of each. Those that this release performs are admitted on `RICH`."""

FOR_PEOPLE: tuple[c.Command, ...] = (
    c.ResumeRun(take_over=True),
    accept(text="Refund up to 200 EUR", change=Change.RELAXED),
    c.ReconcileEffect(evidence="the bank says so", found="happened", key=ONE, method="person"),
)
"""Commands that an agent may use, in a form that it may not."""


def example(kind: type[c.Command]) -> c.Command:
    """Return the example of a command."""
    return next(command for command in COMMANDS if type(command) is kind)
