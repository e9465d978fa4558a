"""Reports hold no secret: what was seen, what it came to, and the words about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ledger import Ledger, Run, open_ledger
from ledger import commands as c
from ledger.canonical import MAX_DEPTH, canonical_text
from ledger.errors import OutcomeUnknown
from ledger.events import EffectReconciled
from ledger.values import Ending, Payload

SEEN = datetime(2026, 1, 31, 9, tzinfo=UTC)
TOKEN = "ghp_" + "a8Bk39dkQpzLw82jdm4KsoW0qLx71bCdEf22"
SECRETS = {"password": "hunter2hunter", "text": f"key {TOKEN}", "amount": 7}
CLEAN = {"password": "[redacted:name]", "text": "key [redacted:github]", "amount": 7}
LONG = {**SECRETS, "more": "x" * 20_000}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with open_ledger(f"sqlite:///{path}") as opened:
        yield opened


@pytest.fixture
def run(ledger: Ledger) -> Run:
    return ledger.open_run("r", "Go")


def within(value: object) -> Payload:
    return Payload(json_text=canonical_text(value))


def nothing_of_it(ledger: Ledger, path: Path) -> None:
    """Look into every byte of the file, contents included."""
    ledger.close()
    stored = b"".join(one.read_bytes() for one in path.parent.glob(f"{path.name}*"))
    assert b"observation" in stored
    assert b"hunter2" not in stored
    assert TOKEN.encode() not in stored


def test_what_was_seen_is_kept_without_its_secrets_by_method_and_by_command(
    ledger: Ledger, run: Run, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run.observe("short", SECRETS, tool="look", observed_at=SEEN)
    run.observe("long", LONG, tool="look", observed_at=SEEN)
    for key, value in (("short", SECRETS), ("long", LONG)):
        said = c.RecordObservation(key=key, observed_at=SEEN, tool="look", value=within(value))
        assert run.do(said).repeated, "both ways keep the same, and to say it again is a repeat"
    asked = c.RecordObservation(
        args=canonical_text(SECRETS), key="asked", observed_at=SEEN, tool="look", value=within(1)
    )
    (record,) = run.do(asked).records
    assert json.loads(record.event.args)["password"] == CLEAN["password"]  # type: ignore[attr-defined]
    seen = {one.key: one.value for one in ledger.contract("r").observations}
    kept = json.loads(seen["short"].json_text or "")
    assert (kept["password"], kept["amount"]) == (CLEAN["password"], 7)
    assert "[redacted:" in kept["text"]
    assert any("redacted" in one.getMessage() for one in caplog.records)
    nothing_of_it(ledger, path)


def test_the_words_of_reports_are_kept_without_their_secrets(ledger: Ledger, run: Run, path: Path) -> None:
    words = f"it answered {TOKEN}"
    run.assume("a", "It is open")
    run.refute("a", evidence=words)
    run.promise("p", "Tell them", owed_to="customer:1")
    run.discharge("p", evidence=words)
    run.observe("k", 1, tool="look", observed_at=SEEN)
    run.invalidate("k", reason=words)
    run.do(c.InvalidateObservation(key="k", reason=words))
    run.assume("b", "It is cheap")
    run.refute("b", evidence=words + "." * 70_000)  # the whole words are a content
    run.close("failed", reason="It did not work", result=SECRETS)
    (closed,) = list(ledger.log("r"))[-1:]
    kept = json.loads(closed.event.result.json_text)  # type: ignore[attr-defined]
    assert kept["password"] == CLEAN["password"]
    nothing_of_it(ledger, path)


@pytest.mark.parametrize("result", [SECRETS, LONG])
def test_a_result_in_a_command_is_kept_without_its_secrets(
    ledger: Ledger, run: Run, path: Path, result: object
) -> None:
    run.observe("k", 1, tool="look", observed_at=SEEN)
    run.do(c.CloseRun(outcome=Ending.FAILED, reason="r", result=within(result)))
    nothing_of_it(ledger, path)


def test_what_holds_no_secret_stays_byte_for_byte_what_it_was(run: Run) -> None:
    value = {"b": [1, {"token_count": 3}], "a": "sk-ip"}
    said = c.RecordObservation(key="k", observed_at=SEEN, tool="look", value=within(value))
    (record,) = run.do(said).records
    assert record.event.value == said.value  # type: ignore[attr-defined]


REFERENCE = "token:A1B2C3D4"


def test_the_outsides_id_of_an_act_is_no_words(ledger: Ledger, run: Run) -> None:
    def pay() -> None:
        raise TimeoutError

    with pytest.raises(OutcomeUnknown) as told:
        run.perform("pay", {}, pay)
    said = c.ReconcileEffect(
        by="human:kim",
        evidence="seen",
        external_ref=REFERENCE,
        found="happened",
        key=told.value.key,
        method="person",
        result=within(REFERENCE),
    )
    run.do(said)
    (found,) = [one.event for one in ledger.log("r") if isinstance(one.event, EffectReconciled)]
    assert (found.external_ref, found.result) == (REFERENCE, within(REFERENCE))


def test_what_was_seen_is_no_words_however_it_is_said(ledger: Ledger, run: Run) -> None:
    run.observe("k", REFERENCE, tool="look", observed_at=SEEN)
    said = c.RecordObservation(key="k", observed_at=SEEN, tool="look", value=within(REFERENCE))
    assert run.do(said).repeated
    (seen,) = ledger.contract("r").observations
    assert seen.value == within(REFERENCE)
    run.close("failed", reason="It did not work", result=REFERENCE)
    assert list(ledger.log("r"))[-1].event.result == within(REFERENCE)  # type: ignore[attr-defined]


def test_a_value_is_looked_into_as_deep_as_a_record_goes(ledger: Ledger, run: Run, path: Path) -> None:
    value: object = SECRETS
    for _ in range(MAX_DEPTH - 1):
        value = [value]
    run.observe("k", value, tool="look", observed_at=SEEN)
    run.observe("text", f"key {TOKEN}", tool="look", observed_at=SEEN)
    nothing_of_it(ledger, path)
