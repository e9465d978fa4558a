"""The way out of each reason that the gate gives, and the steps of a brief, as command lines to be copied.

What only the reader knows stands in capitals: TEXT, TIME, human:NAME. A shell sees the rest as it stands.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ledger.adapters.cli.placeholders import WHO
from ledger.run.keys import check_key
from ledger.run.ways_out import spoken_of

if TYPE_CHECKING:
    from ledger.events import Reason
    from ledger.run.brief import Brief
    from ledger.run.contract import Contract, Effect, Grant
    from ledger.run.ways_out import WayOut
    from ledger.values import Actor, Runtime

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

    @property
    def spoken_of(self) -> Any:
        """What the reason speaks of, as it stands in the contract; None: it is not found there."""
        return None if self.contract is None else spoken_of(self.contract, self.reason)


def ways_out(stop: Stop, where: Iterable[str] = ()) -> list[str]:
    """Return the command lines that clear a reason; more than one are alternatives.

    `where` are the options that lead to the ledger.
    """
    way = WAYS.get(stop.reason.kind)
    lines = () if way is None else way(stop)
    return [line.write(tuple(where)) for line in lines]


def with_command_lines(brief: Brief, contract: Contract, where: Iterable[str] = ()) -> Brief:
    """Add to each step of a brief how it is typed; `contract` is what the brief was built from."""
    options = tuple(where)
    steps = (
        way.with_fields({"command_lines": tuple(line.write(options) for line in _step(way, contract))})
        for way in brief.next
    )
    return brief.with_fields({"next": tuple(steps)})


def _step(way: WayOut, contract: Contract) -> Iterator[Line]:
    from ledger.values import Actor

    if way.reason is not None:
        clears = WAYS.get(way.reason.kind)
        # Nobody asks in a brief: who was at work on the run last is taken to go on.
        goes_on = Actor(contract.alive.by)
        yield from () if clears is None else clears(Stop(way.run, way.reason, contract, goes_on))
    elif way.command is None:
        yield Line("brief", (way.run,))
    elif way.command == "run.resume":
        yield Line("resume", (way.run,))
    elif way.command == "approval.answer":
        yield from _answers(way.fields["id"])
    elif way.command == "approval.request":
        yield from _ask_anew(way.fields["key"], way.run, None)
    elif "key" in way.fields:
        yield from _settle(way.fields["key"], way.run)
    elif way.command == "run.close":
        yield _stop("cancel", way.run)
    else:
        yield _ask_outside(way.run)


def settle_by_hand(key: str, run: str, where: Iterable[str] = ()) -> list[str]:
    """Return the command lines by which a person says that an act happened, or that it did not."""
    return [line.write(tuple(where)) for line in _settle(key, run)]


def answering(id: str, where: Iterable[str] = ()) -> list[str]:
    """Return the command lines by which a person answers a request for approval: yes, and no."""
    return [line.write(tuple(where)) for line in _answers(id)]


def asking_anew(key: str, run: str, where: Iterable[str] = (), *, by_person: bool = False) -> str:
    """Return the command line by which a person is asked anew about an act; `by_person`: only they may."""
    who = ("--actor", WHO) if by_person else ()
    return Line("request-approval", (key,), ("--run", run, *who)).write(tuple(where))


def stopping(verb: str, run: str, where: Iterable[str] = ()) -> str:
    """Return the command line that ends (`cancel`) or stops (`suspend`) a run."""
    return _stop(verb, run).write(tuple(where))


def asking(run: str, actor: str, session: str | None, where: Iterable[str] = ()) -> str:
    """Return the command line that asks the gate about a run for somebody, and records nothing."""
    who = ("--actor", actor, *(() if session is None else ("--actor-session", session)))
    return Line("resume", (run,), ("--dry-run", *who)).write(tuple(where))


def resuming(run: str, where: Iterable[str] = ()) -> str:
    """Return the command line that asks whether a run may go on."""
    return Line("resume", (run,)).write(tuple(where))


def telling(run: str, where: Iterable[str] = ()) -> str:
    """Return the command line that names every reason against a run, and records nothing."""
    return Line("resume", (run,), ("--dry-run",)).write(tuple(where))


def _stop(verb: str, run: str) -> Line:
    return Line(verb, (run,), ("--reason", "TEXT", "--by", WHO))


def _settle(key: str, run: str) -> Iterator[Line]:
    for found in ("--happened", "--did-not"):
        yield Line("settle", (key,), ("--run", run, found, "--evidence", "TEXT", "--by", WHO))


def _answers(id: str) -> Iterator[Line]:
    yield Line("approve", (id,), ("--by", WHO))
    yield Line("deny", (id,), ("--reason", "TEXT", "--by", WHO))


def _ask_outside(run: str) -> Line:
    return Line("reconcile", (), ("--run", run, "--tools", "MODULE"))


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
    yield Line("restart", (stop.run,), ("--as", _following(stop.run), *goal, "--reason", "TEXT", "--by", WHO))


def _following(run: str) -> str:
    """Name the run that may succeed one: of a thread it is the next by number, where its program looks."""
    thread, mark, number = run.rpartition("#")
    is_counted = mark and thread and re.fullmatch("[1-9][0-9]{0,8}", number)
    return f"{thread}#{int(number) + 1}" if is_counted else "NEW-ID"


def _renew(stop: Stop) -> Iterator[Line]:
    """Renew in what the grant lacks; what no renewal changes is given anew beside it."""
    grant = stop.spoken_of
    if grant is None or stop.reason.cleared_by != "authority.renewed":
        yield from _grant(stop)
    else:
        yield Line("renew", (stop.run, grant.id), (*_lacking(stop, grant), "--by", WHO))


def _lacking(stop: Stop, grant: Grant) -> Words:
    kind = stop.reason.kind
    if kind == "authority_expired":
        return ("--expires-at", "TIME")
    if kind == "authority_exhausted":
        unit = next(iter(grant.budget or ()), "UNIT")
        return ("--add-budget", f"{unit}=AMOUNT")
    if kind == "authority_of_another_session":
        return ("--session", stop.actor.session or "SESSION")
    return ()


def _grant(stop: Stop) -> Iterator[Line]:
    """Grant what the one that is spoken of allowed, or what is to be said."""
    before = stop.spoken_of
    principal = stop.actor.id if before is None or before.principal is None else before.principal
    scopes = ("SCOPE",) if before is None or not before.scopes else before.scopes
    each = (word for scope in scopes for word in ("--scope", scope))
    yield Line("grant", (stop.run, "NEW-ID"), ("--principal", principal, *each, "--granted-by", WHO))


def _limit(stop: Stop) -> Iterator[Line]:
    yield Line("resume", (stop.run,), ("--actor", WHO))
    yield from _grant(stop)


def _approve(stop: Stop) -> Iterator[Line]:
    approval = stop.spoken_of
    if approval is None:
        yield Line("approvals", (), ("--run", stop.run, "--all"))
    else:
        # What was approved no denial reaches any more.
        yield from _ask_anew(approval.key, stop.run, approval.id if approval.answered is None else None)


def _ask_anew(key: str, run: str, id: str | None) -> Iterator[Line]:
    """Ask a person anew, or be done with it."""
    yield Line("request-approval", (key,), ("--run", run))
    if id is not None:
        yield Line("deny", (id,), ("--reason", "TEXT", "--by", WHO))


def _wait(stop: Stop) -> Iterator[Line]:
    yield Line("effects", (stop.run,))


def _reconcile(stop: Stop) -> Iterator[Line]:
    if stop.reason.kind == "effect_unknown":
        yield _ask_outside(stop.run)
    effects = effects_of(stop)
    for effect in effects:
        yield from _settle(effect.key, stop.run)
    if not effects:
        yield Line("effects", (stop.run,), ("--unknown",))


def effects_of(stop: Stop) -> list[Effect]:
    """Find the effect that a reason speaks of: by its place, and where it was inherited by the words."""
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


def _go_on_above(stop: Stop) -> Iterator[Line]:
    """Let the run go on that is named first in the words: it is another one, at no place of this one."""
    from ast import literal_eval

    named = _LITERAL.match(stop.reason.what)
    yield Line("resume", ("RUN" if named is None else literal_eval(named[0]),), ("--actor", WHO))


_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'" + r'|"(?:[^"\\]|\\.)*"')


def _read(stop: Stop) -> Iterator[Line]:
    """Publish what the source says, then say in the run that it was read; its program does both by itself."""
    source = stop.reason.what.partition(" was ")[0]
    yield Line("sources publish", ("FILE",), ("--source", source, "--by", WHO))
    value = '{"revision": "REVISION"}'
    tool = f"source.{source.partition(':')[0]}"
    about = ("--key", check_key(source), "--tool", tool, "--observed-at", "TIME", "--value", value)
    yield Line("do observation.record", (stop.run,), about)


def _observe(stop: Stop) -> Iterator[Line]:
    if stop.reason.kind in ("observation_stale", "observation_invalidated"):
        # What is in doubt would be recorded as resting on the same; a source has its reader elsewhere.
        yield Line("refresh", (stop.run,), ("--tools", "MODULE"))
    seen = stop.spoken_of
    key, tool = ("KEY", "TOOL") if seen is None else (seen.key, seen.tool)
    about = ("--key", key, "--tool", tool, "--observed-at", "TIME", "--value", "JSON")
    yield Line("do observation.record", (stop.run,), about)


def _accept(stop: Stop) -> Iterator[Line]:
    constraint = stop.spoken_of
    yield Line("accept", (stop.run, "ID" if constraint is None else constraint.id), ("--by", WHO))


def _acknowledge(stop: Stop) -> Iterator[Line]:
    seen = stop.spoken_of
    yield Line("acknowledge", (stop.run, "KIND:NAME" if seen is None else seen.source), ("--by", WHO))


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
    assumption = stop.spoken_of
    about = (stop.run, "ID" if assumption is None else assumption.id)
    yield Line("refute", about, ("--evidence", "TEXT"))


def _goal(stop: Stop) -> Iterator[Line]:
    yield Line("revise-goal", (stop.run,), ("--reason", "TEXT", "--by", WHO))


WAYS: dict[str, Callable[[Stop], Iterator[Line]]] = {
    "newer_format": _look,
    "unknown_event": _look,
    "undecodable": _look,
    "chain_broken": _look,
    "closed": _closed,
    "ended_above": _restart,
    "constraint_withdrawn": _restart,
    "goal_refuted": _restart,
    "plan_refuted": _restart,
    "suspended_above": _go_on_above,
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
    "source_unchecked": _read,
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
    "effect_executing": "its worker reports, or its lease ends",
    "source_unchecked": "start the program, which reads it; else publish it, and record that it was read",
}
"""What no command does."""
