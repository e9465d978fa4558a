"""Parts of a run that are runs: bound as it is, and lost without taking the others along."""

from __future__ import annotations

import threading
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from ledger import Carve, Run
from ledger.errors import AuthorityExceeded, ContractChanged, RunIsHeld, StillOpen
from tests.scenarios.conftest import Begin
from tests.scenarios.scene import DAY, KIM, LIMIT, OTHER, PROGRAM, RUN, Scene, accept

KIDS = ("refund-17/a", "refund-17/b")


def pay(run: Run, scene: Scene, order: int, **declared: Any) -> None:
    run.perform(scene.till.tool(**declared), {"order": order}, step=f"pay-{order}")


def family(scene: Scene, budget: str | None = None) -> tuple[Run, Run, Run]:
    """Open a run under the policy, and two parts of it."""
    scene.publish("4", {"limit-100": LIMIT})
    parent = scene.begin("Refund orders 17 and 18")
    accept(parent)
    carves: list[Any] = []
    if budget is not None:
        scene.program(KIM).run(RUN).grant(
            "till",
            principal=PROGRAM.id,
            scopes=["pay"],
            granted_by="human:kim",
            budget={"EUR": Decimal(budget)},
            on_resume="continue",
        )
        carves = [Carve(id="till", budget={"EUR": Decimal(20)})]
    for number, kid in enumerate(KIDS):
        parent.open_child(kid, f"Refund order {17 + number}", grants=carves)
    first, second = (scene.program().run(kid) for kid in KIDS)
    return parent, first, second


def owed(scene: Scene, run: str = RUN) -> list[str]:
    return [one.id for one in scene.program().contract(run).obligations]


def test_a_lost_child_blocks_no_sibling(begin: Begin) -> None:
    desk = begin(3 * DAY)
    scene = desk.scene
    parent, lost, sibling = family(scene)
    lost.move("begun")
    pay(sibling, scene, 18)
    sibling.close("completed")
    assert owed(scene) == [KIDS[0]]
    scene.clock.tick(3 * DAY)
    desk.is_held("replan", "idle", run=KIDS[0])
    with pytest.raises(StillOpen):
        parent.close("completed")
    # The parent gives it up, or somebody goes on with it: here a successor does it.
    desk.restart("refund-17/a2", KIDS[0])
    desk.goes_on("refund-17/a2")
    again = scene.program().run("refund-17/a2")
    pay(again, scene, 17)
    again.close("completed")
    assert owed(scene) == []
    assert scene.till.orders == [18, 17]
    scene.program().run(RUN).close("completed")
    assert scene.is_sound()


def test_a_child_that_failed_is_still_owed(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    _, first, second = family(scene)
    first.close("failed", reason="no such order")
    second.close("completed")
    assert owed(scene) == [KIDS[0]]
    scene.program(KIM).run(RUN).waive(KIDS[0], reason="it was a mistake", by="human:kim")
    scene.program().run(RUN).suspend(reason="night")
    desk.goes_on()
    scene.program().run(RUN).close("completed")


def test_a_withdrawal_reaches_parent_and_children(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    parent, first, second = family(scene)
    pay(first, scene, 17)
    scene.withdraw()
    for run in (parent, second):
        with pytest.raises(ContractChanged):
            pay(run, scene, 19)
    with pytest.raises(ContractChanged):
        parent.open_child("refund-17/c", "Refund order 19")
    for name in (RUN, *KIDS):
        scene.program().run(name).suspend(reason="night")
        desk.is_held("restart", "constraint_withdrawn", run=name)
    for name in KIDS:
        desk.restart(f"{name}2", name)
        desk.goes_on(f"{name}2")
    for name, order in zip(KIDS, (17, 18), strict=True):
        run = scene.program().run(f"{name}2")
        pay(run, scene, order)
        run.close("completed")
    assert scene.till.orders == [17, 18]
    assert owed(scene) == []
    assert scene.is_sound()


def test_children_spend_what_they_were_given_and_bring_back_the_rest(scene: Scene) -> None:
    ten = {"EUR": Decimal(10)}
    parent, first, second = family(scene, budget="50")
    pay(first, scene, 17, cost=ten)
    pay(first, scene, 27, cost=ten)
    with pytest.raises(AuthorityExceeded):
        pay(first, scene, 37, cost=ten)
    with pytest.raises(AuthorityExceeded):
        parent.open_child("refund-17/c", "More", grants=[Carve(id="till", budget={"EUR": Decimal(20)})])
    pay(second, scene, 18, cost=ten)
    first.close("completed")
    second.close("completed")
    (grant,) = scene.program().contract(RUN).grants
    assert {unit: int(amount) for unit, amount in (grant.spent or {}).items()} == {"EUR": 30}
    for order in (19, 20):
        pay(parent, scene, order, cost=ten)
    with pytest.raises(AuthorityExceeded):
        pay(parent, scene, 21, cost=ten)
    assert scene.till.orders == [17, 27, 18, 19, 20]


# --- at once ---------------------------------------------------------------------------------------------


def together(*calls: Callable[[], object]) -> None:
    """Let threads call at the same time."""
    begin = threading.Barrier(len(calls))
    failed: list[BaseException] = []

    def one(call: Callable[[], object]) -> None:
        begin.wait()
        try:
            call()
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=one, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_children_end_while_their_parent_works(scene: Scene) -> None:
    parent, first, second = family(scene, budget="50")

    def work() -> None:
        for number in range(10):
            parent.move(f"step-{number}")

    together(work, lambda: first.close("completed"), lambda: second.close("completed"))
    names = scene.names()
    assert names.count("cursor.moved") == 10
    assert names.count("obligation.discharged") == 2
    assert names.count("authority.returned") == 2
    (grant,) = scene.program().contract(RUN).grants
    assert not grant.spent or not any(grant.spent.values())
    assert scene.is_sound()


def test_who_opens_one_child_twice_at_once_owes_it_once(scene: Scene) -> None:
    scene.begin()
    programs = [scene.program().run(RUN) for _ in range(4)]
    together(*(lambda run=run: run.open_child("refund-17/a", "Pay it back") for run in programs))
    assert owed(scene) == ["refund-17/a"]
    assert scene.names("refund-17/a") == ["run.opened"]
    assert scene.is_sound()


# --- stopped from above ----------------------------------------------------------------------------


def test_who_stops_a_run_stops_what_its_parts_would_begin_however_far_below(begin: Begin) -> None:
    """Each part is another program, which has heard nothing of it."""
    scene = begin(DAY).scene
    _, kid, sibling = family(scene)
    kid.open_child("deep", "Refund order 19")
    deep = scene.program(OTHER).run("deep")
    pay(deep, scene, 19)
    operator = scene.program(KIM)
    operator.run(RUN).suspend(reason="somebody pays twice")
    for part, order in ((kid, 17), (sibling, 18), (deep, 20)):
        with pytest.raises(RunIsHeld, match="of which this run is a part"):
            pay(part, scene, order)
        part.move("thinking")
        assert not part.may(scene.till.tool(), {"order": order}, step=f"pay-{order}")
    pay(deep, scene, 19)  # what was done is told
    assert scene.till.orders == [19]
    assert operator.resume(RUN)
    for part, order in ((kid, 17), (sibling, 18), (deep, 20)):
        assert part.may(scene.till.tool(), {"order": order}, step=f"pay-{order}")
        pay(part, scene, order)
    assert scene.till.orders == [19, 17, 18, 20]


def test_who_cancels_a_run_stops_its_parts_until_a_person_gives_one_a_successor(begin: Begin) -> None:
    desk = begin(DAY)
    scene = desk.scene
    _, kid, sibling = family(scene)
    kid.open_child("deep", "Refund order 19")
    deep = scene.program().run("deep")
    scene.program(KIM).run(RUN).close("cancelled", by="human:kim", reason="paid by hand")
    for part, order in ((kid, 17), (sibling, 18), (deep, 19)):
        with pytest.raises(RunIsHeld, match="closed as cancelled"):
            pay(part, scene, order)
    assert scene.till.orders == []
    kid.open_child("late", "Refund order 21")
    with pytest.raises(RunIsHeld, match="close 'late', or have a person restart it"):
        pay(scene.program().run("late"), scene, 21)
    desk.restart("refund-17/a2", KIDS[0])
    heir = scene.program().run("refund-17/a2")
    pay(heir, scene, 17)
    pay(deep, scene, 19)
    with pytest.raises(RunIsHeld):
        pay(sibling, scene, 18)
    sibling.suspend(reason="night")
    desk.is_held("restart", "ended_above", run=KIDS[1])
    sibling.close("cancelled")
    assert scene.till.orders == [17, 19]


def test_the_gate_lets_no_part_go_on_of_what_is_suspended(begin: Begin) -> None:
    desk = begin(DAY)
    scene = desk.scene
    _, kid, _ = family(scene)
    kid.suspend(reason="night")
    operator = scene.program(KIM)
    operator.run(RUN).suspend(reason="somebody pays twice")
    desk.is_held("reapprove", "suspended_above", run=KIDS[0])
    assert "run.resumed" not in scene.names(KIDS[0])
    dry = operator.resume(KIDS[0], dry_run=True)
    assert [one.kind for one in dry.reasons] == ["suspended_above"]
    assert operator.resume(RUN)
    assert scene.names(KIDS[0]).count("run.resumed") == 0
    desk.goes_on(KIDS[0])
    pay(scene.program().run(KIDS[0]), scene, 17)
    assert scene.till.orders == [17]


def test_a_program_that_waits_for_its_parts_stops_none_of_them(begin: Begin) -> None:
    scene = begin(DAY).scene
    parent, kid, _ = family(scene)
    parent.suspend(reason="until the parts are done")
    pay(kid, scene, 17)
    assert scene.till.orders == [17]
