"""The runs of the golden ledger, and the sources and the foreign stream beside them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from eventsourcing.persistence import StoredEvent

from ledger import commands as c
from ledger import events as e
from ledger import open_ledger
from ledger import values as v
from ledger.application.ledger import Ledger
from ledger.stores.recording.foreign import Archive
from ledger.stores.recording.recorder import LedgerAggregateRecorder
from tests.record.golden_refund import (
    KIM,
    KIND,
    LEE,
    LIMIT,
    POLICY,
    RUNTIME,
    WIRE,
    World,
    bring,
    claim,
    refund,
)


def write(path: Path) -> None:
    """Write the ledger."""
    world = World()
    more: dict[str, Any] = {"clock": world.clock, "ids": world.id}
    with open_ledger(path, actor=v.Actor("service:desk", authenticated_by="mtls"), **more) as ledger:
        _sources(ledger)
        refund(ledger, world)
        _withdraw(ledger)
        _stopped(ledger, world)
        _completed(ledger)
        _lineage(ledger)
        _fork(ledger)
        _imported(ledger)
        _long(ledger)
        archive = Archive(ledger.store, "default", v.Actor("service:shop"), world.clock, world.id, "text")
        LedgerAggregateRecorder(archive).insert_events(
            [StoredEvent("order-17", number, "shop:Placed", bytes([number, 255])) for number in (1, 2, 5)]
        )
    with open_ledger(path, tenant="acme – Zürich", actor=v.Actor(KIM), **more) as other:
        other.open_run("order-17", "Another tenant's run of the same name").promise(
            "call", "Call back", owed_to="customer:9"
        )


def _sources(ledger: Ledger) -> None:
    policy = ledger.source("policy:refunds")
    policy.open(owners=(KIM, "service:desk"))
    policy.publish(
        "1",
        (
            v.Published(id="limit", text=LIMIT),
            v.Published(id="wire", text="Wire no more than 100", rule=WIRE),
            v.Published(id="kind", text=KIND),
            v.Published(id="hours", text="Only by day"),
        ),
    )
    ledger.source("handbook:tone").publish("a", {"short": "Write short mails"}, by=LEE, reason="first")


def _withdraw(ledger: Ledger) -> None:
    """Let the source word one anew, leave one out and withdraw one; a run reads a revision and stands."""
    policy = ledger.source("policy:refunds")
    reader = ledger.open_run("order-21", "Refund order 21", actor=v.Actor("service:desk"))
    reader.accept("limit", LIMIT, source=POLICY, asserted_by=KIM)
    says = (
        v.Published(id="limit", text=LIMIT),
        v.Published(id="kind", text="Be kind and brief"),
        v.Published(id="wire", text="Wire no more than 100", rule=WIRE),
    )
    policy.publish("2", says, withdraw=("hours",), reason="reviewed")
    reader.acknowledge(v.Source("policy", "refunds", revision="2"), by=KIM, reason="stands")
    policy.withdraw("limit", reason="replaced by limit-50", by=KIM)


def _stopped(ledger: Ledger, world: World) -> None:
    run = ledger.open_run("order-18", "Refund order 18")
    run.accept(
        "kind", "Be kind and brief", source=v.Source("policy", "refunds", revision="2"), asserted_by=KIM
    )
    run.suspend(reason="lunch", by=KIM)
    world.pass_by(days=3)
    bring(
        ledger,
        "order-18",
        e.ResumeRefused(
            reasons=(
                e.Reason(
                    cleared_by="constraint.revision_acknowledged",
                    kind="source_moved",
                    position=2,
                    since=datetime(2026, 3, 1, tzinfo=UTC),
                    what="policy:refunds has revision 3",
                    who=KIM,
                ),
            ),
            verdict=v.Verdict.REPLAN,
        ),
        e.RunResumed(
            gap_seconds=259_200, incarnation=2, prompt_digest="34" * 32, runtime=RUNTIME, take_over=True
        ),
    )
    again = ledger.run("order-18")
    again.revise_goal("Refund order 18 today", reason="asked", by=KIM)
    again.suspend(reason="night")
    held = e.Reason(cleared_by="authority.renewed", kind="authority_expired", what="it ended")
    bring(ledger, "order-18", e.ResumeRefused(reasons=(held,), verdict=v.Verdict.REAPPROVE))


def _completed(ledger: Ledger) -> None:
    run = ledger.open_run("order-19", "Refund order 19")
    key = claim(run, "refund", '{"order":19}', recovery=v.Recovery.AT_MOST_ONCE)
    run.do(c.ReportSuccess(attempt=1, key=key, result=v.Payload(json_text="19")))
    run.close("completed", reason="all done", by=KIM, result={"refunded": True})
    ledger.run("order-19").sign_review("reviewed", by=LEE, note="seen")


def _lineage(ledger: Ledger) -> None:
    """Cancel a run with something under way, let another one succeed it, and fork a third."""
    run = ledger.open_run("order-20", "Refund order 20", about=("subject:20",))
    run.promise("tell", "Mail the customer", owed_to="customer:20")
    key = claim(run, "refund", '{"order":20}', recovery=v.Recovery.AT_MOST_ONCE)
    act = "56" * 32
    run.do(c.ReportUnknown(attempt=1, because="stopped", key=key))
    run.close("cancelled", reason="a constraint was withdrawn")
    last = list(ledger.log("order-20"))[-1]
    bring(
        ledger,
        "order-20-again",
        e.RunOpened(
            goal="Refund order 20",
            parent=e.Parent(position=last.position, relation="successor", root="order-20", run="order-20"),
        ),
        e.RunRestarted(
            by=KIM,
            dropped=(e.Dropped(reason="withdrawn at its source", ref="constraint:limit"),),
            effects_done=0,
            predecessor="order-20",
            predecessor_hash=last.hash.hex(),
            predecessor_position=last.position,
            reason="limit was withdrawn",
            unsettled=(
                e.InheritedEffect(
                    act=act,
                    attempt=1,
                    key=key,
                    position=3,
                    run="order-20",
                    status="unknown",
                    recovery=v.Recovery.AT_MOST_ONCE,
                    tool="refund",
                ),
            ),
        ),
        e.ObligationOpened(
            id="tell", owed_to="customer:20", text="Mail the customer", because="run:order-20"
        ),
        e.AuthorityGranted(
            granted_by=KIM,
            id="part",
            principal="agent:*",
            scopes=("refund",),
            carved_from=e.GrantOrigin(id="refunds", position=11, run="order-17"),
            budget={"EUR": Decimal(7)},
            on_resume="continue",
        ),
        actor=v.Actor(KIM),
    )
    successor = ledger.run("order-20-again")
    successor.do(c.ReconcileEffect(evidence="paid", found="happened", key=key, method="probe"))


def _fork(ledger: Ledger) -> None:
    at = list(ledger.log("order-17", upto=20))[-1]
    bring(
        ledger,
        "order-17-fork",
        e.RunOpened(
            goal="Refund order 17",
            parent=e.Parent(position=20, relation="fork", root="order-17", run="order-17"),
        ),
        e.RunForked(at=20, by=LEE, hash=at.hash.hex(), origin="order-17", reason="what if"),
    )


def _imported(ledger: Ledger) -> None:
    """Tell what a transcript tells: nothing of it was witnessed, and one outcome nobody knows."""
    key, act = "78" * 32, "9a" * 32
    said = e.EffectIntended(
        act=act,
        args='{"to":"a@b.c"}',
        key=key,
        key_scheme="given",
        given="call-1",
        recovery=v.Recovery.AT_MOST_ONCE,
        tool="mail",
        witnessed=False,
    )
    started = e.EffectStarted(
        attempt=1, key=key, lease_until=datetime(2026, 3, 1, tzinfo=UTC), root="transcript-1", worker="import"
    )
    bring(
        ledger,
        "transcript-1",
        e.RunOpened(goal="What a transcript tells"),
        e.ObservationRecorded(
            key="call-0", tool="look", value=v.Payload(json_text="1"), witnessed=False, fresh_for=60
        ),
        said,
        started,
        e.EffectUnknown(attempt=1, because="imported", key=key),
        e.RunSuspended(cause="imported", reason="it ends here"),
        about=("subject:a",),
    )


def _long(ledger: Ledger) -> None:
    """Go on for so long that snapshots are taken on the way."""
    run = ledger.open_run("long", "Count")
    for number in range(1, 61):
        run.move(f"n-{number % 3}", round=number)
