"""What rests on several refuted assumptions is refuted as much as what rests on one."""

from __future__ import annotations

from ledger import Actor, Verdict, open_ledger
from ledger.testing import Clock
from ledger.values import Step

AGENT = Actor("agent:refunds", session="s-1")


def test_a_plan_of_which_each_step_rests_on_another_refuted_assumption_is_refuted() -> None:
    with open_ledger(":memory:", clock=Clock()) as ledger:
        run = ledger.open_run("r", goal="Refund orders", actor=AGENT)
        for name in ("a", "b"):
            run.assume(name, "It came back")
        run.commit_plan(
            [Step(name="one", rests_on=("assumption:a",)), Step(name="two", rests_on=("assumption:b",))]
        )
        run.refute("a", evidence="an empty shelf")
        asked = ledger.resume("r", actor=AGENT)
        assert [one.kind for one in asked.reasons] == ["assumption_refuted"]
        run.refute("b", evidence="an empty shelf")
        asked = ledger.resume("r", actor=AGENT)
        assert [one.kind for one in asked.reasons] == ["plan_refuted", "plan_refuted"]
        assert asked.verdict is Verdict.RESTART
        run.revise_plan([Step(name="three")], reason="another way")
        assert ledger.resume("r", actor=AGENT).verdict is Verdict.CONTINUE
