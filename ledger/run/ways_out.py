"""What leads on from where a run stands, as commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from ledger.events import Reason
from ledger.run.contract import Contract
from ledger.run.outside import OpenEffect
from ledger.values import Text, Value


class Remedy(NamedTuple):
    """A command that clears a reason."""

    verb: str
    options: str
    where: Literal["assumptions", "constraints", "grants"] | None = None
    """What it speaks of, behind the run: the member of the contract that stands where the reason says."""
    name: str = ""
    """What stands for that where nothing is found."""


REMEDIES: dict[str, Remedy] = {
    "assumption.refuted": Remedy("refute", "--evidence TEXT", "assumptions", "ID"),
    "authority.granted": Remedy(
        "grant", "--principal agent:NAME --scope SCOPE --granted-by human:NAME", None, "NEW-ID"
    ),
    "authority.renewed": Remedy("renew", "--by human:NAME", "grants", "ID"),
    "constraint.accepted": Remedy("accept", "--by human:NAME", "constraints", "ID"),
    "constraint.revision_acknowledged": Remedy("acknowledge", "--by human:NAME", None, "KIND:NAME"),
    "goal.revised": Remedy("revise-goal", "--reason TEXT --by human:NAME"),
    "observation.recorded": Remedy("refresh", "--tools MODULE"),
    "plan.revised": Remedy("revise-plan", "--step NAME --reason TEXT"),
    "run.restarted": Remedy("restart", "--as NEW-ID --reason TEXT --by human:NAME"),
    "runtime.adopted": Remedy("adopt-runtime", "--runtime FIELD=VALUE --reason TEXT --by human:NAME"),
}
"""The command that records the event which clears a reason."""

_ASKED = frozenset({"probe", "send_again"})


class WayOut(Value):
    """One step that leads on."""

    command: Text
    """For a shell. Words in capitals are to be filled in."""
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
    yield from _remedies(shell, contract)
    yield _way(shell("resume", contract.run), _resuming(contract))


class _Shell:
    """Writes commands for the runs of a tenant."""

    def __init__(self, tenant: str) -> None:
        self._begin = (
            "intent-ledger" if tenant == "default" else f"intent-ledger --tenant={shlex.quote(tenant)}"
        )

    def __call__(self, verb: str, *about: str, options: str = "") -> str:
        """Write a command whose last words are ids; behind `--` one that begins with a dash is no option."""
        dashed = ("--",) if any(one.startswith("-") for one in about) else ()
        return " ".join(filter(None, (self._begin, verb, options, *dashed, *map(shlex.quote, about))))

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
            yield _way(shell("settle", effect.key, options=options), why)


def _remedies(shell: _Shell, contract: Contract) -> Iterator[WayOut]:
    """Name what clears each reason that holds the run, where a command does.

    Reasons of effects are cleared by settling those, and some only by the program or a person.
    """
    for reason in () if contract.held is None else contract.held.reasons:
        remedy = REMEDIES.get(reason.cleared_by)
        if remedy is not None:
            yield _way(_command(shell, contract, remedy, reason), reason.what)


def _command(shell: _Shell, contract: Contract, remedy: Remedy, reason: Reason) -> str:
    if not remedy.name:
        return shell(remedy.verb, contract.run, options=remedy.options)
    members = () if remedy.where is None else getattr(contract, remedy.where)
    found = (member.id for member in members if member.position == reason.position)
    return shell(remedy.verb, contract.run, next(found, remedy.name), options=remedy.options)


def _resuming(contract: Contract) -> str:
    if contract.held is not None:
        return "asks again, and says of each reason what clears it"
    if contract.suspended is not None:
        return "asks whether it may go on"
    return "asks whether it may go on; while its program is alive, only to take it over (--take-over)"
