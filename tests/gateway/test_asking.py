"""Finding out, driven by hand: the probe first, then the same sent again, and what stands in the way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ledger import Happened, NotHappened, Outcome
from ledger import commands as c
from ledger.gateway import protocol as p
from ledger.gateway.asking import MOST_RESENT
from ledger.gateway.tools import Tool
from ledger.run.known import EffectHistory, Finding
from ledger.values import Recovery
from tests.gateway.test_protocol import FINDING, KEY, STORED, Script, act, drive, found, known, tool

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = 86_400
DEDUPED = tool(recovery="idempotent", dedupes_for=DAY)
BOTH = tool(recovery="idempotent", dedupes_for=DAY, probe=lambda key, args: None)
ASKED = tool(recovery="queryable", probe=lambda key, args: None)
ANSWERED = "sent again under its key; the outside answered"
REFUSED = "sent again under its key; it was refused, which says nothing of what was sent first"
PERSON = ": a person has to find out, and settle it"


def history(**more: Any) -> EffectHistory:
    """Tell what is known of an act that was sent an hour ago, by a worker that died."""
    sent = NOW - timedelta(hours=1)
    fields: dict[str, Any] = {
        "act": KEY,
        "args": "{}",
        "at": sent,
        "attempt": 3,
        "dedupes_for": DAY,
        "first_sent_at": sent,
        "intended_at": sent,
        "intended_in": "r",
        "intended_position": 2,
        "key": KEY,
        "lease_until": sent + timedelta(seconds=30),
        "position": 3,
        "recovery": Recovery.IDEMPOTENT,
        "run": "r",
        "since_attempt": 1,
        "status": "executing",
        "tool": "refund",
        "worker": "w-0",
    }
    return EffectHistory.model_validate({**fields, **more})


def moment(now: datetime = NOW, lease_until: datetime | None = None, **more: Any) -> p.Moment:
    return p.Moment(history(**more), now, lease_until)


def ways(script: Script, answer: Any, *, until: datetime | None = None) -> Script:
    """Let nothing stand in the way of sending it again, and answer that."""
    sends = [(p.Weigh, moment()), (FINDING, found("unknown")), (p.Weigh, moment()), (p.Resend, answer)]
    return [*sends, *script]


RETURNED = p.Returned({"id": 1})
SENT = {
    "its answer settles it": (
        DEDUPED,
        ways([(FINDING, found("happened"))], RETURNED),
        ("happened", ANSWERED),
    ),
    "it says what the outside calls it": (
        DEDUPED,
        ways([(FINDING, found("happened"))], p.Returned(Outcome(1, "re_1"))),
        ("happened", f"{ANSWERED} and calls it re_1"),
    ),
    "a refusal says nothing of what was sent first": (
        DEDUPED,
        ways([(FINDING, found("unknown"))], p.Raised(ValueError("no such order"))),
        ("unknown", f"{REFUSED}: ValueError: no such order"),
    ),
    "nor does another error": (
        DEDUPED,
        ways([(FINDING, found("unknown"))], p.Raised(OSError("down"))),
        ("unknown", "sent again under its key; it raised: OSError: down"),
    ),
    "the time is over right before the call": (
        DEDUPED,
        ways([(FINDING, found("unknown"))], p.NotBegun()),
        ("unknown", "not sent again after all: the outside may have forgotten its key meanwhile"),
    ),
    "a rival settled it meanwhile": (
        DEDUPED,
        ways([(FINDING, STORED), (p.Look, known("succeeded"))], p.Raised(OSError("down"))),
        ("happened", "sent again under its key; it raised: OSError: down"),
    ),
    "a rival settles it before it is sent": (
        DEDUPED,
        [
            (p.Weigh, moment()),
            (FINDING, STORED),
            (p.Weigh, moment(status="succeeded")),
            (FINDING, STORED),
            (p.Look, known("succeeded")),
        ],
        ("happened", "its outcome is known"),
    ),
    "a worker claims it before it is sent": (
        DEDUPED,
        [
            (p.Weigh, moment()),
            (FINDING, found("unknown")),
            (p.Weigh, moment(lease_until=NOW + timedelta(seconds=9))),
        ],
        ("not_asked", "w-0 is executing it and holds its lease"),
    ),
    "what another run settled is settled here": (
        DEDUPED,
        [(p.Weigh, moment(status="did_not_happen")), (FINDING, found("did_not_happen"))],
        ("did_not_happen", "its outcome is known"),
    ),
    "a probe is asked first": (
        BOTH,
        [(p.Ask, Happened()), (FINDING, found("happened"))],
        ("happened", "the probe found it"),
    ),
    "a probe settles that it did not happen": (
        BOTH,
        [(p.Ask, NotHappened()), (FINDING, found("did_not_happen"))],
        ("did_not_happen", "the probe did not find it"),
    ),
    "a probe cannot tell": (
        BOTH,
        [(p.Ask, None), (FINDING, found("unknown")), *ways([(FINDING, found("happened"))], RETURNED)],
        ("happened", f"the probe could not tell; {ANSWERED}"),
    ),
    "a probe cannot tell yet": (
        BOTH,
        [
            (p.Ask, NotHappened()),
            (FINDING, found("unknown")),
            *ways([(FINDING, found("happened"))], RETURNED),
        ],
        ("happened", f"the probe did not find it; {ANSWERED}"),
    ),
    "a probe cannot tell, and the outside has forgotten": (
        BOTH,
        [(p.Ask, None), (FINDING, found("unknown")), (p.Weigh, moment(dedupes_for=3600))],
        ("unknown", f"the probe could not tell; the outside may have forgotten its key{PERSON}"),
    ),
    "only what is idempotent is sent after the probe": (
        ASKED,
        [(p.Ask, None), (FINDING, found("unknown"))],
        ("unknown", "the probe could not tell"),
    ),
}


@pytest.mark.parametrize("case", SENT)
def test_finding_out(case: str) -> None:
    declared, script, end = SENT[case]
    assert drive(p.find_out(act(declared)), script) == end


IN_VAIN = Finding(at=NOW, attempt=3, evidence="x", found="unknown", method="redelivery", position=4, run="r")
BARRED = {
    "a lease is alive": (
        DEDUPED,
        moment(NOW - timedelta(hours=1)),
        "w-0 is executing it and holds its lease",
    ),
    "it is alive though somebody does not know": (
        DEDUPED,
        moment(NOW - timedelta(hours=1), status="unknown"),
        "w-0 is executing it and holds its lease",
    ),
    "a lease was renewed": (
        DEDUPED,
        moment(lease_until=NOW + timedelta(seconds=1)),
        "w-0 is executing it and holds its lease",
    ),
    "the outside may have forgotten": (
        DEDUPED,
        moment(NOW + timedelta(hours=23)),
        f"the outside may have forgotten its key{PERSON}",
    ),
    "by the shorter declaration, which is of now": (
        tool(recovery="idempotent", dedupes_for=3600),
        moment(),
        f"the outside may have forgotten its key{PERSON}",
    ),
    "or of before": (
        tool(recovery="idempotent", dedupes_for=None),
        moment(dedupes_for=3600),
        f"the outside may have forgotten its key{PERSON}",
    ),
    "it was declared otherwise when it was sent": (
        DEDUPED,
        moment(recovery=Recovery.AT_MOST_ONCE),
        f"'refund' was at_most_once when it was sent{PERSON}",
    ),
    "nothing was sent": (
        DEDUPED,
        moment(status="pending", first_sent_at=None, attempt=0, lease_until=None),
        f"the outside may have forgotten its key{PERSON}",
    ),
    "reports contradict each other": (
        DEDUPED,
        moment(status="disputed"),
        f"reports about it contradict each other{PERSON}",
    ),
    "it was in vain often enough": (
        DEDUPED,
        moment(findings=(IN_VAIN,) * MOST_RESENT),
        f"it was sent again so often in vain that it is not any more{PERSON}",
    ),
    "nothing is recorded": (
        DEDUPED,
        p.Moment(None, NOW, None),
        "nothing is recorded of 'refund' under this key",
    ),
}


@pytest.mark.parametrize("case", BARRED)
def test_it_is_not_sent_again_where(case: str) -> None:
    declared, there, because = BARRED[case]
    assert drive(p.find_out(act(declared)), [(p.Weigh, there)]) == ("not_asked", because)


def test_who_must_not_send_it_again_says_why() -> None:
    barred = act(DEDUPED, unsendable="'r' is a fork")
    assert drive(p.find_out(barred), [(p.Weigh, moment())]) == ("not_asked", "'r' is a fork")


def test_it_is_sent_at_the_last_moment() -> None:
    """The time that is left is for the call too, which is told when the outside may forget."""
    last = moment(NOW + timedelta(hours=23) - timedelta(microseconds=1))
    steps = p.find_out(act(DEDUPED))
    next(steps)
    steps.send(last)
    steps.send(found("unknown"))
    assert steps.send(last) == p.Resend(3, NOW + timedelta(hours=23))


def reports(declared: Tool, end: Any) -> list[p.Report]:
    steps = p.find_out(act(declared))
    next(steps)
    first = steps.send(moment())
    steps.send(found("unknown"))
    assert isinstance(steps.send(moment()), p.Resend)
    second = steps.send(end)
    assert isinstance(first, p.Report)
    assert isinstance(second, p.Report)
    for report in (first, second):
        c.ReconcileEffect(key=KEY, **report.fields)
    return [first, second]


def test_that_it_is_sent_is_recorded_before_and_its_answer_after() -> None:
    first, second = reports(DEDUPED, p.Returned(Outcome({"id": 1}, "re_1", {"EUR": "10.00"})))
    words = f"being sent again under its key by w-1 since {NOW.isoformat()}"
    assert first == p.Report(FINDING, {"method": "redelivery", "found": "unknown", "evidence": words})
    told = {"method": "redelivery", "found": "happened", "evidence": f"{ANSWERED} and calls it re_1"}
    told |= {"external_ref": "re_1", "cost": {"EUR": "10.00"}}  # type: ignore[dict-item]
    assert second == p.Report(FINDING, told, {"id": 1})


def test_an_error_is_evidence_that_nobody_knows() -> None:
    _, second = reports(DEDUPED, p.Raised(ValueError("no such order")))
    assert second.fields["found"] == "unknown"
    assert second.result is None


@pytest.mark.parametrize(
    ("end", "settles"),
    [("happened", True), ("did_not_happen", True), ("unknown", False), ("not_asked", False)],
)
def test_an_answer_tells_whether_it_settles(end: str, settles: bool) -> None:
    assert p.Answer(end, "x").settles is settles
