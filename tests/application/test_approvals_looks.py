"""Looks under rules: what names the tool binds them, what speaks of all tools does not; nobody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Ledger, Rule, Run, Step, Verdict
from ledger.canonical import canonical_text
from ledger.errors import ConstraintViolated, RunIsHeld
from ledger.events import EffectRefused
from ledger.gateway.tools import declare
from ledger.run.keys import observation_key
from ledger.values import Limits, Operator, Predicate
from tests.application.approving import KIM, PROGRAM, opened
from tests.application.conftest import SetClock
from tests.application.performing import Outside, names
from tests.stores.conftest import KINDS

DESK = Actor("service:desk")
AT_EACH = 60
SMALL = Predicate(operator=Operator.AT_MOST, path="/most", value="100")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return KINDS[request.param](tmp_path)


@pytest.fixture
def ledger(store: Any, clock: SetClock) -> Ledger:
    return opened(store, clock)


@pytest.fixture
def outside(ledger: Ledger) -> Outside:
    """Return what `search`, which wants 10 things at most unless it is told how many, and `other` look at."""
    outside = Outside()

    def search(of: str, most: int = 10) -> Any:
        return outside(of=of, most=most)

    def other(of: str) -> Any:
        return outside(of=of)

    for function in (search, other):
        ledger.register(declare(function, recovery="read_only", fresh_for=AT_EACH))
    ledger.open_run("r", "Find tea", actor=PROGRAM)
    return outside


def search(ledger: Ledger, of: str = "tea", tool: str = "search", **args: Any) -> Any:
    return ledger.run("r", actor=PROGRAM).perform(tool, {"of": of, **args})


def rule(ledger: Ledger, **said: Any) -> None:
    ledger.run("r", actor=DESK).accept("rule", "Look at little", asserted_by=KIM, rule=Rule(**said))


@pytest.mark.parametrize(
    "said",
    [
        {"deny": ("search",)},
        {"tools": ("search",), "needs_approval": True},
        {"tools": ("search",), "require": (Predicate(operator=Operator.LESS, path="/most", value="10"),)},
        {"tools": ("search",), "resources": ("shop:1",)},
        {"tools": ("search",), "tenants": ("another",)},
    ],
    ids=["denied", "to be approved", "arguments", "resource", "tenant"],
)
def test_a_look_that_breaks_a_rule_which_names_its_tool_is_not_taken(
    ledger: Ledger, outside: Outside, said: dict[str, Any]
) -> None:
    rule(ledger, **said)
    assert not ledger.run("r", actor=PROGRAM).may("search", {"of": "tea"})
    with pytest.raises(ConstraintViolated) as violated:
        search(ledger)
    assert violated.value.evidence["id"] == "rule"
    assert outside.calls == 0
    refused = [record.event for record in ledger.log("r") if isinstance(record.event, EffectRefused)]
    assert [(event.rule, event.tool) for event in refused] == [("constraint_violated", "search")]
    assert ledger.contract("r").approvals == ()
    # It says nothing of another tool.
    assert search(ledger, tool="other") == {"done": 1}


@pytest.mark.parametrize(
    "said",
    [
        {"needs_approval": True},
        {"allow": ("pay",)},
        {"require": (Predicate(operator=Operator.PRESENT, path="/reason"),)},
        {"tools": ("pay",), "needs_approval": True},
        {"tools": ("search",), "require": (SMALL,)},
    ],
    ids=["approval of all", "only others", "arguments of all", "another tool", "within it"],
)
def test_a_look_goes_on_under_rules_that_do_not_name_its_tool_or_that_it_keeps_to(
    ledger: Ledger, outside: Outside, said: dict[str, Any]
) -> None:
    rule(ledger, **said)
    assert ledger.run("r", actor=PROGRAM).may("search", {"of": "tea"})
    assert search(ledger) == {"done": 1}
    assert names(ledger) == ["constraint.accepted", "observation.recorded"]


def test_what_was_seen_before_the_rule_is_told_while_it_is_fresh(
    ledger: Ledger, outside: Outside, clock: SetClock
) -> None:
    assert search(ledger) == {"done": 1}
    rule(ledger, deny=("search",))
    assert ledger.run("r", actor=PROGRAM).may("search", {"of": "tea"}).done
    assert search(ledger) == {"done": 1}
    clock.tick(AT_EACH)
    with pytest.raises(ConstraintViolated):
        search(ledger)
    assert outside.calls == 1


def test_a_rule_that_another_process_accepted_a_moment_ago_binds_the_look(
    ledger: Ledger, outside: Outside, store: Any, clock: SetClock
) -> None:
    kept = ledger.run("r", actor=PROGRAM)
    rule(opened(store, clock), deny=("search",))
    with pytest.raises(ConstraintViolated):
        kept.perform("search", {"of": "tea"})
    assert outside.calls == 0


# --- looking again -------------------------------------------------------------------------------


def rested(ledger: Ledger, *looks: tuple[str, str]) -> Run:
    """Let the plan of the run rest on what was seen."""
    refs = []
    for tool, of in looks:
        search(ledger, of, tool)
        refs.append(f"observation:{observation_key(tool, canonical_text({'of': of}))}")
    run = ledger.run("r", actor=PROGRAM)
    run.commit_plan([Step(name="pay", rests_on=tuple(refs))])
    return run


def test_a_held_run_looks_again_under_a_rule_that_names_the_tool_and_goes_on(
    ledger: Ledger, outside: Outside, clock: SetClock
) -> None:
    """The rule is kept to by what the tool declares by default, as when it was looked at first."""
    rule(ledger, tools=("search",), require=(SMALL,))
    run = rested(ledger, ("search", "tea"))
    clock.tick(AT_EACH)
    assert ledger.resume("r", actor=PROGRAM).verdict is Verdict.REPLAN
    assert [(one.found, one.is_fresh) for one in run.refresh()] == [("changed", True)]
    assert ledger.resume("r", actor=PROGRAM).verdict is Verdict.CONTINUE
    assert outside.calls == 2


def test_what_a_rule_keeps_from_being_looked_at_again_keeps_no_other_back(
    ledger: Ledger, outside: Outside, clock: SetClock
) -> None:
    run = rested(ledger, ("search", "tea"), ("other", "tea"))
    rule(ledger, deny=("search",))
    clock.tick(AT_EACH)
    held = ledger.resume("r", actor=PROGRAM)
    assert held.verdict is Verdict.REPLAN
    ruled, other = run.refresh()
    assert (ruled.tool, ruled.found, ruled.is_fresh) == ("search", "not_refreshed", False)
    assert "rule" in str(ruled.because)
    assert (other.tool, other.found, other.is_fresh) == ("other", "changed", True)
    assert outside.calls == 3


def test_looks_that_are_refused_count_as_refusals_in_a_row_and_others_go_on(
    store: Any, clock: SetClock
) -> None:
    outside = Outside()

    def search(of: str) -> Any:
        return outside(of=of)

    ledger = opened(store, clock, [declare(search, recovery="read_only")])
    ledger.open_run("r", "Find tea", actor=PROGRAM, limits=Limits(refusals_in_a_row=2))
    rule(ledger, deny=("search",))
    run = ledger.run("r", actor=PROGRAM)
    for _ in range(2):
        with pytest.raises(ConstraintViolated):
            run.perform("search", {"of": "tea"})
    with pytest.raises(RunIsHeld):
        run.perform("search", {"of": "tea"})
    assert names(ledger)[-1] == "run.suspended"
