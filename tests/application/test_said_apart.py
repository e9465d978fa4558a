"""A command that carries its content within is kept as the methods of a handle keep it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from ledger import Ledger, Run, open_ledger
from ledger import commands as c
from ledger.canonical import canonical_text
from ledger.values import Ending, Payload

SEEN = datetime(2026, 1, 31, 9, tzinfo=UTC)
LONG = "x" * 20_000


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with open_ledger(":memory:") as opened:
        yield opened


@pytest.fixture
def run(ledger: Ledger) -> Run:
    return ledger.open_run("r", "Go")


def within(value: Any) -> Payload:
    return Payload(json_text=canonical_text(value))


def kept(ledger: Ledger, payload: Payload | None) -> Any:
    assert payload is not None
    assert payload.digest is not None
    return json.loads(ledger.blob(payload.digest))


def test_a_message_is_kept_as_content_and_told_again_by_a_method_it_is_a_repeat(
    ledger: Ledger, run: Run
) -> None:
    stated = run.do(c.RecordMessage(content=within("Hello"), id="m1", role="user"))
    (message,) = ledger.contract("r").messages
    assert kept(ledger, message.content) == "Hello"
    assert run.record_message("m1", "user", "Hello").position == stated.position
    assert run.do(c.SummariseMessages(content=within("They said hello"), through="m1"))
    summary = ledger.contract("r").summary
    assert summary is not None
    assert kept(ledger, summary.content) == "They said hello"


def test_a_secret_in_a_message_is_not_kept(ledger: Ledger, run: Run) -> None:
    run.do(c.RecordMessage(content=within({"password": "hunter-2-hunter"}), id="m1", role="user"))
    (message,) = ledger.contract("r").messages
    assert "hunter" not in str(kept(ledger, message.content))


def test_what_is_large_is_kept_as_content_and_what_is_small_in_the_record(ledger: Ledger, run: Run) -> None:
    for key, value in (("long", LONG), ("short", 7)):
        run.do(c.RecordObservation(key=key, observed_at=SEEN, tool="look", value=within(value)))
    long, short = (one.event.value for one in ledger.log("r", after=1))  # type: ignore[attr-defined]
    assert (kept(ledger, long), short.json_text) == (LONG, "7")
    assert run.observe("long", LONG, tool="look", observed_at=SEEN).repeated
    run.do(c.CloseRun(outcome=Ending.FAILED, result=within(LONG)))
    (closed,) = ledger.log("r", after=3)
    assert kept(ledger, closed.event.result) == LONG  # type: ignore[attr-defined]


def test_what_names_its_content_stays_what_it_is(run: Run, ledger: Ledger) -> None:
    named = Payload(digest="0" * 64, type="Cursor")
    run.do(c.RecordObservation(key="k", observed_at=SEEN, tool="look", value=named))
    (record,) = ledger.log("r", after=1)
    assert record.event.value == named  # type: ignore[attr-defined]
