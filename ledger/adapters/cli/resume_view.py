"""What the gate said, in words and as a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from ledger.adapters.cli.restart import nobody_runs
from ledger.adapters.cli.screen import Screen
from ledger.adapters.cli.spans import span_words
from ledger.adapters.cli.visible import one_line
from ledger.adapters.cli.ways_out import WORDS, Stop, effects_of, ways_out
from ledger.adapters.cli.words import counted, quoted, when
from ledger.application.resuming import Resumption
from ledger.application.runs import Run
from ledger.events import Reason
from ledger.gate import KINDS
from ledger.run.meanwhile import hands_over
from ledger.values import Actor, Runtime, write_time


class Answer(NamedTuple):
    """What the gate said, and who asked what."""

    run: str
    found: Resumption[Run]
    actor: Actor
    runtime: Runtime | None
    now: datetime
    dry_run: bool
    where: Sequence[str]
    """Options that lead another command to the same ledger."""
    leases: Mapping[str, datetime] = MappingProxyType({})
    """Until when workers hold what they execute, by key, renewals included."""

    def ways_out(self, reason: Reason) -> list[str]:
        """Return the command lines that clear a reason."""
        return ways_out(self._stop(reason), self.where)

    def until(self, reason: Reason) -> datetime | None:
        """Return when the lease ends that a reason speaks of; None: it speaks of none."""
        if reason.kind != "effect_executing":
            return None
        ends = (self.leases.get(effect.key) for effect in effects_of(self._stop(reason)))
        return next((end for end in ends if end is not None), None)

    def _stop(self, reason: Reason) -> Stop:
        return Stop(self.run, reason, self.found.contract, self.actor, self.runtime)


def document(answer: Answer) -> dict[str, Any]:
    """Give it as one JSON object."""
    found = answer.found
    contract = found.contract
    return {
        "run": answer.run,
        "verdict": found.verdict.value,
        "dry_run": answer.dry_run,
        "position": found.position,
        "incarnation": None if contract is None else contract.incarnation,
        "status": None if contract is None else contract.status,
        "reasons": [_facts(answer, reason) for reason in found.reasons],
        "checked": [{"source": one.source, "ok": one.ok, "said": one.said} for one in found.checked],
        "message": found.message,
        "prompt": found.prompt,
    }


def _facts(answer: Answer, reason: Reason) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "kind": reason.kind,
        "verdict": KINDS[reason.kind].verdict.value,
        "what": reason.what,
        "cleared_by": reason.cleared_by,
        "ways_out": answer.ways_out(reason),
    }
    if reason.since is not None:
        facts["since"] = write_time(reason.since)
        facts["age_seconds"] = max(0, int((answer.now - reason.since).total_seconds()))
    if (until := answer.until(reason)) is not None:
        facts["until"] = write_time(until)
    if reason.who is not None:
        facts["who"] = reason.who
    if reason.position is not None:
        facts["position"] = reason.position
    return facts


def show(screen: Screen, answer: Answer) -> None:
    """Write the verdict, every reason with its way out, and the message that the run was left."""
    found = answer.found
    if found:
        _show_going_on(screen, answer)
        return
    may = "cannot be read" if found.contract is None else "may not go on"
    why = f", for {counted(len(found.reasons), 'reason')}"
    if [reason.kind for reason in found.reasons] == ["still_running"]:
        why = ": somebody else is at work on it"
    screen.line(
        f"{found.verdict.upper()}: run {quoted(answer.run)} {may}{why} ({_recorded(answer)})", style="bold"
    )
    for number, reason in enumerate(found.reasons, 1):
        _show_reason(screen, answer, number, reason)


def _recorded(answer: Answer) -> str:
    if answer.dry_run:
        return "asked only, nothing is recorded"
    if answer.found.contract is None:
        return "recorded: intent-ledger log '$ledger'"
    if answer.found.position is None:
        return "told, and not recorded"
    return f"recorded at position {answer.found.position}"


def _show_going_on(screen: Screen, answer: Answer) -> None:
    found, contract = answer.found, answer.found.contract
    assert contract is not None
    if answer.dry_run:
        screen.line(f"CONTINUE: run {quoted(answer.run)} may go on ({_recorded(answer)})", style="bold")
        return
    screen.line(
        f"CONTINUE: run {quoted(answer.run)} goes on as incarnation {contract.incarnation} "
        f"({_recorded(answer)})",
        style="bold",
    )
    if found.message is not None:
        screen.quote(found.message, indent=2)
    screen.note(_who_goes_on(answer))


def _who_goes_on(answer: Answer) -> str:
    actor = answer.actor
    if hands_over(actor):
        return nobody_runs(answer.run)
    session = "" if actor.session is None else f", session {quoted(actor.session)},"
    return f"{quoted(actor.id)}{session} goes on with it: its program picks it up as that"


def _show_reason(screen: Screen, answer: Answer, number: int, reason: Reason) -> None:
    screen.line()
    verdict = KINDS[reason.kind].verdict.value
    screen.entry(f"{number}. {verdict}, {quoted(reason.kind)}: {one_line(reason.what)}", hang=3)
    about = []
    if reason.since is not None:
        about.append(f"since {when(reason.since)} ({span_words(answer.now - reason.since)} ago)")
    if reason.who is not None:
        about.append(f"by {quoted(reason.who)}")
    if reason.position is not None:
        about.append(f"position {reason.position}")
    if about:
        screen.entry(", ".join(about), indent=3, hang=2, style="dim")
    words = WORDS.get(reason.kind, f"cleared by {reason.cleared_by}")
    until = answer.until(reason)
    words += "" if until is None else f", {when(until)} unless it is renewed"
    screen.entry(f"{words}:", indent=3, hang=2)
    for line in answer.ways_out(reason):
        screen.command(line, indent=3)
