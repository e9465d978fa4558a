"""Successors and forks: what was done stays done, and what nobody knows is found out by who comes next."""

from __future__ import annotations

import pytest

from ledger import Run
from ledger.errors import EffectsDisabled, OutcomeUnknown, PossibleRepeat, RunIsClosed
from ledger.events import RunOpened
from tests.scenarios.conftest import Begin
from tests.scenarios.desk import Desk
from tests.scenarios.model import work
from tests.scenarios.scene import KIM, LIMIT, PROGRAM, RUN, Scene, accept
from tests.scenarios.till import LEASE, Till


def pay(run: Run, scene: Scene, order: int = 17) -> None:
    run.perform(scene.till.tool(), {"order": order}, step=f"pay-{order}")


def lose(run: Run, scene: Scene, order: int) -> None:
    """Pay, and hear nothing."""

    def no_answer() -> None:
        raise TimeoutError("no answer")

    till = Till(scene.till.path, no_answer)
    till.is_silent = True
    with pytest.raises(OutcomeUnknown):
        pay(run, Scene(scene.place, scene.folder, scene.clock, till), order)


def under_policies(desk: Desk) -> Run:
    desk.scene.publish("4", {f"rule-{n}": f"{LIMIT} ({n})" for n in range(3)})
    run = desk.scene.begin()
    for number in range(3):
        accept(run, f"rule-{number}", f"{LIMIT} ({number})")
    return run


def test_three_successors_later_nothing_is_paid_again(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    run = under_policies(desk)
    pay(run, scene)
    name = RUN
    for number in range(3):
        scene.program().run(name).suspend(reason="night")
        scene.withdraw(f"rule-{number}")
        said = desk.is_held("restart", "constraint_withdrawn", run=name)
        assert len(said.kinds) == 1
        name, before = f"refund-17-{number}", name
        desk.restart(name, before)
        pay(scene.program().run(name), scene)
        with pytest.raises(RunIsClosed):
            pay(scene.program().run(before), scene, 18)
    last = scene.program().run(name)
    pay(last, scene, 18)
    with pytest.raises(PossibleRepeat):
        last.perform(scene.till.tool(), {"order": 17}, step="another-step")
    assert scene.till.orders == [17, 18]
    contract = last.contract
    assert (contract.root, contract.constraints) == (RUN, ())
    assert contract.tally.effects_done == 2
    last.close("completed")
    assert scene.is_sound()


@pytest.mark.parametrize("happened", [True, False])
def test_the_successor_finds_out_what_its_ancestor_left_open(begin: Begin, happened: bool) -> None:
    desk = begin(2 * LEASE)
    scene = desk.scene
    run = under_policies(desk)
    pay(run, scene)
    if happened:
        lose(run, scene, 18)
    else:
        scene.till.path.rename(scene.till.path.with_suffix(".kept"))
        lose(run, scene, 18)
        scene.till.path.with_suffix(".kept").replace(scene.till.path)
    run.suspend(reason="night")
    scene.withdraw("rule-0")
    scene.clock.tick(2 * LEASE)
    desk.is_held("restart", "constraint_withdrawn", "effect_unknown")
    desk.restart("refund-17b")
    said = desk.is_held("reconcile", "effect_unknown", run="refund-17b")
    assert RUN in said.whats[0]
    with pytest.raises(Exception, match="held"):
        pay(scene.program().run("refund-17b"), scene, 18)
    (left,) = scene.program().contract("refund-17b").effects
    assert left.inherited_from == RUN
    desk.settle(left.key, happened=happened)
    desk.goes_on("refund-17b")
    pay(scene.program().run("refund-17b"), scene)
    pay(scene.program().run("refund-17b"), scene, 18)
    assert scene.till.orders == [17, 18]
    scene.program().run("refund-17b").close("completed")
    assert scene.is_sound()


def test_a_successor_is_what_the_old_run_is_told_to_be(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    run = under_policies(desk)
    run.promise("tell", "Mail the customer", owed_to="customer:17")
    run.assume("in-stock", "The item is in stock")
    person = scene.program(KIM).run(RUN)
    person.grant(
        "till",
        principal=PROGRAM.id,
        scopes=["pay"],
        granted_by="human:kim",
        budget={"EUR": "30"},
        on_resume="continue",
    )
    pay(run, scene)
    scene.withdraw("rule-1")
    desk.restart("refund-17b")
    contract = scene.program().contract("refund-17b")
    assert [one.id for one in contract.constraints] == ["rule-0", "rule-2"]
    assert [one.id for one in contract.obligations] == ["tell"]
    assert [one.id for one in contract.assumptions] == ["in-stock"]
    (grant,) = contract.grants
    assert grant.budget is not None
    assert {unit: int(amount) for unit, amount in grant.budget.items()} == {"EUR": 20}
    old = scene.program().contract(RUN)
    assert old.closed is not None
    assert (old.closed.successor, contract.predecessor) == ("refund-17b", RUN)


# --- forks -----------------------------------------------------------------------------------------------


def test_a_fork_of_a_closed_run_reads_and_performs_nothing(scene: Scene) -> None:
    run = scene.begin()
    pay(run, scene)
    here = run.contract.position
    run.revise_goal("Refund order 18", reason="asked", by="human:kim")
    pay(run, scene, 18)
    run.close("completed")
    closed = scene.program().contract(RUN)
    fork = scene.program().fork(RUN, as_="what-if", at=here)
    assert fork.contract.goal.text == "Refund order 17"
    pay(fork, scene)
    with pytest.raises(EffectsDisabled):
        pay(fork, scene, 19)
    assert scene.till.orders == [17, 18]
    assert scene.program().contract(RUN) == closed
    again = scene.program().fork(RUN, as_="what-if", at=here)
    assert again.contract.position == fork.contract.position
    assert scene.is_sound()


def test_a_fork_inside_a_child_stands_where_the_child_stood(scene: Scene) -> None:
    """Time travel into a part of a run: the child's own position counts, and nothing runs again."""
    parent = scene.begin()
    parent.open_child("refund-17/pay", "Pay it back")
    child = scene.program().run("refund-17/pay")
    child.move("look-up")
    pay(child, scene)
    child.move("paid")
    here = child.contract.position
    child.move("told")
    child.revise_goal("Something else", reason="asked", by="human:kim")
    fork = scene.program().fork("refund-17/pay", as_="what-if", at=here)
    contract = fork.contract
    assert contract.cursor is not None
    assert (contract.cursor.node, contract.goal.text) == ("paid", "Pay it back")
    opened = scene.records("what-if")[0].event
    assert isinstance(opened, RunOpened)
    assert opened.parent is not None
    assert (opened.parent.run, opened.parent.position, opened.parent.root) == ("refund-17/pay", here, RUN)
    pay(fork, scene)
    with pytest.raises(EffectsDisabled):
        pay(fork, scene, 18)
    assert scene.till.orders == [17]
    # The others are as they were, and go on.
    child.close("completed")
    parent.close("completed")


def test_a_fork_is_resumed_and_still_performs_nothing(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    pay(scene.begin(), scene)
    fork = scene.program().fork(RUN, as_="what-if", at=1)
    fork.suspend(reason="lunch")
    desk.goes_on("what-if")
    with pytest.raises(EffectsDisabled):
        work(scene.program().run("what-if"), "## Goal\n- Refund order 18\n", (), scene.till)
    assert scene.till.orders == [17]
