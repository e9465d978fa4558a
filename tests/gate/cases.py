"""The table: for each kind of reason a history that shows it, and the event that clears it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Final

from ledger import commands as c
from ledger import events as e
from ledger.run.keys import check_key
from ledger.testing import START, given
from ledger.values import (
    Actor,
    Change,
    Ending,
    ErrorSaid,
    Limits,
    Published,
    Recovery,
    Runtime,
    Source,
    Step,
)
from tests.gate.scene import (
    ABOVE,
    ASKED,
    HOUR,
    KIM,
    PROGRAM,
    SAID,
    STOPPED,
    TOP,
    Case,
    Scene,
    accepted,
    restarted,
    saying,
    source,
)
from tests.run import examples as x

UNREADABLE: Final = ("newer_format", "unknown_event", "undecodable", "chain_broken")
"""Kinds that no contract shows, since there is none: whoever reads the run says them."""

DAY = 24 * HOUR
TEN = {"EUR": Decimal(10)}
HELPER = Actor("agent:helper", session="s-2")


def _wrong(id: str) -> tuple[e.AssumptionMade, e.AssumptionRefuted]:
    return (
        e.AssumptionMade(id=id, text="It is so"),
        e.AssumptionRefuted(id=id, evidence="It is not", by="human:kim"),
    )


def _effect(key: str, *after: e.Event) -> tuple[e.Event, ...]:
    return (x.intended(key, act=key), x.started(key, lease_until=START + DAY), *after)


def _grant(id: str, **more: object) -> e.AuthorityGranted:
    return x.granted(id, **{"on_resume": "continue", "scopes": (id,), **more})


def _renewing(id: str, **more: object) -> c.RenewAuthority:
    return c.RenewAuthority.model_validate({"by": "human:kim", "id": id, **more})


def _granting(id: str, **more: object) -> c.GrantAuthority:
    fields = {"granted_by": "human:kim", "id": f"{id}-anew", "principal": "agent:refunds", "scopes": (id,)}
    return c.GrantAuthority.model_validate({**fields, **more})


def _seeing(key: str) -> c.RecordObservation:
    return c.RecordObservation(key=key, observed_at=ASKED, tool="count", value=x.ANSWER)


def _taken_over(scene: Scene) -> Scene:
    return replace(scene, run=scene.run.by(KIM), take_over=True)


def _replanned(scene: Scene) -> Scene:
    plan = scene.run.contract.plan
    assert plan is not None
    steps = tuple(step for step in plan.steps if "assumption:some" not in step.rests_on)
    return scene.told(c.RevisePlan(reason="it is not so", steps=steps))


def _asked_anew(scene: Scene) -> Scene:
    """Ask for approval once more: commands about approvals are not performed yet, so it is an event here."""
    count = len(scene.run.contract.approvals)
    asker = scene.run.actor
    event = e.ApprovalRequested(id=f"anew-{count}", key=x.ONE)
    return replace(scene, run=scene.run.by(KIM).also(event).by(asker))


def _went_on_above(scene: Scene) -> Scene:
    above = scene.run.other(ABOVE).by(KIM).also(x.RESUMED)
    return replace(scene, run=scene.run.among(above))


def _opened_another(scene: Scene) -> Scene:
    command = c.OpenRun(goal="Refund order 17, after all")
    return replace(scene, run=given(run="run-2", at=ASKED, actor=PROGRAM).when(command).after)


WITHDRAWN = accepted("gone", "policy:withdrawn")
REWORDED = accepted("words", "policy:reworded")
REVISED = accepted("same", "policy:revised")
UNCHECKED = accepted("old", "policy:unchecked")
RATE = x.observed("rate", fresh_for=60)
SEEN = x.observed("seen", rests_on=("assumption:seen-so",))
INVALIDATED = e.ObservationInvalidated(key="stock", reason="miscounted")
BUILDS = e.AssumptionMade(id="builds", text="So it goes", rests_on=("assumption:ground",))
APPROVAL = e.ApprovalRequested(id="ok-1", key=x.ONE, expires_at=SAID)
REVOKED = e.AuthorityRevoked(by="human:lee", id="taken", reason="no longer trusted")
LIMIT = e.RunSuspended(cause="steps", reason="the run was given 1 steps, which are taken")
CLOSED = e.RunClosed(by="human:kim", outcome=Ending.CANCELLED, reason="not wanted")
EXECUTING, UNKNOWN, DISPUTED, SPENDING = ("4" * 64, "5" * 64, "6" * 64, "7" * 64)
EXPIRED = _grant("expired", expires_at=SAID)
USED_UP = _grant("used-up", budget=TEN, granted_by="human:lee")
OTHERS = _grant("others", session="s-1")
AGAIN = _grant("again", on_resume="reapprove", expires_at=START + DAY)
NOBODYS = e.EffectUnknown(key=UNKNOWN, attempt=1, because="raised")
FAILED = e.EffectFailed(key=DISPUTED, attempt=1, error=ErrorSaid(message="no", type="No"))
CONTRADICTED = e.EffectDisputed(
    key=DISPUTED, act=DISPUTED, attempt=1, recovery=Recovery.QUERYABLE, reported="succeeded", tool="refund"
)

CASES: Final[tuple[Case, ...]] = (
    Case(
        "closed",
        _opened_another,
        at=CLOSED,
        mentions=("cancelled",),
        said=(CLOSED,),
        since=SAID,
        who="human:kim",
    ),
    # --- restart --------------------------------------------------------------------------------
    Case(
        "constraint_withdrawn",
        restarted,
        at=WITHDRAWN,
        done=(WITHDRAWN,),
        mentions=("policy:withdrawn", "'gone'", "replaced"),
        moved={
            "policy:withdrawn": lambda one: (
                one.when(c.WithdrawAtSource(by="human:lee", id="gone", reason="replaced")).after
            )
        },
        since=SAID,
        sources=(source("policy:withdrawn", "gone", "kept"),),
        who="human:lee",
    ),
    Case(
        "goal_refuted",
        restarted,
        at=_wrong("aim")[1],
        done=_wrong("aim")[:1],
        goal_rests_on=("assumption:aim",),
        mentions=("'aim'", "goal"),
        said=_wrong("aim")[1:],
        since=SAID,
        who="human:kim",
    ),
    Case(
        "plan_refuted",
        restarted,
        all_rest_on=("assumption:every",),
        at=_wrong("every")[1],
        done=_wrong("every")[:1],
        mentions=("'every'", "free"),
        said=_wrong("every")[1:],
        since=SAID,
        who="human:kim",
    ),
    Case(
        "ended_above",
        restarted,
        above={TOP: CLOSED},
        mentions=(repr(TOP), "cancelled"),
        since=SAID,
        who="human:kim",
    ),
    # --- reapprove ------------------------------------------------------------------------------
    Case(
        "suspended_above",
        _went_on_above,
        above={ABOVE: e.RunSuspended(by="human:lee", cause="asked", reason="lunch")},
        mentions=(repr(ABOVE), "lunch"),
        since=SAID,
        who="human:lee",
    ),
    Case(
        "authority_expired",
        saying(_renewing("expired", expires_at=START + DAY)),
        at=EXPIRED,
        done=(EXPIRED,),
        mentions=("'expired'", "agent:refunds"),
        since=SAID,
        who="human:kim",
    ),
    Case(
        "authority_exhausted",
        saying(_renewing("used-up", add_budget=TEN)),
        at=USED_UP,
        done=(
            USED_UP,
            x.intended(SPENDING, act=SPENDING, authority=("used-up",), reserved=TEN),
            x.started(SPENDING),
            e.EffectSucceeded(key=SPENDING, attempt=1, cost=TEN),
        ),
        mentions=("'used-up'", "budget"),
        who="human:lee",
    ),
    Case(
        "authority_of_another_session",
        saying(_renewing("others", session="s-2")),
        asker=Actor("agent:refunds", session="s-2"),
        at=OTHERS,
        done=(OTHERS,),
        mentions=("'others'", "s-1", "s-2"),
        who="human:kim",
    ),
    Case(
        "authority_on_resume",
        saying(_renewing("again", expires_at=START + 2 * DAY)),
        at=AGAIN,
        done=(AGAIN,),
        mentions=("'again'",),
        who="human:kim",
    ),
    Case(
        "authority_revoked",
        saying(_granting("taken")),
        at=REVOKED,
        done=(_grant("taken"),),
        mentions=("'taken'", "no longer trusted"),
        said=(REVOKED,),
        since=SAID,
        who="human:lee",
    ),
    Case(
        "authority_missing",
        saying(_granting("helping", principal="agent:helper")),
        asker=HELPER,
        mentions=("agent:helper",),
    ),
    Case(
        "approval_void",
        _asked_anew,
        at=APPROVAL,
        done=(APPROVAL,),
        mentions=("'ok-1'", x.ONE[:12], "it was good until"),
        since=START,
    ),
    Case(
        "limit_reached",
        saying(_granting("more")),
        at=LIMIT,
        limits=Limits(steps=1),
        mentions=("1 steps",),
        since=STOPPED,
        stop=LIMIT,
    ),
    # --- reconcile ------------------------------------------------------------------------------
    Case(
        "effect_executing",
        saying(c.ReportSuccess(attempt=1, key=EXECUTING)),
        at=_effect(EXECUTING)[0],
        done=_effect(EXECUTING),
        mentions=("refund", EXECUTING[:12], "w-1"),
        since=START,
    ),
    Case(
        "effect_unknown",
        saying(c.ReconcileEffect(evidence="it is there", found="happened", key=UNKNOWN, method="probe")),
        at=_effect(UNKNOWN)[0],
        done=_effect(UNKNOWN, NOBODYS),
        mentions=("refund", UNKNOWN[:12]),
        since=START,
    ),
    Case(
        "effect_disputed",
        saying(
            c.ReconcileEffect(
                by="human:kim", evidence="the bank", found="happened", key=DISPUTED, method="person"
            )
        ),
        at=CONTRADICTED,
        done=_effect(DISPUTED, FAILED, CONTRADICTED),
        mentions=("refund", DISPUTED[:12]),
        since=START,
    ),
    Case(
        "still_running",
        _taken_over,
        asking={"live_seconds": 86_400},
        mentions=("agent:refunds", "s-1"),
        at=e.CursorMoved(node="work"),
        since=START,
        stays_open=True,
        who="agent:refunds",
    ),
    # --- replan ---------------------------------------------------------------------------------
    Case(
        "observation_stale",
        saying(_seeing("rate")),
        at=RATE,
        done=(RATE, e.AssumptionMade(id="cheap", text="It is cheap", rests_on=("observation:rate",))),
        mentions=("rate", "count", "assumption:cheap"),
        since=START + HOUR / 60,
    ),
    Case(
        "observation_invalidated",
        saying(_seeing("stock")),
        at=INVALIDATED,
        done=(x.observed(), e.AssumptionMade(id="left", text="3 left", rests_on=("observation:stock",))),
        mentions=("stock", "assumption:left"),
        said=(INVALIDATED,),
    ),
    Case(
        "constraint_reworded",
        saying(
            c.AcceptConstraint(
                asserted_by="human:kim",
                change=Change.REWORDED,
                id="words",
                source=Source("policy", "reworded"),
                text="Mind the words",
            )
        ),
        at=REWORDED,
        comes_with=("source_revised",),
        done=(REWORDED,),
        mentions=("policy:reworded", "'words'", "'2'"),
        moved={
            "policy:reworded": lambda one: (
                one.when(
                    c.PublishRevision(
                        constraints=(Published(id="words", text="Mind the words"),), revision="2"
                    )
                ).after
            )
        },
        since=SAID,
        sources=(source("policy:reworded", "words"),),
    ),
    Case(
        "source_revised",
        saying(c.AcknowledgeRevision(by="human:kim", source=Source("policy", "revised", revision="2"))),
        at=REVISED,
        done=(REVISED,),
        mentions=("policy:revised", "'2'", "'1'"),
        moved={
            "policy:revised": lambda one: (
                one.when(
                    c.PublishRevision(
                        constraints=(
                            Published(id="same", text="Mind same"),
                            Published(id="more", text="Mind more"),
                        ),
                        revision="2",
                    )
                ).after
            )
        },
        since=SAID,
        sources=(source("policy:revised", "same"),),
    ),
    Case(
        "source_unchecked",
        saying(_seeing(check_key("policy:unchecked"))),
        asking={"check_every": {"policy:unchecked": 600}},
        at=x.observed(check_key("policy:unchecked")),
        done=(UNCHECKED, x.observed(check_key("policy:unchecked"))),
        mentions=("policy:unchecked",),
        since=START + HOUR / 6,
        sources=(source("policy:unchecked", "old"),),
    ),
    Case(
        "runtime_changed",
        saying(c.AdoptRuntime(by="human:kim", reason="upgrade", runtime=Runtime(model="m-2", prompt="p-1"))),
        at=x.opened(),
        mentions=("model", "m-1", "m-2"),
        runtime=Runtime(model="m-2", prompt="p-1"),
    ),
    Case(
        "assumption_refuted",
        _replanned,
        at=_wrong("some")[1],
        done=_wrong("some")[:1],
        mentions=("'some'", "step:on-some"),
        said=_wrong("some")[1:],
        since=SAID,
        steps=(Step(name="on-some", rests_on=("assumption:some",)),),
        who="human:kim",
    ),
    Case(
        "assumption_in_doubt",
        saying(c.RefuteAssumption(id="builds", evidence="nor that")),
        at=BUILDS,
        done=(_wrong("ground")[0], BUILDS),
        mentions=("'ground'", "'builds'"),
        said=_wrong("ground")[1:],
        since=SAID,
    ),
    Case(
        "observation_in_doubt",
        saying(_seeing("seen")),
        at=SEEN,
        done=(_wrong("seen-so")[0], SEEN),
        mentions=("'seen-so'", "seen"),
        needs=("observation:seen",),
        said=_wrong("seen-so")[1:],
        since=SAID,
    ),
    Case(
        "idle",
        saying(c.ReviseGoal(by="human:kim", reason="still wanted", text="Refund order 17, still")),
        asking={"idle_seconds": 3600},
        at=e.CursorMoved(node="work"),
        mentions=("2026-01-01T00:00",),
        since=START + HOUR,
        stays_open=True,
        who="agent:refunds",
    ),
)
"""One of each kind that a contract can show."""

BY_KIND: Final = {case.kind: case for case in CASES}
