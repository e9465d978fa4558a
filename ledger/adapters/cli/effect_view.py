"""An effect in words and as JSON, the same in every command that shows one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ledger.adapters.cli.visible import one_line
from ledger.adapters.cli.words import quoted, shortened, when

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.application.consents import Consent
    from ledger.application.settling import Unsettled
    from ledger.events import EffectIntended
    from ledger.run.history import EffectHistory
    from ledger.values import Payload

_MOST = 120
"""Characters of what a cell holds beside names and keys."""


def facts(one: Unsettled, now: datetime) -> dict[str, Any]:
    """Give an effect as a JSON object; what it does not have is left out."""
    known = one.effect
    last = known.findings[-1] if known.findings else None
    fields = known.model_dump(
        mode="json",
        exclude_none=True,
        include={
            "act",
            "args",
            "args_in_full",
            "attempt",
            "compensated_by",
            "cost",
            "error",
            "external_ref",
            "intended_at",
            "intended_in",
            "intended_position",
            "key",
            "max_attempts",
            "occurrence",
            "recovery",
            "result",
            "step",
            "tool",
            "witnessed",
            "worker",
        },
    )
    fields |= {"run": one.run, "since": _instant(_since(one)), "status": one.status}
    if one.status == "executing" and one.lease_until is not None:
        fields["lease_until"] = _instant(one.lease_until)
    if last is not None:
        fields["evidence"] = last.model_dump(mode="json", exclude_none=True)
    if one.consent is not None:
        fields["approval"] = consent_facts(one.consent)
    how = find_out(one, now)
    return fields if how is None else fields | {"find_out": how}


def consent_facts(consent: Consent) -> dict[str, Any]:
    """Give what a person was asked as a JSON object; what it does not have is left out."""
    asked, said = consent.approval, consent.approval.answered
    told: dict[str, Any] = {
        "id": asked.id,
        "state": consent.state,
        "void": consent.void,
        "question": asked.question,
        "requested_by": asked.requested_by,
        "at": _instant(asked.at),
        "position": asked.position,
        "expires_at": None if asked.expires_at is None else _instant(asked.expires_at),
    }
    if said is not None:
        told |= {
            "answered_by": said.by,
            "answered_at": _instant(said.at),
            "answered_position": said.position,
            "reason": said.reason,
        }
    return {name: value for name, value in told.items() if value is not None}


def _instant(moment: datetime) -> str:
    from ledger.values.times import write_time

    return write_time(moment)


def _since(one: Unsettled) -> datetime:
    """Tell since when it has its status, which time alone may have made."""
    known = one.effect
    lapsed = known.status == "executing" and one.status == "unknown"
    return one.lease_until if lapsed and one.lease_until is not None else known.at


def find_out(one: Unsettled, now: datetime) -> str | None:
    """Say how somebody would find out what became of an effect; None where it is known.

    `now` is by the clock of leases.
    """
    from ledger.application.settling import NEVER_BEGUN, answers
    from ledger.gateway.tools import Tool
    from ledger.values import Recovery

    known = one.effect
    if known.is_settled:
        return None
    if one.waits and one.ended:
        return NEVER_BEGUN
    if one.waits:
        return _AFTER["approved" if one.consent is None else one.consent.state]
    if one.status == "executing":
        return f"its worker will tell, and holds its lease{_until(one.lease_until)}"
    if one.status == "disputed":
        return "reports contradict each other: a person has to find out"
    if known.recovery is Recovery.READ_ONLY:
        return "read again: it changes nothing"
    if known.is_remembered(now):
        return "send it again under its key: the outside answers with what it did"
    if known.recovery is Recovery.IDEMPOTENT:
        return "the outside may have forgotten its key: its probe, or a person"
    how: str = answers(Tool(known.tool, None, known.recovery))["how_we_know"]
    if known.recovery is Recovery.QUERYABLE and (lands := known.may_land_until(one.lease_until)) > now:
        how += f"; what was sent may land until {when(lands)}"
    return how


_AFTER: dict[str, str] = {
    "pending": "nothing was sent: a person approves or denies it",
    "approved": "nothing was sent yet: its program performs it with the next call",
    "denied": "nothing was sent, and nothing will be",
    "void": "nothing was sent: a person is asked anew when its program calls again",
    "expired": "nothing was sent: a person is asked anew when its program calls again",
}
"""What comes of an act that waits, by how its approval stands."""


def standing(one: Unsettled, *, brief: bool) -> str:
    """Say how an effect stands and since when; of one that waits, for whom."""
    consent = one.consent
    if one.waits and one.ended:
        asked = "" if consent is None else f", approval {approval_id(consent.approval.id, brief=brief)}"
        return f"never begun{asked}"
    if consent is None or not one.waits:
        return f"{one.status} since {when(_since(one))}"
    return consent_words(consent, brief=brief)


def consent_words(consent: Consent, *, brief: bool) -> str:
    """Say what a person was asked, and what they said."""
    asked, said = consent.approval, consent.approval.answered
    name = f"approval {approval_id(asked.id, brief=brief)}"
    if consent.state == "pending":
        until = "" if asked.expires_at is None else f", until {when(asked.expires_at)}"
        return f"waits for a person since {when(asked.at)}{until}, {name}"
    if consent.void is not None:
        before = "" if said is None else f", which {quoted(said.by)} had given,"
        return f"{name}{before} binds no more: {one_line(consent.void, _MOST if brief else None)}"
    assert said is not None, "what binds and does not wait was answered"
    why = "" if said.reason is None else f": {one_line(said.reason, _MOST if brief else None)}"
    return f"{said.answer} by {quoted(said.by)} {when(said.at)}, {name}{why}"


def approval_id(id: str, *, brief: bool) -> str:
    """Write the id of a request, cut to what tells it apart where it is to be brief."""
    from ledger.run.approvals import key_of

    return f"{id[:12]}.." if brief and key_of(id) is not None else quoted(id)


def _until(moment: datetime | None) -> str:
    return "" if moment is None else f" until {when(moment)}"


def last_known(known: EffectHistory, most: int | None) -> str:
    """Say what was found out last, or its worker said since; nothing where a later attempt settled it."""
    return "" if _is_outdated(known) else next((words for _, words in _said(known, most)), "")


def _is_outdated(known: EffectHistory) -> bool:
    """Tell whether it succeeded after all that was found out, or said to be wrong, of earlier attempts."""
    found = max((one.attempt for one in known.findings), default=0)
    return known.status == "succeeded" and known.attempt > found


def _said(known: EffectHistory, most: int | None) -> Iterator[tuple[str, str]]:
    """Yield what was found out and what its worker said, the later first; each with what it is if earlier."""
    found, error = [], []
    if known.findings:
        last = known.findings[-1]
        by = "" if last.by is None else f" by {quoted(last.by)}"
        words = f"{last.method}{by} {when(last.at)}: {one_line(last.evidence, most)}"
        found = [("found out before", words)]
    if known.error is not None:
        words = f"{known.error.type}: {one_line(known.error.message, most)}"
        error = [("its worker had said", words)]
    failed = max((told.attempt for told in known.told if told.error is not None), default=0)
    is_later = bool(known.findings) and known.findings[-1].attempt >= failed
    yield from (found + error if is_later else error + found)


def _args(known: EffectHistory) -> str:
    """Return the arguments, with those that the tool declared by default where they are recorded."""
    return known.args_in_full or known.args


def named(known: EffectHistory | EffectIntended) -> str:
    """Name an effect by its tool, step and occurrence."""
    name = quoted(known.tool)
    if known.step is not None:
        name += f" in step {quoted(known.step)}"
    return name if known.occurrence is None else f"{name}, occurrence {quoted(known.occurrence)}"


def payload_words(payload: Payload, most: int | None) -> str:
    """Write a result on one line, or say what is kept of it."""
    if payload.json_text is not None:
        return one_line(payload.json_text, most)
    kind = "" if payload.type is None else f" of a {quoted(payload.type)}"
    return f"content {payload.digest}{kind}"


# --- lists -----------------------------------------------------------------------------------------


def show_list(screen: Screen, effects: Iterable[Unsettled], now: datetime) -> None:
    """Write effects: at a terminal a few lines for each, elsewhere one row for each, complete."""
    if screen.is_terminal:
        for one in effects:
            show_one(screen, one, now, brief=True)
        return
    from ledger.adapters.cli.screen import Column

    columns = [Column(title, right=title == "ATTEMPT") for title in _TITLES]
    screen.table(columns, [_row(one, now) for one in effects])


_TITLES = (
    "INTENDED",
    "SINCE",
    "STATUS",
    "RUN",
    "TOOL",
    "STEP",
    "OCCURRENCE",
    "ATTEMPT",
    "WORKER",
    "RECOVERY",
    "REF",
    "LEASE UNTIL",
    "KEY",
    "KNOWN",
    "FIND OUT",
    "ARGUMENTS",
)


_STATES: dict[str, str] = {
    "pending": "waits for a person",
    "approved": "approved",
    "denied": "denied",
    "void": "approval void",
    "expired": "approval expired",
}


def _status(one: Unsettled) -> str:
    if one.waits and one.ended:
        return "never begun"
    return _STATES[one.consent.state] if one.consent and one.waits else one.status


def _row(one: Unsettled, now: datetime) -> tuple[str, ...]:
    known = one.effect
    lease = one.lease_until if one.status == "executing" else None
    cells = (
        when(known.intended_at),
        when(_since(one)),
        _status(one),
        quoted(one.run),
        quoted(known.tool),
        known.step and quoted(known.step),
        known.occurrence and quoted(known.occurrence),
        str(known.attempt),
        known.worker and quoted(known.worker),
        known.recovery.value,
        known.external_ref and quoted(known.external_ref),
        lease and when(lease),
        known.key,
        last_known(known, _MOST),
        find_out(one, now),
        one_line(_args(known), _MOST),
    )
    return tuple(cell or "-" for cell in cells)


def show_one(screen: Screen, one: Unsettled, now: datetime, *, brief: bool = False) -> None:
    """Write what is known of an effect; `brief` cuts long texts, and its key to what tells it apart."""
    known = one.effect
    seen = "" if known.witnessed else ", imported"
    tried = f", attempt {known.attempt}" if known.attempt or one.consent is None else ""
    screen.entry(f"{named(known)}: {standing(one, brief=brief)}{tried}{seen}", style="bold")
    for line in _lines(one, now, brief=brief):
        screen.entry(line, indent=2, hang=2)


def _lines(one: Unsettled, now: datetime, *, brief: bool) -> Iterator[str]:
    known = one.effect
    most = _MOST if brief else None
    yield f"run {quoted(one.run)}, key {shortened(known.key, brief)}"
    yield f"intended {when(known.intended_at)}, position {known.intended_position}" + (
        "" if known.intended_in == one.run else f" of run {quoted(known.intended_in)}"
    )
    if one.consent is not None:
        if not one.waits:
            yield consent_words(one.consent, brief=brief)
        if one.consent.approval.question is not None:
            yield f"question: {one_line(one.consent.approval.question, most)}"
    if known.worker is not None:
        yield f"worker {quoted(known.worker)}"
    yield f"arguments {one_line(_args(known), most)}"
    if known.external_ref is not None:
        yield f"the outside calls it {quoted(known.external_ref)}"
    if known.result is not None:
        yield f"result {payload_words(known.result, most)}"
    if known.cost is not None:
        yield "cost " + ", ".join(f"{amount} {quoted(unit)}" for unit, amount in known.cost.items())
    for number, (earlier, words) in enumerate(_said(known, most)):
        yield f"{earlier if number or _is_outdated(known) else 'last known'}: {words}"
    how = find_out(one, now)
    yield f"recovery {known.recovery.value}" + ("" if how is None else f": {how}")
