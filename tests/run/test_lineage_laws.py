"""What holds of every successor and fork, whatever the run that it comes from went through."""

from __future__ import annotations

from typing import Any

from hypothesis import given as draws
from hypothesis import strategies as st

from ledger import commands as c
from ledger import events as e
from ledger.gate import KINDS
from ledger.run.approvals import is_denied, never_begun
from ledger.run.constraints import gone_at
from ledger.run.contract import Contract
from ledger.run.decision import Admitted
from ledger.testing import History
from ledger.values import Verdict
from tests.run.histories import decided

Run = History[Contract | None]

PLACED = {"accepted_at", "args", "args_digest", "at", "change", "position", "said_by", "supersedes"}
"""What tells where something was stated, rather than what."""


def said(items: Any) -> list[dict[str, Any]]:
    return [item.model_dump(exclude=PLACED) for item in items]


@draws(run=decided())
def test_a_successor_has_all_that_holds_and_is_open_and_the_rest_is_named_with_a_reason(run: Run) -> None:
    restart = c.RestartRun(as_run="heir", by="human:kim", goal="Go on", reason="it cannot go on")
    answer = run.by("human:kim").when(restart)
    before = run.contract
    if before.fork_of is not None:
        answer.then_refused("effects_disabled")
        return
    assert isinstance(answer.decision, Admitted), answer.decision
    heir = answer.after.other("heir")
    after, begun = heir.contract, heir.records[1].event
    assert isinstance(begun, e.RunRestarted)
    gone = {one.ref for one in begun.dropped}
    assert all(one.reason for one in begun.dropped)
    for kind, old, new in (
        ("constraint", before.constraints, after.constraints),
        ("assumption", before.assumptions, after.assumptions),
    ):
        kept = {f"{kind}:{item.id}" for item in new}
        assert kept | {ref for ref in gone if ref.startswith(kind)} == {f"{kind}:{item.id}" for item in old}
        assert not kept & gone
    for item in after.constraints:
        source = None if item.source is None else run.sources.get(item.source.stream)
        assert source is None or gone_at(item, source) is None
    assert said(after.obligations) == said(before.obligations)
    begun_before = [effect.key for effect in before.effects if not never_begun(effect)]
    assert [effect.key for effect in after.effects] == begun_before
    asked = {f"approval:{one.id}" for one in before.approvals if not is_denied(one)}
    assert (after.approvals, {ref for ref in gone if ref.startswith("approval:")}) == ((), asked)
    assert [(one.id, one.principal, one.scopes) for one in after.grants] == [
        (one.id, one.principal, one.scopes) for one in before.grants
    ]
    assert after.authority_needed is before.authority_needed
    assert after.tally.effects_done == before.tally.effects_done
    assert after.root == before.root


@draws(run=decided())
def test_whatever_calls_for_a_successor_speaks_against_none(run: Run) -> None:
    restart = c.RestartRun(as_run="heir", by="human:kim", goal="Go on", reason="it cannot go on")
    answer = run.by("human:kim").when(restart)
    if not isinstance(answer.decision, Admitted):
        return
    judged = answer.after.other("heir").judged()
    assert not {Verdict.RESTART, Verdict.REFUSE} & {KINDS[one.kind].verdict for one in judged.reasons}


@draws(run=decided(), place=st.floats(0, 1))
def test_a_fork_says_what_its_origin_said_at_that_position_and_performs_nothing(
    run: Run, place: float
) -> None:
    at = max(1, int(place * run.position))
    then = run.upto(at).contract
    forked = run.when(c.ForkRun(as_run="what-if", at=at)).after
    fork = forked.other("what-if").contract
    assert (fork.goal.text, fork.goal.rests_on) == (then.goal.text, then.goal.rests_on)
    assert said(fork.constraints) == said(then.constraints)
    assert said(fork.assumptions) == said(item for item in then.assumptions if item.refuted is None)
    assert said(fork.observations) == said(item for item in then.observations if item.invalidated is None)
    assert said(fork.messages) == said(then.messages)
    assert said(filter(None, [fork.cursor, fork.summary])) == said(filter(None, [then.cursor, then.summary]))
    assert (fork.plan and fork.plan.steps) == (then.plan and then.plan.steps)
    assert (fork.obligations, fork.grants, fork.effects, fork.approvals) == ((), (), (), ())
    assert forked.contract == run.contract
