"""What a run is for, or may do, changes while its program works, which dies before its next step."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ledger import Run
from ledger.commands import AcceptConstraint, Command, GrantAuthority, ReviseGoal
from ledger.errors import AuthorityExceeded
from tests.effects.worker import start
from tests.scenarios.conftest import Begin
from tests.scenarios.desk import Desk
from tests.scenarios.model import Message, asked, work
from tests.scenarios.programs import RECORDED, work_and_stop
from tests.scenarios.scene import KIM, PROGRAM, RUN

OLD = (Message("user", "Refund order 17 and order 18"),)
"""What a transcript still says when the contract says something else."""

CHANGES: dict[str, tuple[Command, list[int]]] = {
    "goal widened": (
        ReviseGoal(text="Refund order 17, order 18 and order 19", reason="customer asked", by="human:kim"),
        [17, 18, 19],
    ),
    "goal replaced": (
        ReviseGoal(text="Refund order 17 and order 20", reason="18 came back", by="human:kim"),
        [17, 20],
    ),
    "constraint added": (
        AcceptConstraint(id="not-18", text="Never refund order 18", asserted_by="human:kim"),
        [17],
    ),
}


def killed(desk: Desk, said: Callable[[Desk], object]) -> None:
    """Let a program pay the first order, people say something then, and kill it before its next step."""
    scene = desk.scene
    till = scene.till.path
    process, reports = start(work_and_stop, scene.place, scene.clock, till, "queryable", RECORDED)
    assert reports.recv() == RECORDED
    said(desk)
    process.kill()
    process.join()
    assert scene.till.orders == [17]


@pytest.mark.parametrize("change", CHANGES)
def test_the_next_program_follows_what_was_said_last(begin_lasting: Begin, change: str) -> None:
    command, orders = CHANGES[change]
    desk = begin_lasting()
    scene = desk.scene
    scene.begin("Refund order 17 and order 18")
    killed(desk, lambda desk: desk.say(command))
    told = desk.goes_on()
    assert asked(None, OLD) == [17, 18]
    assert asked(told.prompt, OLD) == orders
    assert " by human:kim" in (told.message or "")
    work(scene.program().run(RUN), told.prompt, OLD, scene.till)
    assert scene.till.orders == orders
    assert scene.is_sound()


def test_the_next_program_may_what_it_was_allowed_last(begin_lasting: Begin) -> None:
    desk = begin_lasting()
    scene = desk.scene
    scene.begin()
    may = {"principal": PROGRAM.id, "granted_by": "human:kim", "on_resume": "continue"}
    scene.program(KIM).run(RUN).grant("till", scopes=["pay"], **may)  # type: ignore[arg-type]
    vouchers = scene.till.tool(name="vouchers.pay")

    def pay_in_vouchers(run: Run) -> None:
        run.perform(vouchers, {"order": 18}, step="pay-18")

    def widen(desk: Desk) -> None:
        with pytest.raises(AuthorityExceeded):
            pay_in_vouchers(scene.program().run(RUN))
        desk.say(GrantAuthority(id="vouchers", scopes=("vouchers.*",), **may))  # type: ignore[arg-type]

    killed(desk, widen)
    told = desk.goes_on()
    assert "grant vouchers" in (told.message or "")
    work(scene.program().run(RUN), told.prompt, (), scene.till)
    pay_in_vouchers(scene.program().run(RUN))
    assert scene.till.orders == [17, 18]
