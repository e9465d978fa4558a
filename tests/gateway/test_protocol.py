"""The protocol, driven by hand: each step it yields, what it is answered with, and what that comes to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import Happened, NotHappened, Outcome, Retry
from ledger import commands as c
from ledger import events as e
from ledger.errors import (
    ConstraintViolated,
    EffectFailed,
    EffectInFlight,
    EffectsDisabled,
    LeaseLost,
    LedgerError,
    OutcomeUnknown,
    PossibleRepeat,
    ResultNotKept,
)
from ledger.gateway import protocol as p
from ledger.gateway.tools import Tool, declare
from ledger.values import ErrorSaid, Payload, Recovery

KEY = "a" * 64
LEASE = datetime(2026, 1, 1, tzinfo=UTC)
FIRST, SECOND = p.Attempt(1, LEASE), p.Attempt(2, LEASE)
BROKEN, DEFINITE = RuntimeError("broken"), ValueError("no such order")
NOT_KNOWN = OutcomeUnknown("nobody knows", key=KEY, retry_after=None)
LANDS = OutcomeUnknown("nobody knows", key=KEY, retry_after=30.0)
BUSY = EffectInFlight("busy", key=KEY, retry_after=10.0)


def found(what: str) -> Any:
    event = e.EffectReconciled(attempt=1, evidence="x", found=what, key=KEY, method="probe")  # type: ignore[arg-type]
    return SimpleNamespace(records=(SimpleNamespace(event=event),), repeated=False)


FAILED = SimpleNamespace(
    records=(
        SimpleNamespace(event=e.EffectFailed(attempt=1, error=ErrorSaid(message="", type="X"), key=KEY)),
    ),
    repeated=False,
)
DOUBTED = SimpleNamespace(
    records=(SimpleNamespace(event=e.EffectUnknown(attempt=2, because="raised", key=KEY)),), repeated=False
)
STORED = SimpleNamespace(records=(), repeated=False)
REPEATED = SimpleNamespace(records=(), repeated=True)


def known(status: str, result: Payload | None = None) -> Any:
    return SimpleNamespace(status=status, result=result, tool="refund")


def claim(**more: Any) -> c.ClaimEffect:
    return c.ClaimEffect(args="{}", recovery="queryable", tool="refund", worker="w-1", **more)  # type: ignore[arg-type]


def act(tool: Tool, **more: Any) -> p.Act:
    return p.Act(tool=tool, key=KEY, args="{}", values={}, claim=claim(), **more)


def tool(**declared: Any) -> Tool:
    return declare(lambda: None, name="refund", **{"definite_errors": ValueError, **declared})


PLAIN = tool()
ASKED = tool(recovery="queryable", probe=lambda key, args: None)
SOON = tool(recovery="queryable", probe=lambda key, args: None, settle_seconds=0, retry=Retry(2))
AGAIN = tool(retry=Retry(2, backoff=3.0))
PICKY = tool(retry=Retry(2, on=(KeyError,)))
SAME_KEY = tool(recovery="idempotent", dedupes_for=None, retry=Retry(2, backoff=3.0))

SUCCESS, FAILURE, UNKNOWN, FINDING = (
    c.ReportSuccess,
    c.ReportFailure,
    c.ReportUnknown,
    c.ReconcileEffect,
)
Script = Sequence[tuple[Any, Any]]


def drive(steps: p.Steps[Any], script: Script) -> Any:
    """Answer each step as the script says, and return what it comes to: a value, or an exception."""
    seen: list[p.Step] = []
    answer: Any = None
    for expected, _ in (*script, (None, None)):
        try:
            step = steps.throw(answer) if isinstance(answer, BaseException) else steps.send(answer)
        except StopIteration as end:
            return _only_after(script, seen, end.value)
        except Exception as error:  # noqa: BLE001
            return _only_after(script, seen, error)
        seen.append(step)
        assert len(seen) <= len(script), f"one step too many: {step}"
        assert _is(step, expected), f"expected {expected}, got {step} after {seen[:-1]}"
        answer = script[len(seen) - 1][1]
    raise AssertionError("it never ended")


def _only_after(script: Script, seen: list[p.Step], end: Any) -> Any:
    assert len(seen) == len(script), f"it came to {end!r} after {seen}"
    return end


def _is(step: Any, expected: Any) -> bool:
    if isinstance(expected, p.Wait):
        return bool(step == expected)
    if isinstance(expected, type) and issubclass(expected, c.Command):
        return isinstance(step, p.Report) and step.kind is expected
    return type(step) is expected


def raised(kind: type[Exception], **data: Any) -> Callable[[Any], bool]:
    def matches(end: Any) -> bool:
        assert isinstance(end, kind), end
        told = end.data if isinstance(end, LedgerError) else {}
        assert {name: told.get(name) for name in data} == data
        return True

    return matches


def value(expected: Any) -> Callable[[Any], bool]:
    return lambda end: bool(end == expected and type(end) is type(expected))


DONE = [(p.Claim, None), (p.Look, known("succeeded", Payload(json_text="1"))), (p.Read, 1)]
RAISES = [(p.Claim, FIRST), (p.Execute, p.Raised(BROKEN)), (UNKNOWN, STORED)]
REFUSED = [(p.Claim, FIRST), (p.Execute, p.Raised(DEFINITE)), (FAILURE, FAILED)]
SUCCEEDS = [(p.Claim, SECOND), (p.Execute, p.Returned("ok")), (SUCCESS, STORED), (p.Again, "ok")]
DISPUTED = SimpleNamespace(
    records=(
        SimpleNamespace(
            event=e.EffectDisputed(
                act=KEY, attempt=1, key=KEY, recovery=Recovery.QUERYABLE, reported="succeeded", tool="refund"
            )
        ),
    ),
    repeated=False,
)

# What it is called, the act, steps with their answers, and the end.
CASES: dict[str, tuple[p.Act, Script, Callable[[Any], bool]]] = {
    "it returns": (
        act(PLAIN),
        [(p.Claim, FIRST), (p.Execute, p.Returned((1,))), (SUCCESS, STORED), (p.Again, [1])],
        value([1]),
    ),
    "it returns nothing": (
        act(PLAIN),
        [(p.Claim, FIRST), (p.Execute, p.Returned(None)), (SUCCESS, STORED)],
        value(None),
    ),
    "it returns, and was fenced": (
        act(PLAIN),
        [(p.Claim, FIRST), (p.Execute, p.Returned((1,))), (SUCCESS, DISPUTED), (p.Again, [1])],
        raised(LeaseLost, key=KEY, result=[1]),
    ),
    "it returns an outcome": (
        act(PLAIN),
        [(p.Claim, FIRST), (p.Execute, p.Returned(Outcome(7, "ch-1"))), (SUCCESS, STORED), (p.Again, 7)],
        value(7),
    ),
    "it was done": (act(PLAIN), DONE, value(1)),
    "it was done and returned nothing": (
        act(PLAIN),
        [(p.Claim, None), (p.Look, known("succeeded"))],
        value(None),
    ),
    "it was done and is disputed since": (
        act(PLAIN),
        [(p.Claim, None), (p.Look, known("disputed"))],
        raised(OutcomeUnknown, key=KEY, retry_after=None),
    ),
    "it was done and nothing of it is found": (
        act(PLAIN),
        [(p.Claim, None), (p.Look, None)],
        raised(OutcomeUnknown, key=KEY),
    ),
    "it was done and returned no JSON": (
        act(PLAIN),
        [(p.Claim, None), (p.Look, known("succeeded", Payload(digest="b" * 64, type="Cursor")))],
        raised(ResultNotKept, key=KEY, type="Cursor", digest="b" * 64),
    ),
    "the claim is refused": (
        act(PLAIN),
        [(p.Claim, PossibleRepeat("again", rule="possible_repeat", position=None, evidence={}))],
        raised(PossibleRepeat),
    ),
    "the lease ended before the call": (
        act(PLAIN),
        [(p.Claim, FIRST), (p.Execute, p.NotBegun()), (FAILURE, FAILED)],
        raised(LeaseLost, key=KEY),
    ),
    "it raises": (act(PLAIN), RAISES, raised(OutcomeUnknown, key=KEY, retry_after=None)),
    "it refuses": (act(PLAIN), REFUSED, raised(EffectFailed, key=KEY, cause="ValueError: no such order")),
    "it refuses, as was told already": (
        act(PLAIN),
        [*REFUSED[:2], (FAILURE, REPEATED), (p.Look, known("failed"))],
        raised(EffectFailed, key=KEY),
    ),
    "it refuses, as was told already, and nobody knows since": (
        act(PLAIN),
        [*REFUSED[:2], (FAILURE, REPEATED), (p.Look, known("unknown"))],
        raised(OutcomeUnknown, key=KEY),
    ),
    "it refuses what was sent again": (
        act(SAME_KEY),
        [(p.Claim, SECOND), (p.Execute, p.Raised(DEFINITE)), (FAILURE, DOUBTED)],
        raised(OutcomeUnknown, key=KEY, retry_after=0.0),
    ),
    "it refuses and is tried again": (
        act(AGAIN),
        [*REFUSED, (p.Wait(3.0), None), *SUCCEEDS],
        value("ok"),
    ),
    "it refuses each time": (
        act(AGAIN),
        [*REFUSED, (p.Wait(3.0), None), (p.Claim, SECOND), *REFUSED[1:]],
        raised(EffectFailed),
    ),
    "it refuses for good": (act(PICKY), REFUSED, raised(EffectFailed)),
    "a block that was run is not run again, whatever the claim comes to": (
        act(SOON, once=True),
        [
            *RAISES,
            (p.Ask, Happened()),
            (FINDING, found("happened")),
            (p.Wait(0.0), None),
            (p.Claim, SECOND),
            (FAILURE, FAILED),
        ],
        raised(LeaseLost, key=KEY),
    ),
    "it refuses a block": (act(AGAIN, once=True), REFUSED, raised(EffectFailed)),
    "it raises, and is not tried again": (act(AGAIN), RAISES, raised(OutcomeUnknown, retry_after=None)),
    "it raises, and the same key is sent again": (
        act(SAME_KEY),
        [*RAISES, (p.Wait(3.0), None), *SUCCEEDS],
        value("ok"),
    ),
    "it raises, and the outside does not know": (
        act(ASKED),
        [*RAISES, (p.Ask, None), (FINDING, found("unknown"))],
        raised(OutcomeUnknown, key=KEY, retry_after=30.0),
    ),
    "it raises, and the outside has it": (
        act(ASKED),
        [*RAISES, (p.Ask, Happened(1)), (FINDING, found("happened")), (p.Wait(0.0), None), *DONE],
        value(1),
    ),
    "it raises, and the outside does not have it": (
        act(ASKED),
        [*RAISES, (p.Ask, NotHappened()), (FINDING, found("did_not_happen"))],
        raised(EffectFailed, cause="RuntimeError: broken"),
    ),
    "it raises, the outside does not have it, and it is tried again": (
        act(SOON),
        [
            *RAISES,
            (p.Ask, NotHappened()),
            (FINDING, found("did_not_happen")),
            (p.Wait(1.0), None),
            *SUCCEEDS,
        ],
        value("ok"),
    ),
    "nobody knows, and nobody can be asked": (
        act(PLAIN),
        [(p.Claim, NOT_KNOWN)],
        raised(OutcomeUnknown, retry_after=None),
    ),
    "nobody knows, and the outside has it": (
        act(ASKED),
        [(p.Claim, LANDS), (p.Ask, Happened(1)), (FINDING, found("happened")), *DONE],
        value(1),
    ),
    "nobody knows, and the outside does not have it": (
        act(ASKED),
        [(p.Claim, LANDS), (p.Ask, NotHappened()), (FINDING, found("did_not_happen")), *SUCCEEDS],
        value("ok"),
    ),
    "nobody knows, and it may still land": (
        act(ASKED),
        [(p.Claim, LANDS), (p.Ask, NotHappened()), (FINDING, found("unknown"))],
        raised(OutcomeUnknown, retry_after=30.0),
    ),
    "nobody knows, it may still land, and one waits": (
        act(ASKED, patience=30.0),
        [
            (p.Claim, LANDS),
            (p.Ask, NotHappened()),
            (FINDING, found("unknown")),
            (p.Wait(30.0), None),
            (p.Claim, LANDS),
            (p.Ask, NotHappened()),
            (FINDING, found("did_not_happen")),
            *SUCCEEDS,
        ],
        value("ok"),
    ),
    "nobody knows, and waiting would not do": (
        act(ASKED, patience=29.0),
        [(p.Claim, LANDS), (p.Ask, None), (FINDING, found("unknown"))],
        raised(OutcomeUnknown),
    ),
    "it was settled while it was asked for": (
        act(ASKED),
        [(p.Claim, LANDS), (p.Ask, Happened(1)), (FINDING, STORED), (p.Look, known("succeeded")), *DONE],
        value(1),
    ),
    "the same was found out before": (
        act(ASKED),
        [(p.Claim, LANDS), (p.Ask, None), (FINDING, STORED), (p.Look, known("unknown"))],
        raised(OutcomeUnknown),
    ),
    "asked for what nobody knows of": (
        act(ASKED),
        [(p.Claim, LANDS), (p.Ask, None), (FINDING, STORED), (p.Look, None)],
        raised(OutcomeUnknown),
    ),
    "another works at it": (act(PLAIN), [(p.Claim, BUSY)], raised(EffectInFlight, retry_after=10.0)),
    "another works at it, and ends in time": (
        act(PLAIN, patience=1.0),
        [(p.Claim, BUSY), (p.Wait(0.02), None), (p.Claim, BUSY), (p.Wait(0.03), None), *DONE],
        value(1),
    ),
    "another works at it for too long": (
        act(PLAIN, patience=0.02),
        [(p.Claim, BUSY), (p.Wait(0.02), None), (p.Claim, BUSY)],
        raised(EffectInFlight),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_act(case: str) -> None:
    one, script, ends = CASES[case]
    end = drive(p.perform(one), script)
    assert ends(end), end


def test_patience_is_never_exceeded_and_asks_ever_more_rarely() -> None:
    steps = p.perform(act(PLAIN, patience=20.0))
    pauses: list[float] = []
    step: Any = next(steps)
    with suppress(EffectInFlight):
        while True:
            step = steps.throw(BUSY) if isinstance(step, p.Claim) else steps.send(None)
            if isinstance(step, p.Wait):
                pauses.append(step.seconds)
    assert sum(pauses) == pytest.approx(20.0)
    assert pauses[:-1] == sorted(pauses[:-1])
    assert max(pauses) == 1.0
    assert len(pauses) < 40


def test_what_interrupts_a_step_leaves_the_effect_as_it_is() -> None:
    """No report is made of what nobody can know, so its lease turns it into unknown."""
    for script in ([(p.Claim, FIRST)], RAISES[:2], SUCCEEDS[:2], REFUSED[:2]):
        steps = p.perform(act(ASKED))
        answer: Any = None
        for _, given_ in script:
            steps.send(answer)
            answer = given_
        steps.send(answer)
        with pytest.raises(KeyboardInterrupt):
            steps.throw(KeyboardInterrupt())


# --- what is reported --------------------------------------------------------------------------------


def reported(one: p.Act, script: Script) -> p.Report:
    """Return the last report of a script."""
    steps, answer, last = p.perform(one), None, None
    for _, given_ in script:
        step = steps.throw(answer) if isinstance(answer, BaseException) else steps.send(answer)
        last = step if isinstance(step, p.Report) else last
        answer = given_
    assert last is not None
    return last


def test_an_outcome_is_reported_by_its_parts() -> None:
    outcome = Outcome({"id": 1}, external_ref="ch-1", cost={"EUR": "10.00"})
    report = reported(act(PLAIN), [(p.Claim, FIRST), (p.Execute, p.Returned(outcome)), (SUCCESS, STORED)])
    fields = {"attempt": 1, "worker": "w-1", "external_ref": "ch-1", "cost": {"EUR": "10.00"}}
    assert report == p.Report(SUCCESS, fields, {"id": 1})


def test_an_error_is_reported_in_its_words() -> None:
    report = reported(act(PLAIN), RAISES)
    said = ErrorSaid(message="broken", type="RuntimeError")
    assert report == p.Report(UNKNOWN, {"attempt": 1, "error": said, "because": "raised"})
    said = ErrorSaid(message="no such order", type="ValueError")
    assert reported(act(PLAIN), REFUSED).fields == {"attempt": 1, "error": said, "worker": "w-1"}


ANSWERS = [
    (Happened(1), "happened", "the probe found it", 1),
    (Happened(evidence="charge ch-1"), "happened", "charge ch-1", None),
    (NotHappened(), "did_not_happen", "the probe did not find it", None),
    (NotHappened(evidence="no charge"), "did_not_happen", "no charge", None),
    (None, "unknown", "the probe could not tell", None),
    (p.Raised(OSError("down")), "unknown", "the probe raised OSError: down", None),
    (True, "unknown", "the probe answered with a bool: it answers Happened, NotHappened or None", None),
    (Happened, "unknown", "the probe answered with a type: it answers Happened, NotHappened or None", None),
    (Happened(evidence="  "), "happened", "the probe found it", None),
    (NotHappened(evidence="\n"), "did_not_happen", "the probe did not find it", None),
    (Happened(evidence=17), "happened", "17", None),  # type: ignore[arg-type]
    (Happened(evidence="\ud800"), "happened", "\\ud800", None),
    (Happened(evidence="x" * 70_000), "happened", "x" * 4096 + "… [70000 characters in all]", None),
]


@pytest.mark.parametrize(("answer", "what", "evidence", "result"), ANSWERS, ids=lambda one: repr(one)[:40])
def test_each_answer_of_a_probe_is_evidence(answer: Any, what: str, evidence: str, result: Any) -> None:
    steps = p.ask()
    assert isinstance(next(steps), p.Ask)
    report = steps.send(answer)
    assert isinstance(report, p.Report)
    assert (report.fields["found"], report.fields["evidence"], report.result) == (what, evidence, result)
    c.ReconcileEffect(key=KEY, **report.fields)


@pytest.mark.parametrize(
    ("status", "what"),
    [
        ("succeeded", "happened"),
        ("failed", "did_not_happen"),
        ("did_not_happen", "did_not_happen"),
        ("executing", "unknown"),
        ("unknown", "unknown"),
        ("disputed", "unknown"),
        ("pending", "unknown"),
    ],
)
def test_what_was_found_out_before_stands(status: str, what: str) -> None:
    end = drive(p.ask(), [(p.Ask, None), (FINDING, STORED), (p.Look, known(status))])
    assert end == (what, "the probe could not tell")


def test_what_is_found_out_against_the_record_is_not_known() -> None:
    both = SimpleNamespace(
        records=(
            *found("happened").records,
            SimpleNamespace(
                event=e.EffectDisputed(
                    act=KEY,
                    attempt=1,
                    key=KEY,
                    recovery=Recovery.QUERYABLE,
                    reported="happened",
                    tool="refund",
                )
            ),
        ),
        repeated=False,
    )
    assert drive(p.ask(), [(p.Ask, Happened()), (FINDING, both)]) == ("unknown", "the probe found it")


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@given(st.text(max_size=5000), st.text(min_size=1, max_size=300))
def test_whatever_is_raised_can_be_recorded(words: str, name: str) -> None:
    try:
        kind = type(name, (Exception,), {})
    except (ValueError, UnicodeEncodeError):  # no name of a class
        kind = Exception
    said = p.said_by(kind(words))
    assert ErrorSaid(message=said.message, type=said.type) == said
    assert len(said.message) <= 4200


def test_an_error_that_cannot_say_what_it_is_is_recorded() -> None:
    assert p.said_by(Mute()) == ErrorSaid(message="it cannot say what", type="Mute")
    assert p.said_by(ValueError("\ud800")).message == "\\ud800"


# --- reading -----------------------------------------------------------------------------------------

LOOKS = tool(recovery="read_only", fresh_for=10, definite_errors=())
SEEN = Payload(json_text="1")
NO_LEASE = p.Attempt(0, None)

FORBIDDEN = ConstraintViolated("no", rule="constraint_violated", position=2, evidence={"tool": "refund"})

READS: dict[str, tuple[p.Act, Script, Callable[[Any], bool]]] = {
    "it is fresh": (act(LOOKS), [(p.See, SEEN), (p.Read, 1)], value(1)),
    "it is fresh, and no JSON": (
        act(LOOKS),
        [(p.See, Payload(digest="b" * 64, type="Frame"))],
        raised(ResultNotKept, key=KEY, type="Frame"),
    ),
    "it is not known": (
        act(LOOKS),
        [
            (p.See, None),
            (p.MayLook, None),
            (p.Execute, p.Returned([1])),
            (c.RecordObservation, STORED),
            (p.Again, [1]),
        ],
        value([1]),
    ),
    "it raises": (
        act(LOOKS),
        [(p.See, None), (p.MayLook, None), (p.Execute, p.Raised(BROKEN))],
        raised(RuntimeError),
    ),
    "a rule forbids it": (
        act(LOOKS),
        [(p.See, None), (p.MayLook, FORBIDDEN)],
        raised(ConstraintViolated, rule="constraint_violated"),
    ),
    "a fork reads what is recorded": (
        act(LOOKS, is_fork=True),
        [(p.See, SEEN), (p.Read, 1)],
        value(1),
    ),
    "a fork asks nobody": (act(LOOKS, is_fork=True), [(p.See, None)], raised(EffectsDisabled)),
}


@pytest.mark.parametrize("case", READS)
def test_a_read(case: str) -> None:
    one, script, ends = READS[case]
    end = drive(p.read(one), script)
    assert ends(end), end


def test_what_was_read_is_reported_with_what_it_cost() -> None:
    steps = p.read(act(LOOKS, runtime="model-1"))
    assert isinstance(next(steps), p.See)
    assert steps.send(None) == p.MayLook()
    assert steps.send(None) == p.Execute(NO_LEASE)
    report = steps.send(p.Returned(Outcome("answer", cost={"tokens": 12})))
    assert isinstance(report, p.Report)
    assert (report.kind, report.result, report.name) == (c.RecordObservation, "answer", "value")
    told = {name: report.fields[name] for name in ("cost", "fresh_for", "runtime", "tool")}
    assert told == {"cost": {"tokens": 12}, "fresh_for": 10, "runtime": "model-1", "tool": "refund"}
