"""Reports are heard: whatever became of the run, of what they speak of, and in whatever shape they come."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import Any

import pytest

from ledger import Ledger, Source
from ledger.application import payloads
from ledger.application.mending import mended
from ledger.commands import COMMAND_CLASSES, Command, InvalidateObservation, RefuteAssumption
from ledger.errors import ContractChanged, InvalidInput, NotOpen
from ledger.run.contract import WINDOW
from tests.application.conftest import OpenLedger, SetClock
from tests.run.examples import example

HOUR = timedelta(hours=1)


# --- late evidence -----------------------------------------------------------------------------


def test_evidence_is_heard_after_the_assumption_left_the_contract(
    ledger: Ledger, open_on: OpenLedger
) -> None:
    run = ledger.open_run("r", "goal")
    run.assume("in-stock", "The goods came back")
    run.refute("in-stock", evidence="an empty shelf")
    assert run.contract.assumptions == ()
    elsewhere = open_on().run("r")
    assert elsewhere.refute("in-stock", evidence="an empty shelf").position == 3
    assert elsewhere.refute("in-stock", evidence="the camera").position == 4
    assert run.refute("in-stock", evidence="the camera").repeated
    with pytest.raises(NotOpen):
        run.refute("never assumed", evidence="x")
    ledger.open_run("other", "goal")
    with pytest.raises(NotOpen):
        ledger.run("other").refute("in-stock", evidence="an empty shelf")


def test_late_evidence_is_heard_by_a_closed_run(ledger: Ledger) -> None:
    run = ledger.open_run("r", "goal")
    run.assume("in-stock", "The goods came back")
    run.refute("in-stock", evidence="an empty shelf")
    run.close("failed")
    assert run.refute("in-stock", evidence="the camera").position == 5


# --- late observations -------------------------------------------------------------------------


def test_an_observation_told_late_is_recorded_once(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("r", "goal")
    run.observe("k", "new", tool="stock", observed_at=clock.now)
    late = run.observe("k", "old", tool="stock", observed_at=clock.now - HOUR)
    run.observe("k", "newest", tool="stock", observed_at=clock.now + HOUR)
    assert (late.position, late.repeated) == (3, False)
    again = run.observe("k", "old", tool="stock", observed_at=clock.now - HOUR)
    assert (again.position, again.repeated) == (3, True)
    assert run.observe("k", "new", tool="stock", observed_at=clock.now).position == 2


def crowd(ledger: Ledger, clock: SetClock) -> None:
    """Let so much be seen that the contract lets go of what was seen before."""
    run = ledger.run("r")
    for number in range(WINDOW):
        run.observe(f"other-{number}", number, tool="stock", observed_at=clock.now)


@pytest.mark.parametrize("size", [1, 5_000], ids=["short", "long"])
@pytest.mark.parametrize("told_again", [False, True], ids=["gone", "told late"])
def test_the_result_is_what_was_seen_last_however_late_others_were_told(
    ledger: Ledger, clock: SetClock, size: int, told_again: bool
) -> None:
    run = ledger.open_run("r", "goal")
    run.observe("k", "seen last " * size, tool="stock", observed_at=clock.now)
    crowd(ledger, clock)
    if told_again:
        assert not run.observe("k", "seen before", tool="stock", observed_at=clock.now - HOUR).repeated
    else:
        crowd(ledger, clock)
    run.move("n", needs=("observation:k",))
    assert run.load().results == {"observation:k": "seen last " * size}


def test_of_two_seen_at_one_moment_the_one_told_last_is_the_result(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("r", "goal")
    run.observe("k", "first", tool="stock", observed_at=clock.now)
    run.observe("k", "second", tool="stock", observed_at=clock.now)
    crowd(ledger, clock)
    run.move("n", needs=("observation:k",))
    assert run.load().results == {"observation:k": "second"}


def test_what_left_the_contract_is_invalidated_once_for_one_reason(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("r", "goal")
    run.observe("k", 1, tool="stock", observed_at=clock.now)
    crowd(ledger, clock)
    first = run.invalidate("k", reason="miscounted")
    assert run.invalidate("k", reason="miscounted").position == first.position
    assert run.invalidate("k", reason="stolen").position == first.position + 1


# --- shapes ------------------------------------------------------------------------------------

LONG = {"characters": "word " * 20_000, "bytes": "\U0001f9fe" * 65_536, "escapes": "\x00" * 65_536}


def evidence_of(ledger: Ledger) -> str:
    (item,) = ledger.contract("r").assumptions
    assert item.refuted is not None
    return item.refuted.evidence


def assume(ledger: Ledger) -> Any:
    run = ledger.open_run("r", "goal", rests_on=("assumption:in-stock",))
    run.assume("in-stock", "The goods came back")
    return run


@pytest.mark.parametrize("words", LONG.values(), ids=LONG)
def test_evidence_too_long_for_a_record_is_kept_whole_beside_it(
    ledger: Ledger, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    run = assume(ledger)
    assert run.refute("in-stock", evidence=words).position == 3
    told = evidence_of(ledger)
    assert told.startswith(words[:4096])
    assert f"[{len(words)} characters in all" in told
    digest = told.rpartition(" ")[2].rstrip("]")
    assert json.loads(ledger.blob(digest)) == words
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert run.refute("in-stock", evidence=words).position == 3
    assert run.refute("in-stock", evidence=words + "x").position == 4


def test_the_longest_evidence_a_record_holds_is_kept_as_it_is(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    words = "w" * 65_536
    assume(ledger).refute("in-stock", evidence=words)
    assert evidence_of(ledger) == words
    assert caplog.records == []


class Unwritable(Exception):
    def __repr__(self) -> str:
        raise RuntimeError("not even this")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("half a \ud83e pair", "half a \\ud83e pair"),
        ({"seen": ["shelf", 7]}, '{"seen":["shelf",7]}'),
        (17, "17"),
    ],
)
def test_what_is_no_text_is_written_as_one(ledger: Ledger, given: Any, kept: str) -> None:
    assume(ledger).refute("in-stock", evidence=given)
    assert evidence_of(ledger) == kept


@pytest.mark.parametrize(
    "given", [ValueError("gone"), {1, 2}, Unwritable(), b"bytes"], ids=lambda one: type(one).__name__
)
def test_what_cannot_be_written_is_named_by_its_type_and_a_digest(ledger: Ledger, given: Any) -> None:
    assume(ledger).refute("in-stock", evidence=given)
    name, _, digest = evidence_of(ledger).partition(" sha256:")
    assert (name, len(digest)) == (type(given).__name__, 64)


def test_a_report_that_was_built_already_is_mended_too(ledger: Ledger) -> None:
    run = assume(ledger)
    words = LONG["bytes"]
    assert run.do(RefuteAssumption(id="in-stock", evidence=words)).position == 3
    assert run.refute("in-stock", evidence=words).position == 3
    digest = evidence_of(ledger).rpartition(" ")[2].rstrip("]")
    assert json.loads(ledger.blob(digest)) == words


def test_the_reason_of_a_withdrawal_at_source_never_keeps_it_from_taking_effect(ledger: Ledger) -> None:
    source = ledger.source("policy:refunds")
    source.publish("4", {"limit": "Never more than 100 EUR"})
    source.withdraw("limit", reason=LONG["bytes"] + "\ud800", by="human:kim")
    with pytest.raises(ContractChanged):
        ledger.open_run("r", "goal").accept(
            "limit", "Never more than 100 EUR", source=Source("policy", "refunds"), asserted_by="human:kim"
        )


WORDS = {
    "approval.answer": ["reason"],
    "assumption.refute": ["evidence"],
    "effect.compensate": ["reason"],
    "effect.reconcile": ["evidence"],
    "observation.invalidate": ["reason"],
    "review.sign": ["note"],
    "source.withdraw": ["reason"],
}


@pytest.mark.parametrize(
    "kind", [kind for kind in COMMAND_CLASSES if kind.report], ids=lambda kind: kind.name
)
def test_the_words_of_every_report_are_mended(kind: type[Command]) -> None:
    fields = {name: getattr(example(kind), name) for name in kind.model_fields}
    names = WORDS.get(kind.name, [])
    fit = mended(kind, {**fields, **dict.fromkeys(names, LONG["bytes"])})
    assert len(fit.blobs) == len(names)
    built = kind(**fit.fields)
    assert [name for name in kind.model_fields if getattr(built, name) != fields[name]] == names


def test_what_needs_no_mending_stays_what_it_is() -> None:
    fields = {"key": "k", "reason": "miscounted", "by": None}
    assert mended(InvalidateObservation, fields).fields is fields


def test_a_request_is_refused_for_its_shape(ledger: Ledger) -> None:
    run = ledger.open_run("r", "goal")
    for words in (LONG["characters"], "half a \ud83e pair", {"a": 1}, b"bytes"):
        with pytest.raises(InvalidInput):
            run.assume("in-stock", words)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            run.promise("tell", words, owed_to="customer:17")  # type: ignore[arg-type]


def test_a_report_that_says_nothing_is_malformed(ledger: Ledger) -> None:
    run = assume(ledger)
    for words in ("", "  ", None):
        with pytest.raises(InvalidInput):
            run.refute("in-stock", evidence=words)


def test_a_report_larger_than_any_store_takes_is_kept_by_its_digest(
    ledger: Ledger, clock: SetClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(payloads, "REPORT_BYTES", 100_000)
    run = ledger.open_run("r", "goal")
    kept, large = "x" * 99_000, "x" * 100_000
    run.observe("kept", kept, tool="stock", observed_at=clock.now)
    assert caplog.records == []
    run.observe("large", large, tool="stock", observed_at=clock.now)
    value = {item.key: item.value for item in run.contract.observations}["large"]
    assert (value.type, value.json_text) == ("str", None)
    assert value.digest == hashlib.sha256(f'"{large}"'.encode()).hexdigest()
    assert "100002 bytes" in caplog.text
