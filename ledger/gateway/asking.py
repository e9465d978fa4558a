"""Finding out what became of an act: its probe is asked, or the same is sent again under its key.

Where the outside dedupes on the key, sending again cannot act twice as long as it remembers, and its answer
is that of the act. So it needs no claim: nothing is begun that was not begun before. But it may be that
nothing was sent before, so that what forbids the act by now forbids this too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ledger import commands as c
from ledger import events as e
from ledger.gateway.answers import Happened, NotHappened, Outcome
from ledger.gateway.steps import (
    Act,
    Ask,
    Look,
    Moment,
    NotBegun,
    Raised,
    Report,
    Resend,
    Returned,
    Steps,
    Weigh,
)
from ledger.run.history import EffectHistory
from ledger.values import ErrorSaid, Recovery
from ledger.values.faults import a

MOST_RESENT = 200
"""How many findings of sending again an effect may hold: then a person has to look, whatever the cause."""


_UNKNOWN = {"method": "redelivery", "found": "unknown"}


class Answer(NamedTuple):
    """What asking the outside came to."""

    found: str
    """`happened`, `did_not_happen` or `unknown`: also where the outside does not have it yet and what was
    sent may still land; `not_asked` where it was neither asked nor sent anything."""
    said: str
    """What the outside said, in words, or why it was not asked."""

    @property
    def settles(self) -> bool:
        """Tell whether what became of the act is known now."""
        return self.found in ("happened", "did_not_happen")


def find_out(act: Act) -> Steps[Answer]:
    """Ask the probe; where there is none, or it cannot tell, send the act again if the outside dedupes it."""
    if act.tool.probe is None:
        return (yield from send_again(act))
    asked = yield from ask(act.clean)
    if asked.settles or act.tool.recovery is not Recovery.IDEMPOTENT:
        return asked
    again = yield from send_again(act)
    found = asked.found if again.found == "not_asked" else again.found
    return Answer(found, f"{asked.said}; {again.said}")


# --- the probe ------------------------------------------------------------------------------------


def ask(clean: Callable[[str], str] = str) -> Steps[Answer]:
    """Ask the probe, record what it says as evidence, and return what is known then."""
    answer: Any = yield Ask()
    fields: dict[str, Any] = {"method": "probe", "found": "unknown"}
    result = None
    if isinstance(answer, Happened):
        words = _words(answer.evidence, clean)
        said = f"the probe found it: {words}" if words else "the probe found it"
        fields |= {"found": "happened", "evidence": words or said}
        fields |= {"external_ref": answer.external_ref, "cost": answer.cost}
        result = answer.result
    elif isinstance(answer, NotHappened):
        words = _words(answer.evidence, clean)
        said = f"the probe did not find it: {words}" if words else "the probe did not find it"
        fields |= {"found": "did_not_happen", "evidence": words or said}
    else:
        said = fields["evidence"] = _without_answer(answer, clean)
    return Answer((yield from _recorded(fields, result)), said)


def _without_answer(answer: object, clean: Callable[[str], str]) -> str:
    """Say how a probe did not answer."""
    if isinstance(answer, Raised):
        error = said_by(answer.error, clean)
        return f"the probe raised {error.type}: {error.message}"
    if answer is None:
        return "the probe could not tell"
    name = type(answer).__name__
    return f"the probe answered with {a(name)}: it answers Happened, NotHappened or None"


# --- sending again --------------------------------------------------------------------------------


def send_again(act: Act) -> Steps[Answer]:
    """Send an act of which nobody knows once more under its key, while the outside remembers that.

    That it is sent is recorded before, since what lands later is of this request. Only its success says what
    became of the act: a refusal of this request says nothing of those before it.
    """
    moment: Moment = yield Weigh()
    instead = yield from _instead(act, moment)
    if instead is not None:
        return instead
    words = f"being sent again under its key by {act.claim.worker} since {moment.now.isoformat()}"
    yield Report(c.ReconcileEffect, {**_UNKNOWN, "evidence": words})
    moment = yield Weigh()
    instead = yield from _instead(act, moment)
    if instead is not None:
        return instead  # somebody was faster, and has told or begun
    known = moment.known
    assert known is not None, "of what nothing is known nothing is sent again"
    until = known.forgotten_at(act.tool.dedupes_for)
    end: Returned | Raised | NotBegun = yield Resend(known.attempt, until)
    return (yield from _answered(act, end))


def _answered(act: Act, end: Returned | Raised | NotBegun) -> Steps[Answer]:
    """Record what sending again came to."""
    fields: dict[str, Any] = dict(_UNKNOWN)
    result = None
    if isinstance(end, Returned):
        told = end.value if isinstance(end.value, Outcome) else Outcome(end.value)
        fields |= {"found": "happened", "external_ref": told.external_ref, "cost": told.cost}
        result = told.result
        ref = _words(told.external_ref, act.clean)
        said = "sent again under its key; the outside answered" + (f" and calls it {ref}" if ref else "")
    elif isinstance(end, NotBegun):
        said = "not sent again after all: the outside may have forgotten its key meanwhile"
    else:
        error = said_by(end.error, act.clean)
        definite = isinstance(end.error, act.tool.definite_errors)
        what = "it was refused, which says nothing of what was sent first" if definite else "it raised"
        said = f"sent again under its key; {what}: {error.type}: {error.message}"
    fields["evidence"] = said
    return Answer((yield from _recorded(fields, result)), said)


def _instead(act: Act, moment: Moment) -> Steps[Answer | None]:
    """Say what stands in the way of sending it again; None where nothing does."""
    known = moment.known
    if known is not None and known.is_settled:
        said = "its outcome is known"  # perhaps in another run; stated here, it is settled here too
        return Answer((yield from _recorded({**_UNKNOWN, "evidence": said}, None)), said)
    why = act.unsendable or _barred(act, moment)
    return None if why is None else Answer("not_asked", why)


def _barred(act: Act, moment: Moment) -> str | None:
    """Say why it must not be sent again now."""
    known, person = moment.known, "a person has to find out, and settle it"
    if known is None:
        return f"nothing is recorded of {act.tool.name!r} under this key"
    if known.status == "disputed":
        return f"reports about it contradict each other: {person}"
    if moment.against is not None:
        return f"{moment.against}: {person}"
    if known.may_be_sending(moment.now, moment.lease_until):
        return f"{known.worker} is executing it and holds its lease"
    if known.recovery is not Recovery.IDEMPOTENT:
        return f"{known.tool!r} was {known.recovery.value} when it was sent: {person}"
    if not known.is_remembered(moment.now, act.tool.dedupes_for):
        return f"the outside may have forgotten its key: {person}"
    if sum(one.method == "redelivery" for one in known.findings) >= MOST_RESENT:
        return f"it was sent again so often in vain that it is not any more: {person}"
    return None


# --- what is recorded -----------------------------------------------------------------------------


def _recorded(fields: dict[str, Any], result: Any) -> Steps[str]:
    """Record what was found out, and return what is known then."""
    stated = yield Report(c.ReconcileEffect, fields, result)
    events = [record.event for record in stated.records]
    if any(isinstance(event, e.EffectDisputed) for event in events):
        return "unknown"  # it contradicts what was settled
    for event in events:
        if isinstance(event, e.EffectReconciled):
            return event.found
    return (yield from known_now())


def known_now() -> Steps[str]:
    """Read what is known of the effect."""
    history: EffectHistory | None = yield Look()
    return _KNOWN.get("" if history is None else history.status, "unknown")


_KNOWN = {"succeeded": "happened", "failed": "did_not_happen", "did_not_happen": "did_not_happen"}


def said_by(error: BaseException, clean: Callable[[str], str] = str) -> ErrorSaid:
    """Put an exception into words that an event can hold."""
    kind = "".join(char if "!" <= char <= "~" else "_" for char in type(error).__name__)
    return ErrorSaid(message=_words(error, clean), type=kind[:200] or "unnamed")


def _words(said: object, clean: Callable[[str], str]) -> str:
    """Return what something says of itself, as an event can hold it; empty where it says nothing."""
    try:
        words = "" if said is None else str(said)
    except Exception:  # noqa: BLE001  whatever its class raises
        words = "it cannot say what"
    words = clean(words.encode("utf-8", "backslashreplace").decode())
    if len(words) > _LONGEST_WORDS:
        words = f"{words[:_LONGEST_WORDS]}… [{len(words)} characters in all]"
    return words if words.strip() else ""


_LONGEST_WORDS = 4096
