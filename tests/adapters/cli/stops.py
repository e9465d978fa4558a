"""Runs named `r` that were stopped, one for each kind of reason that the gate has against going on."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ledger import Ledger, Limits, Run, Runtime, Source, Step, open_ledger
from ledger.errors import ApprovalRequired, RunIsHeld
from tests.adapters.cli.acts import killed, leave_open
from tests.adapters.cli.ledgers import AGENT, KIM, ticking

BEGIN = datetime(2020, 1, 31, 9, 0, tzinfo=UTC)
"""So long ago that every lease has ended, and everything fresh is stale."""
POLICY = "policy:refunds"
WORDS = "At most 100 EUR"
AS_AGENT = ("--actor", "agent:refunds", "--actor-session")


class Stop(NamedTuple):
    """How a run comes to be stopped, and how somebody asks whether it may go on."""

    make: Callable[[Ledger], object]
    ask: tuple[str, ...] = ()
    now: bool = False
    """It happened just now, by the real clock."""
    among: frozenset[str] = frozenset()
    """Kinds of reasons that come with it."""


def stopped(ledger: Ledger, said: Callable[[Run, Run], object], **options: Any) -> Run:
    """Open the run, let the agent and a person say something, and suspend it."""
    run = ledger.open_run("r", "Refund order 17", **options)
    said(run, ledger.run("r", actor=KIM))
    run.suspend(reason="night")
    return run


# --- sources -----------------------------------------------------------------------------------------


def accepted(run: Run, person: Run | None = None) -> None:
    source = Source("policy", "refunds", revision="4")
    run.accept("limit-100", WORDS, source=source, asserted_by="human:kim")


def unchecked(run: Run, person: Run) -> None:
    accepted(run)
    run.observe(f"source:{POLICY}", {}, tool="source.policy", observed_at=BEGIN, fresh_for=60)


def with_source(ledger: Ledger, said: Callable[[Run, Run], object] = accepted) -> None:
    ledger.source(POLICY, actor=KIM).publish("4", {"limit-100": WORDS}, by="human:kim")
    stopped(ledger, said)


def withdrawn(ledger: Ledger) -> None:
    with_source(ledger)
    ledger.source(POLICY, actor=KIM).withdraw("limit-100", reason="replaced", by="human:kim")


def revised(ledger: Ledger, **says: str) -> None:
    with_source(ledger)
    ledger.source(POLICY, actor=KIM).publish("5", {"limit-100": WORDS, **says}, by="human:kim")


def reworded(ledger: Ledger) -> None:
    with_source(ledger)
    ledger.source(POLICY, actor=KIM).publish("5", {"limit-100": "At most 90 EUR"}, by="human:kim")


# --- assumptions -------------------------------------------------------------------------------------


def refuted(run: Run, person: Run, *, steps: tuple[Step, ...] = (), then: str | None = None) -> None:
    run.assume("a", "The item is in stock")
    if then is not None:
        run.assume(then, "It is sent tomorrow", rests_on=["assumption:a"])
    if steps:
        run.commit_plan(steps)
    run.refute("a", evidence="the warehouse has none")


RESTING = Step(name="send", rests_on=("assumption:a",))


# --- authority ---------------------------------------------------------------------------------------


def granted(run: Run, person: Run, *, then: Callable[[Run, Run], object] | None = None, **more: Any) -> None:
    said = {"principal": "agent:refunds", "scopes": ["refund"], "granted_by": "human:kim", **more}
    person.grant("g", **said)
    if then is not None:
        then(run, person)


def moved(run: Run, person: Run) -> None:
    run.move("look-up")


def revoked(run: Run, person: Run) -> None:
    person.revoke("g", reason="left the team", by="human:kim")


def at_its_limit(ledger: Ledger) -> None:
    run = ledger.open_run("r", "Refund order 17", limits=Limits(steps=1))
    run.move("look-up")
    with suppress(RunIsHeld):
        run.move("refund")


def approval_expired(run: Run, person: Run) -> None:
    with suppress(ApprovalRequired):
        run.perform("refund", {"order": 17}, killed, needs_approval=True, approval_seconds=1)


# --- what stands above -------------------------------------------------------------------------------


def part(ledger: Ledger, stop: Callable[[Run], object]) -> None:
    """Make the run a part of a part of one that a person stops."""
    ledger.open_run(TOP, "Refund all orders").open_child("some", "Refund some of them")
    ledger.run("some").open_child("r", "Refund order 17")
    ledger.run("r").suspend(reason="night")
    stop(ledger.run(TOP, actor=KIM))


TOP = 'th\'e "top"'


# --- effects -----------------------------------------------------------------------------------------


def unknown(run: Run, person: Run) -> None:
    leave_open(run, "refund", {"order": 1}, step="pay")


def executing(run: Run, person: Run) -> None:
    leave_open(run, "refund", {"order": 1}, step="pay", lease_seconds=3600)


def disputed(run: Run, person: Run) -> None:
    unknown(run, person)
    key = run.contract.effects[0].key
    for happened in (True, False):
        person.settle(key, happened=happened, evidence=f"it is {happened}", by="human:kim")


# --- observations and time ---------------------------------------------------------------------------


def seen(run: Run, person: Run, *, invalid: bool = False, **more: Any) -> None:
    run.observe("k", {"total": "64.90"}, tool="get_order", observed_at=BEGIN, **more)
    run.move("refund", needs=("observation:k",))
    if invalid:
        run.invalidate("k", reason="the order was changed")


def seen_in_doubt(run: Run, person: Run) -> None:
    run.assume("a", "The shop is right")
    seen(run, person, rests_on=("assumption:a",))
    run.refute("a", evidence="it is not")


def left_alone(ledger: Ledger) -> None:
    ledger.open_run("r", "Refund order 17").move("refund")


STOPS: dict[str, Stop] = {
    "constraint_withdrawn": Stop(withdrawn),
    "ended_above": Stop(partial(part, stop=lambda top: top.close("cancelled", reason="paid by hand"))),
    "suspended_above": Stop(partial(part, stop=lambda top: top.suspend(reason="looking into it"))),
    "goal_refuted": Stop(partial(stopped, said=refuted, rests_on=["assumption:a"])),
    "plan_refuted": Stop(partial(stopped, said=partial(refuted, steps=(RESTING,)))),
    "authority_expired": Stop(partial(stopped, said=partial(granted, expires_at=BEGIN + timedelta(hours=1)))),
    "authority_exhausted": Stop(partial(stopped, said=partial(granted, budget={"EUR": "0"}))),
    "authority_of_another_session": Stop(
        partial(stopped, said=partial(granted, session="s-1", on_resume="continue")), (*AS_AGENT, "s-2")
    ),
    "authority_on_resume": Stop(
        partial(stopped, said=partial(granted, session="s-1", then=moved)), (*AS_AGENT, "s-1")
    ),
    "authority_revoked": Stop(partial(stopped, said=partial(granted, then=revoked))),
    "authority_missing": Stop(
        partial(stopped, said=partial(granted, principal="agent:others")), (*AS_AGENT, "s-1")
    ),
    "approval_void": Stop(partial(stopped, said=approval_expired)),
    "limit_reached": Stop(at_its_limit, (*AS_AGENT, "s-1")),
    "effect_executing": Stop(partial(stopped, said=executing), now=True),
    "effect_unknown": Stop(partial(stopped, said=unknown)),
    "effect_disputed": Stop(partial(stopped, said=disputed)),
    "still_running": Stop(left_alone, now=True),
    "observation_stale": Stop(partial(stopped, said=partial(seen, fresh_for=60))),
    "observation_invalidated": Stop(partial(stopped, said=partial(seen, invalid=True))),
    "observation_in_doubt": Stop(partial(stopped, said=seen_in_doubt)),
    "constraint_reworded": Stop(reworded, among=frozenset({"source_revised"})),
    "source_revised": Stop(partial(revised, tell="Tell the customer")),
    "source_unchecked": Stop(partial(with_source, said=unchecked)),
    "runtime_changed": Stop(
        partial(stopped, said=moved, runtime=Runtime(model="small-3", prompt="p-1")),
        ("--runtime", "model=small-4", "--runtime", "prompt=p-1"),
    ),
    "assumption_refuted": Stop(
        partial(stopped, said=partial(refuted, steps=(Step(name="look-up"), RESTING)))
    ),
    "assumption_in_doubt": Stop(partial(stopped, said=partial(refuted, then="b"))),
    "idle": Stop(left_alone),
}
"""By kind. A run that cannot be read, or is closed, is none of these."""


def make(path: Path, kind: str) -> Stop:
    """Make a ledger with a run that is stopped for this kind of reason."""
    stop = STOPS[kind]
    clock = {} if stop.now else {"clock": ticking(BEGIN)}
    with open_ledger(path, actor=AGENT, **clock) as ledger:  # type: ignore[arg-type]
        stop.make(ledger)
    return stop


FILLED = {
    "AMOUNT": "10",
    "ID": "x",
    "FILE": "policy.md",
    "JSON": '{"total": "64.90"}',
    "MODULE": "shop.py",
    "NAME": "look-up",
    "NEW-ID": "new",
    "SCOPE": "refund",
    "TEXT": "seen with my own eyes",
    "TIME": "2999-01-01T00:00:00Z",
    "human:NAME": "human:kim",
    '{"revision": "REVISION"}': '{"revision": "4"}',
}
"""What stands in capitals in a way out, and what somebody could put there."""


def filled(way: str, **other: str) -> list[str]:
    """Split a way out as a shell would, without the program, and fill in what it leaves open."""
    known = {**FILLED, **other}
    program, *words = shlex.split(way)
    assert program == "intent-ledger"
    return [_filled(word, known) for word in words]


def _filled(word: str, known: dict[str, str]) -> str:
    name, equals, value = word.partition("=")
    if equals and value in known:
        return f"{name}={known[value]}"
    return known.get(word, word)
