"""The way out of each reason that the gate gives, as command lines to be copied.

What only the reader knows stands in capitals: TEXT, TIME, human:NAME. A shell sees the rest as it stands.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ledger.run.keys import check_key

if TYPE_CHECKING:
    from ledger.events import Reason
    from ledger.run.contract import Contract, Effect, Grant
    from ledger.values import Actor, Runtime

WHO = "human:NAME"
Words = tuple[str, ...]


class Line(NamedTuple):
    """A command line."""

    verb: str
    """One word, or two where it is in a group."""
    about: Words
    """What stands by its place."""
    options: Words = ()

    def write(self, where: Words = ()) -> str:
        """Write it for a shell; behind `--` an id that begins with a dash is no option."""
        verb, options = ("intent-ledger", *self.verb.split()), (*self.options, *where)
        if any(word.startswith("-") for word in self.about):
            return shlex.join((*verb, *options, "--", *self.about))
        return shlex.join((*verb, *self.about, *options))


class Stop(NamedTuple):
    """What a way out is looked for: a reason, and what it was judged on."""

    run: str
    reason: Reason
    contract: Contract | None
    """None: the run cannot be read."""
    actor: Actor
    """Who asked."""
    runtime: Runtime | None = None
    """What would go on."""


def ways_out(stop: Stop, where: Iterable[str] = ()) -> list[str]:
    """Return the command lines that clear a reason; more than one are alternatives.

    `where` are the options that lead to the ledger.
    """
    way = WAYS.get(stop.reason.kind)
    lines = () if way is None else way(stop)
    return [line.write(tuple(where)) for line in lines]


def settle_by_hand(key: str, run: str) -> str:
    """Return the command line by which a person says that an act happened."""
    return _settle(key, run).write()


def _settle(key: str, run: str) -> Line:
    options = ("--run", run, "--happened", "--evidence", "TEXT", "--by", WHO)
    return Line("settle", (key,), options)


# --- what each kind of reason is cleared by ----------------------------------------------------------


def _look(stop: Stop) -> Iterator[Line]:
    yield Line("verify", (stop.run,))


def _closed(stop: Stop) -> Iterator[Line]:
    closed = None if stop.contract is None else stop.contract.closed
    if closed is not None and closed.successor is not None:
        yield Line("resume", (closed.successor,))
    else:
        yield Line("contract", (stop.run,))


def _restart(stop: Stop) -> Iterator[Line]:
    goal = ("--goal", "TEXT") if stop.reason.kind == "goal_refuted" else ()
    yield Line("restart", (stop.run,), ("--as", "NEW-ID", *goal, "--reason", "TEXT", "--by", WHO))


def _renew(stop: Stop) -> Iterator[Line]:
    """Renew in what the grant lacks; one that cannot be renewed so is given anew beside it."""
    grant = _found(stop, "grants")
    if grant is None:
        yield _grant_for(stop.run, stop.actor.id, ("SCOPE",), ())
        return
    about, kind, session = (stop.run, grant.id), stop.reason.kind, stop.actor.session
    if session is not None and grant.session not in (None, session):
        yield Line("renew", about, ("--session", session, "--by", WHO))
    elif kind == "authority_on_resume":
        yield Line("renew", about, ("--by", WHO))
    elif kind == "authority_exhausted":
        unit = next(iter(grant.budget or {"UNIT": 0}))
        yield Line("renew", about, ("--add-budget", f"{unit}=AMOUNT", "--by", WHO))
    elif kind == "authority_expired":
        yield Line("renew", about, ("--expires-at", "TIME", "--by", WHO))
    else:
        yield _again(stop, grant)


def _again(stop: Stop, grant: Grant) -> Line:
    session = stop.actor.session
    bound = () if session is None else ("--session", session)
    return _grant_for(stop.run, grant.principal, grant.scopes, bound)


def _grant_for(run: str, principal: str, scopes: Iterable[str], more: Words) -> Line:
    each = (word for scope in scopes for word in ("--scope", scope))
    return Line("grant", (run, "NEW-ID"), ("--principal", principal, *each, *more, "--granted-by", WHO))


def _grant(stop: Stop) -> Iterator[Line]:
    gone = _found(stop, "revoked")
    principal = stop.actor.id if gone is None or gone.principal is None else gone.principal
    scopes = ("SCOPE",) if gone is None or not gone.scopes else gone.scopes
    yield _grant_for(stop.run, principal, scopes, ())


def _limit(stop: Stop) -> Iterator[Line]:
    yield Line("resume", (stop.run,), ("--actor", WHO))
    yield _grant_for(stop.run, stop.actor.id, ("SCOPE",), ())


def _approve(stop: Stop) -> Iterator[Line]:
    yield Line("contract", (stop.run,))


def _wait(stop: Stop) -> Iterator[Line]:
    yield Line("effects", (stop.run,))


def _reconcile(stop: Stop) -> Iterator[Line]:
    if stop.reason.kind == "effect_unknown":
        yield Line("reconcile", (), ("--run", stop.run, "--tools", "MODULE"))
    effects = _effects(stop)
    for effect in effects:
        yield _settle(effect.key, stop.run)
    if not effects:
        yield Line("effects", (stop.run,), ("--unknown",))


def _effects(stop: Stop) -> list[Effect]:
    """Find the effect that is meant: by its place, and where it was inherited by the words."""
    if stop.contract is None:
        return []
    if stop.reason.position is not None:
        return [
            effect
            for effect in stop.contract.effects
            if effect.inherited_from is None and effect.position == stop.reason.position
        ]
    return [
        effect
        for effect in stop.contract.effects
        if effect.inherited_from is not None and f"{effect.tool} {effect.key[:12]}" in stop.reason.what
    ]


def _take_over(stop: Stop) -> Iterator[Line]:
    yield Line("resume", (stop.run,), ("--take-over", "--actor", WHO))


def _observe(stop: Stop) -> Iterator[Line]:
    if stop.reason.kind in ("observation_stale", "observation_invalidated"):
        # What is in doubt would be recorded as resting on the same; a source has its reader elsewhere.
        yield Line("refresh", (stop.run,), ("--tools", "MODULE"))
    seen = _found(stop, "observations") or _invalidated(stop)
    key, tool = ("KEY", "TOOL") if seen is None else (seen.key, seen.tool)
    if seen is None and stop.reason.kind == "source_unchecked":
        source = stop.reason.what.partition(" was ")[0]
        key, tool = check_key(source), f"source.{source.partition(':')[0]}"
    about = ("--key", key, "--tool", tool, "--observed-at", "TIME", "--value", "JSON")
    yield Line("do observation.record", (stop.run,), about)


def _invalidated(stop: Stop) -> Any:
    seen = () if stop.contract is None else stop.contract.observations
    return next((one for one in seen if one.invalidated_at == stop.reason.position), None)


def _accept(stop: Stop) -> Iterator[Line]:
    constraint = _found(stop, "constraints")
    yield Line("accept", (stop.run, "ID" if constraint is None else constraint.id), ("--by", WHO))


def _acknowledge(stop: Stop) -> Iterator[Line]:
    seen = None if stop.contract is None else stop.contract.sources
    named = [one.source for one in seen or () if stop.reason.what.startswith(f"{one.source} ")]
    yield Line("acknowledge", (stop.run, named[0] if named else "KIND:NAME"), ("--by", WHO))


def _adopt(stop: Stop) -> Iterator[Line]:
    said = {} if stop.runtime is None else stop.runtime.model_dump(exclude_none=True)
    fields = said or {stop.reason.what.partition(":")[0]: "VALUE"}
    named = (word for field, value in fields.items() for word in ("--runtime", f"{field}={value}"))
    yield Line("adopt-runtime", (stop.run,), (*named, "--reason", "TEXT", "--by", WHO))


def _plan(stop: Stop) -> Iterator[Line]:
    from ledger.gate.assumptions import remaining_steps

    contract = stop.contract
    refuted = [] if contract is None else [one.id for one in contract.assumptions if one.refuted is not None]
    fallen = {
        name for id in refuted for name in (contract.resting_on(f"assumption:{id}") if contract else ())
    }
    steps = () if contract is None else remaining_steps(contract)
    kept = [step.name for step in steps if f"step:{step.name}" not in fallen] or ["NAME"]
    named = (word for name in kept for word in ("--step", name))
    yield Line("revise-plan", (stop.run,), (*named, "--reason", "TEXT"))


def _refute(stop: Stop) -> Iterator[Line]:
    assumption = _found(stop, "assumptions")
    about = (stop.run, "ID" if assumption is None else assumption.id)
    yield Line("refute", about, ("--evidence", "TEXT"))


def _goal(stop: Stop) -> Iterator[Line]:
    yield Line("revise-goal", (stop.run,), ("--reason", "TEXT", "--by", WHO))


def _found(stop: Stop, where: str) -> Any:
    """Find the member of the contract that stands where the reason says."""
    if stop.contract is None or stop.reason.position is None:
        return None
    members = getattr(stop.contract, where)
    return next((one for one in members if one.position == stop.reason.position), None)


WAYS: dict[str, Callable[[Stop], Iterator[Line]]] = {
    "newer_format": _look,
    "unknown_event": _look,
    "undecodable": _look,
    "chain_broken": _look,
    "closed": _closed,
    "constraint_withdrawn": _restart,
    "goal_refuted": _restart,
    "plan_refuted": _restart,
    "authority_expired": _renew,
    "authority_exhausted": _renew,
    "authority_of_another_session": _renew,
    "authority_on_resume": _renew,
    "authority_revoked": _grant,
    "authority_missing": _grant,
    "approval_void": _approve,
    "limit_reached": _limit,
    "effect_executing": _wait,
    "effect_unknown": _reconcile,
    "effect_disputed": _reconcile,
    "still_running": _take_over,
    "observation_stale": _observe,
    "observation_invalidated": _observe,
    "constraint_reworded": _accept,
    "source_revised": _acknowledge,
    "source_unchecked": _observe,
    "runtime_changed": _adopt,
    "assumption_refuted": _plan,
    "assumption_in_doubt": _refute,
    "observation_in_doubt": _observe,
    "idle": _goal,
}
"""How each kind of reason is cleared; a test holds it complete."""

WORDS: dict[str, str] = {
    "newer_format": "upgrade intent-ledger, and ask again",
    "unknown_event": "upgrade intent-ledger, and ask again",
    "undecodable": "upgrade intent-ledger; if it stays so, the record was not written by it",
    "chain_broken": "a person has to find out who altered the record",
    "approval_void": "the program asks for approval anew",
    "effect_executing": "its worker reports, or its lease ends",
}
"""What no command does."""
