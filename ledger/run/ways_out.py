"""What leads on from where a run stands: the commands, and the calls where there is no command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from ledger.canonical import quote
from ledger.run.contract import Contract
from ledger.run.outside import OpenEffect
from ledger.values import Text, Value

REMEDIES: dict[str, str] = {
    "approval.requested": "do(RequestApproval(id=…, key=…))",
    "assumption.refuted": "refute(ID, evidence=…, by=…), or state on what it rests instead",
    "authority.granted": "grant(ID, principal=…, scopes=…, granted_by=…)",
    "authority.renewed": "renew(ID, by=…)",
    "constraint.accepted": "accept(ID, TEXT, asserted_by=…, source=…, change=…)",
    "constraint.revision_acknowledged": "acknowledge(SOURCE, by=…, reason=…)",
    "goal.revised": "revise_goal(TEXT, reason=…, by=…)",
    "observation.recorded": "observe(KEY, …), with what is seen now",
    "plan.revised": "revise_plan(STEPS, reason=…)",
    "runtime.adopted": "adopt_runtime(RUNTIME, reason=…, by=…)",
}
"""The call on the handle of a run that records the event which clears a reason."""

CLEARED_BY_SETTLING = frozenset({"effect.reconciled", "effect.succeeded", "run.resumed"})
"""Events that finding out about an effect, or the resume itself, records."""

_ASKED = frozenset({"database", "probe", "relay", "send_again"})


class WayOut(Value):
    """One step that leads on."""

    command: Text
    """For a shell where it begins with `intent-ledger`, else for Python; names in capitals are to be filled
    in, and so is each `…`."""
    why: Text


def ways_out(contract: Contract, unsettled: Sequence[OpenEffect]) -> Iterator[WayOut]:
    """Name what leads on, in the order in which it is best done."""
    shell = _Shell(contract.tenant)
    successor = None if contract.closed is None else contract.closed.successor
    if successor is not None:
        yield _way(shell("brief", successor), "this run was restarted: its successor answers for all of it")
        return
    yield from _settling(shell, contract.run, unsettled)
    if contract.closed is not None:
        return
    if contract.fork_of is not None:
        yield _way(
            shell("brief", contract.fork_of), "this run is a fork and performs nothing: see its origin"
        )
        return
    yield from _answers(contract)
    yield from _remedies(contract)
    yield _way(shell("resume", contract.run), _resuming(contract))


class _Shell:
    """Writes commands for the runs of a tenant."""

    def __init__(self, tenant: str) -> None:
        self._begin = (
            "intent-ledger" if tenant == "default" else f"intent-ledger --tenant={shlex.quote(tenant)}"
        )

    def __call__(self, verb: str, argument: str, options: str = "") -> str:
        """Write a command whose last word is an id; behind `--` one that begins with a dash is no option."""
        dashed = "-- " if argument.startswith("-") else ""
        return " ".join(part for part in (self._begin, verb, options, dashed + shlex.quote(argument)) if part)

    def on_run(self, verb: str, run: str, options: str) -> str:
        """Write a command that takes a run as an option."""
        return f"{self._begin} {verb} --run={shlex.quote(run)} {options}"


def _way(command: str, why: str) -> WayOut:
    return WayOut.unchecked({"command": command, "why": why})


def _settling(shell: _Shell, run: str, unsettled: Sequence[OpenEffect]) -> Iterator[WayOut]:
    asked = sorted({effect.tool for effect in unsettled if effect.way in _ASKED})
    if asked:
        why = f"asks the outside about {', '.join(asked)}, where MODULE declares how"
        yield _way(shell.on_run("reconcile", run, "--tools MODULE"), why)
    for effect in unsettled:
        if effect.way == "person":
            options = "--happened --evidence TEXT --by human:NAME"
            why = f"a person has to find out whether {effect.tool} happened; --did-not, where it did not"
            yield _way(shell("settle", effect.key, options), why)


def _answers(contract: Contract) -> Iterator[WayOut]:
    for item in contract.approvals:
        if item.answered is None:
            answer = f"AnswerApproval(id={quote(item.id)}, answer=…, by=…)"
            yield _way(
                f"{_handle(contract)}.do({answer})", item.question or f"the act {item.key} waits for it"
            )


def _remedies(contract: Contract) -> Iterator[WayOut]:
    """Name what clears each reason that holds the run; what the steps above clear, they have named."""
    for reason in () if contract.held is None else contract.held.reasons:
        if reason.cleared_by == "run.restarted":
            yield _way(f"ledger.restart({quote(contract.run)}, as_=…, reason=…, by=…)", reason.what)
        elif reason.cleared_by in REMEDIES:
            yield _way(f"{_handle(contract)}.{REMEDIES[reason.cleared_by]}", reason.what)
        elif reason.cleared_by not in CLEARED_BY_SETTLING:
            yield _way(f"a person: the event {reason.cleared_by} clears it", reason.what)


def _handle(contract: Contract) -> str:
    return f"ledger.run({quote(contract.run)})"


def _resuming(contract: Contract) -> str:
    if contract.held is not None:
        return "asks again, once the reasons above are cleared"
    if contract.suspended is not None:
        return "asks whether it may go on"
    return "asks whether it may go on; while its program is alive, only to take it over (--take-over)"
