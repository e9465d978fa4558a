"""Many who draw on one budget at once: exactly as many acts are begun as it allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Ledger, open_ledger
from ledger.commands import Carve
from ledger.errors import AuthorityExceeded
from ledger.events import EffectRefused, EffectStarted
from tests.effects import worker
from tests.effects.payer import AGENT, COST, pay, pay_at_once
from tests.stores.builder import together
from tests.stores.place import address

KIM = Actor("human:kim")
BUDGET, CROWD = 100, 32
Places = Callable[[], Ledger]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Places]:
    """Return a function that begins another program at one ledger; in memory all are the same one."""
    with ExitStack() as opened:
        if request.param == "memory":
            one = opened.enter_context(open_ledger(":memory:", actor=AGENT))
            yield lambda: one
        else:
            place = tmp_path / "ledger.db" if request.param == "sqlite" else address("postgres", tmp_path)
            yield lambda: opened.enter_context(open_ledger(place, actor=AGENT, busy_seconds=60))


def granted(ledger: Ledger, run: str = "pays", **more: Any) -> None:
    ledger.open_run(run, "Pay", require_authority=True, **more)
    kim = ledger.run(run, actor=KIM)
    kim.grant("till", principal=AGENT.id, scopes=["pay"], granted_by=KIM.id, budget={"EUR": BUDGET})


def begun(ledger: Ledger, *runs: str) -> int:
    return sum(isinstance(one.event, EffectStarted) for run in runs for one in ledger.log(run))


def test_a_crowd_at_one_budget_begins_what_it_allows_and_no_more(program: Places) -> None:
    programs = [program(), program()]
    granted(programs[0])
    told = Counter(together(*(partial(pay, programs[number % 2], "pays", number) for number in range(CROWD))))
    assert told == {"paid": BUDGET // COST, "authority_exceeded": CROWD - BUDGET // COST}
    assert begun(programs[0], "pays") == BUDGET // COST
    (grant,) = programs[0].contract("pays").grants
    assert (grant.spent, grant.reserved) == ({"EUR": Decimal(BUDGET)}, None)
    # Each of them was told by the ledger, and not by a race that was lost too often.
    refused = [one.event for one in programs[0].log("pays") if isinstance(one.event, EffectRefused)]
    assert {event.rule for event in refused} == {"authority_exceeded"}


def test_a_parent_and_its_children_share_one_budget(program: Places) -> None:
    ledger = program()
    granted(ledger)

    def child(number: int) -> str:
        try:
            ledger.run("pays").open_child(
                f"pays/{number}", "Pay a part", grants=[Carve(id="till", budget={"EUR": Decimal(40)})]
            )
        except AuthorityExceeded as refused:
            return refused.code
        return "opened"

    calls: list[Callable[[], str]] = [partial(child, number) for number in range(4)]
    calls += [partial(pay, ledger, "pays", number) for number in range(12)]
    told = Counter(together(*calls))
    spent, passed_on = COST * told["paid"], 40 * told["opened"]
    assert 0 < spent + passed_on <= BUDGET
    (grant,) = ledger.contract("pays").grants
    assert grant.spent == {"EUR": Decimal(spent + passed_on)}
    # Who was refused was so because too little was left for it then, and less is left now.
    assert BUDGET - spent - passed_on < 40
    assert told["paid"] == 12 or BUDGET - spent - passed_on < COST


def test_a_budget_that_is_narrowed_amid_a_crowd_is_not_overdrawn(program: Places) -> None:
    ledger = program()
    granted(ledger)
    kim = ledger.run("pays", actor=KIM)

    def narrow() -> str:
        kim.narrow("till", as_="less", reason="too much", by=KIM.id)
        return "narrowed"

    told = Counter(together(narrow, *(partial(pay, ledger, "pays", number) for number in range(CROWD))))
    assert told["narrowed"] == 1
    # What is in flight then is paid out of the old grant, all that is left out of the narrower one.
    assert told["paid"] * COST == BUDGET
    (grant,) = ledger.contract("pays").grants
    assert grant.id == "less"
    assert (grant.spent or {"EUR": Decimal(0)}) == grant.budget


@pytest.mark.slow
def test_two_processes_at_one_budget_begin_what_it_allows(place: Path | str) -> None:
    with open_ledger(place, actor=AGENT, busy_seconds=60) as ledger:
        granted(ledger)
        begin = worker.CONTEXT.Barrier(2)
        started = [worker.start(pay_at_once, place, 100 * each, CROWD // 2, begin) for each in (1, 2)]
        told = Counter(report for _, reports in started for report in worker.drain(reports))
        for process, _ in started:
            process.join()
        assert told == {"paid": BUDGET // COST, "authority_exceeded": CROWD - BUDGET // COST}
        assert begun(ledger, "pays") == BUDGET // COST
