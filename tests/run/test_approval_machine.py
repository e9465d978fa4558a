"""A run, its child, and people: no act begins without what it needs, whatever is lost or comes late.

And nothing that anybody answers leaves a run without a way on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ledger import commands as c
from ledger import events as e
from ledger.codec import act_digest
from ledger.record import Record
from ledger.run.contract import Contract
from ledger.run.decide import decide, told
from ledger.run.decision import Admitted, Decision, Given, Refusal
from ledger.run.looking import is_wanted, looked_among, wanted
from ledger.run.permission import permission
from ledger.run.state import evolve
from ledger.testing import given
from ledger.values import Actor, Recovery, Runtime, Step
from tests.run import examples as x
from tests.run.approving import AGENT, KIM, LEE, RUNTIME, rule_of
from tests.run.claiming import NO, Run, claim, key_of
from tests.run.consented import RULES, assert_consented
from tests.run.test_effect_laws import assert_attempts_are_counted, assert_nothing_began_twice_blindly
from tests.run.test_state import load, saved

MAX = "human:max"
"""A person who asks for nothing but a way out, and so leaves everybody else free to answer."""
FOR_AGENT = Actor("service:ui", on_behalf_of=(AGENT,))
FOR_LEE = Actor("service:ui", on_behalf_of=(LEE,))

AMOUNTS = st.sampled_from([50, 150, 150, 250])
SPANS = st.sampled_from([0, 0, 1, 31, 61, 3600])
SCHEMAS = st.sampled_from([None, None, "5" * 64])
CLAIMS = st.builds(
    lambda amount, order, **more: claim(
        args=f'{{"amount":{amount},"order":{order}}}', settle_seconds=0, dedupes_for=100, **more
    ),
    amount=AMOUNTS,
    order=st.integers(1, 3),
    approval_seconds=st.sampled_from([None, None, 60]),
    given=st.sampled_from([*[None] * 9, "g"]),
    max_attempts=st.sampled_from([1, 3]),
    needs_approval=st.booleans(),
    recovery=st.sampled_from([Recovery.QUERYABLE, Recovery.IDEMPOTENT]),
    repeat_reason=st.sampled_from([None, None, "two are meant"]),
    reserved=st.sampled_from([None, x.EUR_10]),
    step=st.sampled_from(["a", "a", "a", "b"]),
    tool_schema=SCHEMAS,
)
FATES = st.sampled_from(["late", "lost", "succeed", "fail", "fail", "unknown"])
"""What becomes of a claim: stored late, its worker lost, or what the worker reports."""
CHANGES = ("authority", "goal", "message", "obligation", "plan", "runtime")


def changing(contract: Contract, what: str) -> c.Command:
    """Return what changes this of a run, whatever it is now."""
    there = contract.plan is not None and contract.plan.steps[0].name == "a"
    steps = tuple(Step(name=name) for name in (("b", "a") if there else ("a", "b")))
    commands: dict[str, c.Command] = {
        "authority": c.RenewAuthority(by=KIM, id="refunds", add_budget=x.EUR_10),
        "goal": c.ReviseGoal(by=AGENT, reason="so", text="this" if contract.goal.text != "this" else "that"),
        "message": c.RecordMessage(content=x.SAID, id=f"m-{contract.position}", role="assistant"),
        "obligation": c.OpenObligation(id=f"o-{contract.position}", owed_to="customer:17", text="Tell them"),
        "plan": c.RevisePlan(reason="other way round", steps=steps),
        "runtime": c.AdoptRuntime(by=KIM, reason="upgrade", runtime=RUNTIME),
    }
    if what == "authority" and not contract.grants:
        budget = {"EUR": Decimal(25)}
        return c.GrantAuthority(
            budget=budget, granted_by=KIM, id="refunds", principal=AGENT, scopes=("refund",)
        )
    if what == "plan" and contract.plan is None:
        return c.CommitPlan(steps=steps)
    if what == "runtime" and contract.runtime == RUNTIME:
        return c.AdoptRuntime(by=KIM, reason="upgrade", runtime=Runtime(model="m-2"))
    return commands[what]


class Sent(NamedTuple):
    """A decision that is on its way to the store."""

    run: str
    position: int
    command: c.ClaimEffect
    decision: Admitted
    at: datetime


class Approvals(RuleBasedStateMachine):
    """What is sent may be lost, stored without its sender hearing of it, or stored late."""

    def __init__(self) -> None:
        super().__init__()
        kin = e.Parent(position=1, relation="child", root="run-1", run="run-1")
        parent = given(x.opened(runtime=RUNTIME), run="run-1", actor=AGENT)
        kid = given(x.opened(runtime=RUNTIME, parent=kin), run="kid", actor=AGENT)
        self.runs: dict[str, Run] = {"run-1": parent, "kid": kid}
        self.order: list[Record] = [*parent.records, *kid.records]
        self.sent: list[Sent] = []
        self.ids: list[str] = ["nothing"]
        self.keys: list[str] = []
        self.declared: dict[tuple[str, int], c.ClaimEffect] = {}

    # --- the store -------------------------------------------------------------------------------

    def keep(self, name: str, events: Sequence[e.Event], actor: Actor | str) -> Run:
        """Append to a run; what it holds then stands in the one order of the lineage."""
        before = self.runs[name]
        after = before.by(actor).also(*events)
        added = after.records[before.position :]
        self.order += added
        self.runs[name] = after.by(AGENT)
        for record in added:
            event = record.event
            if isinstance(event, e.ApprovalRequested):
                self.ids.append(event.id)
            if isinstance(event, e.EffectIntended) and event.key not in self.keys:
                self.keys.append(event.key)
        return self.runs[name]

    def sending(self, name: str, command: c.ClaimEffect, decision: Admitted) -> Sent:
        return Sent(name, self.runs[name].position, command, decision, self.runs[name].now)

    def admits(self, one: Sent) -> bool:
        """Tell whether the store takes it: nobody was first in the run, nor with the act, nor the attempt."""
        if self.runs[one.run].position != one.position:
            return False
        events = [record.event for record in self.order]
        acts = Counter(act_digest(event.act) for event in events if isinstance(event, e.EffectIntended))
        attempts = {(event.key, event.attempt) for event in events if isinstance(event, e.EffectStarted)}
        begun = [event for event in one.decision.events if isinstance(event, e.EffectStarted)]
        unseen = any(acts[act.digest] > act.intentions for act in one.decision.fresh)
        return not unseen and all((event.key, event.attempt) not in attempts for event in begun)

    def land(self, one: Sent) -> None:
        run = self.keep(one.run, one.decision.events, AGENT)
        self.declared[one.run, run.position] = one.command
        self.check_last_start(one.run)

    def check_last_start(self, name: str) -> None:
        run = self.runs[name]
        if isinstance(run.records[-1].event, e.EffectStarted):
            command = self.declared[name, run.position]
            assert_consented(run.records, run.records[-1], command.needs_approval, command.approval_seconds)

    def given(self, name: str, command: c.Command, looks: bool, actor: Actor) -> Given:
        run = self.runs[name]
        asked_of = wanted(run.contract, command) if looks else None
        looked = None if asked_of is None else looked_among(asked_of, self.order)
        return Given(actor, run.now, name, looked=looked)

    def said(self, name: str, command: c.Command, actor: Actor | str) -> Decision:
        """Decide and append a command that is no claim."""
        who = Actor(actor) if isinstance(actor, str) else actor
        contract = self.runs[name].contract
        decision = decide(contract, command, self.given(name, command, True, who))
        self.keep(name, decision.events, who)
        return decision

    # --- acts ------------------------------------------------------------------------------------

    def decided(self, name: str, command: c.ClaimEffect) -> Decision:
        """Decide a claim as a ledger does: on the contract alone, where that may do."""
        run, agent = self.runs[name], Actor(AGENT)
        looked = decide(run.contract, command, self.given(name, command, True, agent))
        if is_wanted(run.contract, command):
            return looked
        blind = decide(run.contract, command, self.given(name, command, False, agent))
        if not isinstance(blind, Admitted) or not blind.events:
            return looked
        if not self.admits(self.sending(name, command, blind)):
            return looked
        assert [type(event) for event in blind.events] == [type(event) for event in looked.events]
        return blind

    def asked_before(self, name: str, command: c.ClaimEffect, decision: Decision) -> None:
        """Hold what would have been told before to what the claim comes to."""
        run = self.runs[name]
        may = permission(run.contract, command, self.given(name, command, True, Actor(AGENT)))
        begins = any(isinstance(event, e.EffectStarted) for event in decision.events)
        rule = rule_of(decision)
        assert may.allowed == begins
        assert bool(may) == (rule is None)
        assert [one.rule for one in may.objections[:1]] == ([] if rule is None else [rule])

    @rule(name=st.sampled_from(["run-1", "kid"]), command=CLAIMS, fate=FATES, wait=SPANS)
    def claim(self, name: str, command: c.ClaimEffect, fate: str, wait: float) -> None:
        """Claim; it is stored now, or on its way. What is never landed is lost."""
        self.wait(wait)
        decision = self.decided(name, command)
        self.asked_before(name, command, decision)
        if isinstance(decision, Refusal):
            self.keep(name, decision.events, AGENT)
        elif decision.events:
            one = self.sending(name, command, decision)
            if fate == "late":
                self.sent.append(one)
            else:
                self.land(one)
                self.report(name, fate)

    @rule(
        name=st.sampled_from(["run-1", "kid"]),
        command=CLAIMS,
        said=st.sampled_from(["approved", "approved", "denied", None]),
        what=st.sampled_from([*[None] * 5, "schema", *CHANGES]),
        wait=SPANS,
        fate=FATES,
        anew=st.sampled_from([False, False, False, True]),
    )
    def ask_and_act(
        self,
        name: str,
        command: c.ClaimEffect,
        said: Any,
        what: str | None,
        wait: float,
        fate: str,
        anew: bool,
    ) -> None:
        """Claim, be answered by whoever it is, and claim the same again, with what changes between."""
        self.claim(name, command, "lost", 0)
        key = key_of(self.runs[name], command)
        if anew:
            self.said(name, c.RequestApproval(key=key, question="May we really?"), KIM)
        for one in self.runs[name].contract.approvals:
            if one.key == key and said is not None:
                self.said(name, c.AnswerApproval(answer=said, by=KIM, id=one.id), KIM)
        if what == "schema":
            command = command.with_fields({"tool_schema": "6" * 64})
        elif what is not None:
            self.change(name, what)
        self.claim(name, command, fate, wait)

    @rule()
    def store_late(self) -> None:
        """Store what was sent a moment ago, if the store still takes it."""
        while self.sent:
            one = self.sent.pop()
            if self.admits(one) and (self.runs[one.run].now - one.at).total_seconds() < 10:
                self.land(one)
                return

    @rule(
        name=st.sampled_from(["run-1", "kid"]), what=st.sampled_from(["succeed", "fail", "fail", "unknown"])
    )
    def report(self, name: str, what: str) -> None:
        """Report as the worker of what is executing; who reports nothing has crashed."""
        effect = next((one for one in self.runs[name].contract.effects if one.status == "executing"), None)
        if effect is None:
            return
        reports = {
            "succeed": c.ReportSuccess(attempt=effect.attempt, key=effect.key),
            "fail": c.ReportFailure(attempt=effect.attempt, error=NO, key=effect.key),
            "unknown": c.ReportUnknown(attempt=effect.attempt, because="raised", key=effect.key),
        }
        if what in reports:
            self.said(name, reports[what], AGENT)

    @rule(
        name=st.sampled_from(["run-1", "kid"]),
        which=st.integers(0, 3),
        found=st.sampled_from(["did_not_happen", "unknown", "happened"]),
        by=st.sampled_from([KIM, None]),
    )
    def find_out(self, name: str, which: int, found: Any, by: str | None) -> None:
        if self.keys:
            key = self.keys[which % len(self.keys)]
            method: Any = "probe" if by is None else "person"
            self.said(
                name,
                c.ReconcileEffect(by=by, evidence="looked", found=found, key=key, method=method),
                by or AGENT,
            )

    # --- people ----------------------------------------------------------------------------------

    @rule(
        name=st.sampled_from(["run-1", "kid"]),
        which=st.integers(0, 2),
        said=st.sampled_from(["approved", "approved", "denied"]),
        by=st.sampled_from([KIM, KIM, LEE]),
        writer=st.sampled_from([None, None, FOR_LEE, FOR_AGENT]),
        twice=st.booleans(),
    )
    def answer(self, name: str, which: int, said: Any, by: str, writer: Actor | None, twice: bool) -> None:
        """Answer one of the last requests; who does not hear of it says it again."""
        ids = self.ids[-2:] if which else self.ids
        command = c.AnswerApproval(answer=said, by=by, id=ids[which % len(ids)])
        decision = self.said(name, command, writer or by)
        if writer is FOR_AGENT:
            assert isinstance(decision, Refusal)
            return
        assert isinstance(decision, Admitted)
        run = self.runs[name]
        refusal = told(run.contract, command, run.records[-1:]) if decision.events else None
        if refusal is None and twice:
            again = self.said(name, command, writer or by)
            assert isinstance(again, Admitted)
            held = next((one for one in run.contract.approvals if one.id == command.id), None)
            assert held is not None
            assert held.answered is not None
            assert held.answered.answer == said
            assert (again.events == ()) or held.answered.by != by

    @rule(
        name=st.sampled_from(["run-1", "kid"]),
        which=st.integers(0, 3),
        by=st.sampled_from([AGENT, KIM, LEE]),
        ends=st.booleans(),
    )
    def ask_anew(self, name: str, which: int, by: str, ends: bool) -> None:
        if self.keys:
            key = self.keys[which % len(self.keys)]
            until = self.runs[name].now + x.HOUR if ends else None
            self.said(name, c.RequestApproval(expires_at=until, key=key), by)

    # --- what changes ----------------------------------------------------------------------------

    @rule(name=st.sampled_from(["run-1", "kid"]), what=st.sampled_from(CHANGES))
    def change(self, name: str, what: str) -> None:
        command = changing(self.runs[name].contract, what)
        decision = self.said(name, command, KIM if what in ("authority", "runtime") else AGENT)
        assert isinstance(decision, Admitted), decision

    @rule(name=st.sampled_from(["run-1", "kid"]), id=st.sampled_from(sorted(RULES)), gone=st.booleans())
    def rule_over(self, name: str, id: str, gone: bool) -> None:
        """Let a constraint with a rule bind the run, or bind it no more."""
        command: c.Command = c.AcceptConstraint(asserted_by=KIM, id=id, rule=RULES[id], text=id)
        if any(one.id == id for one in self.runs[name].contract.constraints):
            if not gone:
                return
            command = c.WithdrawConstraint(by=KIM, id=id, reason="no need")
        decision = self.said(name, command, KIM)
        assert isinstance(decision, Admitted), decision

    @rule(name=st.sampled_from(["run-1", "kid"]))
    def stop_and_go_on(self, name: str) -> None:
        """Suspend the run, and let a person lead it through the gate."""
        self.said(name, c.SuspendRun(by=KIM, reason="lunch"), KIM)
        self.lead_on(name)

    @rule(seconds=SPANS)
    def wait(self, seconds: float) -> None:
        for name, run in self.runs.items():
            self.runs[name] = run.later(seconds=seconds)

    # --- the gate has exits ----------------------------------------------------------------------

    def lead_on(self, name: str) -> None:
        """Do what each reason of the gate is cleared by, until the run goes on."""
        for _ in range(8):
            run = self.runs[name].by(KIM).asked(idle_seconds=None)
            reasons = run.judged(take_over=True).reasons
            decided = run.when(c.ResumeRun(take_over=True))
            self.keep(name, decided.decision.events, KIM)
            if not reasons:
                break
            for reason in reasons:
                self.clear(name, reason)
        assert self.runs[name].contract.status == "open", self.runs[name].contract.held

    def clear(self, name: str, reason: e.Reason) -> None:
        contract = self.runs[name].contract
        if reason.kind == "approval_void":
            (key,) = {one.key for one in contract.approvals if one.position == reason.position}
            decision = self.said(name, c.RequestApproval(key=key, question="May we?"), MAX)
            if isinstance(decision, Refusal):  # another run did it: what it came to is told here, too
                word = c.ReconcileEffect(by=KIM, evidence="it is", found="happened", key=key, method="person")
                self.said(name, word, KIM)
                for one in self.runs[name].contract.approvals:
                    if one.key == key:  # where nothing waits any more, a no ends the question
                        self.said(name, c.AnswerApproval(answer="denied", by=MAX, id=one.id), MAX)
        elif reason.kind in ("effect_executing", "effect_unknown", "effect_disputed"):
            self.wait(3600)
            for effect in contract.effects:
                word = c.ReconcileEffect(
                    by=KIM,
                    evidence=f"looked at {contract.position}",
                    found="did_not_happen",
                    key=effect.key,
                    method="person",
                )
                self.said(name, word, KIM)
        elif reason.kind.startswith("authority_"):
            self.said(name, c.RenewAuthority(by=KIM, id="refunds", add_budget=x.EUR_10), KIM)
        else:
            raise AssertionError(reason)

    # --- what always holds -----------------------------------------------------------------------

    @invariant()
    def nothing_begins_twice_blindly(self) -> None:
        for key in self.keys:
            assert_nothing_began_twice_blindly(self.order, key)
            assert_attempts_are_counted(self.order, key)
            begun = {record.event.key for record in self.order if isinstance(record.event, e.EffectStarted)}
            acts = {
                before.event.act
                for before, after in zip(self.order, self.order[1:], strict=False)
                if isinstance(before.event, e.EffectIntended)
                and isinstance(after.event, e.EffectStarted)
                and before.event.key == key
            }
            assert len(acts) == (key in begun), "a key was begun with other arguments"

    @invariant()
    def what_waits_sets_nothing_aside(self) -> None:
        for run in self.runs.values():
            contract = run.contract
            for effect in contract.effects:
                if effect.attempt == 0:
                    assert (effect.reserved, effect.authority) == (None, ())
            for grant in contract.grants:
                held = sum(
                    (
                        (effect.reserved or {}).get("EUR", Decimal(0))
                        for effect in contract.effects
                        if grant.id in effect.authority
                    ),
                    Decimal(0),
                )
                assert (grant.reserved or {}).get("EUR", Decimal(0)) == held
                assert (grant.budget or {})["EUR"] >= (grant.spent or {}).get("EUR", Decimal(0)) + held

    @invariant()
    def each_act_has_one_request(self) -> None:
        for run in self.runs.values():
            keys = [one.key for one in run.contract.approvals]
            assert len(keys) == len(set(keys))
            waiting = {one.key for one in run.contract.effects if one.status == "pending"}
            denied = {
                one.key
                for one in run.contract.approvals
                if one.answered is not None and one.answered.answer == "denied"
            }
            assert waiting.isdisjoint(denied)

    def teardown(self) -> None:
        for name, run in self.runs.items():
            for cut in {1, max(1, run.position // 2), max(1, run.position - 3)}:
                state: Contract | None = load(saved(run.upto(cut).contract))
                for record in run.records[cut:]:
                    state = evolve(state, record)
                assert state == run.contract
            self.nothing_is_stuck(name)

    def nothing_is_stuck(self, name: str) -> None:
        """Whatever was answered, each act can be asked about and approved; then only other rules bar it."""
        self.lead_on(name)
        for command in (
            claim(args='{"amount":150}', step="a"),
            claim(args='{"amount":50}', needs_approval=True),
        ):
            decision = self.decided(name, command)
            if isinstance(decision, Admitted) and rule_of(decision) is not None:
                self.land(self.sending(name, command, decision))
            run = self.runs[name]
            key = key_of(run, command)
            asked = c.RequestApproval(key=key, question=f"May we at {run.position}?")
            if any(one.key == key for one in run.contract.approvals):
                self.said(name, asked, MAX)
            for one in self.runs[name].contract.approvals:
                if one.key == key:
                    self.said(name, c.AnswerApproval(answer="approved", by=LEE, id=one.id), LEE)
            rule = rule_of(self.decided(name, command))
            assert rule not in ("approval_required", "approval_denied")


Approvals.TestCase.settings = settings(stateful_step_count=20)
TestApprovals = pytest.mark.slow(Approvals.TestCase)
