"""The acts of a takeover brief as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ledger.run.markdown import amounts, moment, name, note, words
from ledger.run.outside import DoneEffect, ElsewhereEffect, FailedEffect, OpenEffect, Way
from ledger.values import Payload

SHOWN = 50
"""Acts that are done, of which the last so many are shown; a brief holds all of them."""

_LONGEST = 500
"""Characters of arguments and results that are shown."""

HOW: dict[Way, str] = {
    "approval": "a person answers first; nothing was sent",
    "database": "the ledger's own database tells, where its tool writes",
    "perform": "nothing was sent yet: it is performed when the run goes on",
    "person": "a person has to find out, and settle it",
    "probe": "ask the outside: its tool has a probe",
    "read": "read again: it changes nothing",
    "relay": "its relay tells, which delivers it under its key",
    "send_again": "send it again under its key: the outside answers with what it did",
    "worker": "its worker will tell, and holds its lease",
}
"""How one finds out, by what can tell."""


def unsettled(item: OpenEffect, how: str | None = None) -> str:
    """Write an act of which nobody knows whether it happened; `how` one finds out, if otherwise."""
    told = f"since {moment(item.since)}, attempt {item.attempt}, recovery {item.recovery}, key {item.key}"
    if item.inherited_from is not None:
        told += f", inherited from {name(item.inherited_from)}"
    if item.worker is not None:
        told += f", worker {name(item.worker)}"
    told += f"; find out: {how or HOW[item.way]}"
    if item.way == "worker" and item.lease_until is not None:
        told += f" until {moment(item.lease_until)}"
    if item.way == "send_again" and item.remembered_until is not None:
        told += f", which it remembers until {moment(item.remembered_until)}"
    if item.ask_from is not None:
        told += f"; what was sent may land until {moment(item.ask_from)}"
    if item.external_ref is not None:
        told += f"; the outside calls it {name(item.external_ref)}"
    if item.error is not None:
        told += f"; it had ended with {name(item.error.type)}: {words(item.error.message)}"
    if item.evidence is not None:
        told += f"; {_evidence(item)}"
    return f"{_named(item)}: {item.status_now}{_args(item.args)}{note(told)}"


def _evidence(item: OpenEffect) -> str:
    found = item.evidence
    assert found is not None
    by = "" if found.by is None else f" by {name(found.by)}"
    return f"{found.method}{by} at {moment(found.at)} found {found.found}: {words(found.evidence)}"


def elsewhere(item: ElsewhereEffect) -> str:
    """Write an act that another run has to settle."""
    return f"{_named(item)}: {item.status}" + note(
        f"run {name(item.run)}, since {moment(item.at)}, key {item.key}"
    )


def done(some: Sequence[DoneEffect], this: str) -> Iterator[str]:
    """Write the last acts that happened, and how many came before them."""
    hidden = len(some) - SHOWN
    if hidden > 0:
        yield f"{hidden} more before these: all of them stand in the JSON of this brief"
    for item in some[-SHOWN:]:
        yield _done(item, this)


def _done(item: DoneEffect, this: str) -> str:
    ref = "" if item.external_ref is None else f", the outside calls it {name(item.external_ref)}"
    told = f"{moment(item.at)}, {_where(item.run, this)}position {item.position}, key {item.key}"
    if item.cost is not None:
        told += f", cost {amounts(item.cost)}"
    if not item.witnessed:
        told += ", imported"
    if item.compensated_by is not None:
        told += f", UNDONE by {item.compensated_by}"
    if item.repeat_reason is not None:
        told += f"; done again because: {words(item.repeat_reason)}"
    return f"{_named(item)}{ref}{_args(item.args)}{_result(item.result)}{note(told)}"


def failed(some: Sequence[FailedEffect], this: str) -> Iterator[str]:
    """Write what is known not to have happened."""
    for item in some:
        told = (
            f"{moment(item.at)}, {_where(item.run, this)}position {item.position}, "
            f"{_attempt(item)}, key {item.key}"
        )
        if item.outcome == "did_not_happen" and item.evidence is not None:
            told += f"; {item.evidence.method} found: {words(item.evidence.evidence)}"
        elif item.error is not None:
            told += f"; {name(item.error.type)}: {words(item.error.message)}"
        state = "EXHAUSTED" if item.exhausted else item.outcome.replace("_", " ")
        yield f"{_named(item)}: {state}{_args(item.args)}{note(told)}"


def _attempt(item: FailedEffect) -> str:
    """Count attempts; what did not happen may be tried again, also where it was the only one allowed."""
    of = f" of {item.max_attempts}" if item.exhausted or item.attempt < item.max_attempts else ""
    return f"attempt {item.attempt}{of}" + ("" if item.exhausted else ", it may be tried again")


def _where(run: str, this: str) -> str:
    return "" if run == this else f"run {name(run)}, "


def _named(item: OpenEffect | DoneEffect | FailedEffect | ElsewhereEffect) -> str:
    return name(item.tool) + ("" if item.step is None else f" in step {name(item.step)}")


def _args(args: Payload | None) -> str:
    return "" if args is None else f", arguments {_short(args)}"


def _result(result: Payload | None) -> str:
    return "" if result is None else f", result {_short(result)}"


def _short(payload: Payload) -> str:
    """Write JSON on one line, or name content by its digest."""
    if payload.json_text is None:
        kind = "" if payload.type is None else f" of type {name(payload.type)}"
        return f"with digest {payload.digest}{kind}"
    text = payload.json_text
    return words(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "...")
