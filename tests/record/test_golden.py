"""Records that were written once read the same for ever."""

import hashlib
import json
from typing import Any

import pytest
from pydantic import BaseModel

from ledger.codec import columns, decode, reencode
from ledger.record import same_content
from ledger.upcasting import PARTS, READERS, UPCASTS, as_stored
from tests.record.golden_file import FILE, SHAPES, golden, line, shapes, typed
from tests.vocabulary.models import STORED

LINES: dict[str, dict[str, Any]] = {
    found["sample"]: found for found in map(json.loads, FILE.read_bytes().decode().splitlines())
}
SAMPLES = {sample.name: sample for sample in golden()}

# Of the file as it was first written; lines may be added after these, none of these may change.
FIRST_LINES = 88
FIRST_DIGEST = "0dba728cfb3ea92cffe92b94755458af8b0174ecaa426484b1a89a27e960c01d"


def test_the_lines_first_written_are_as_they_were() -> None:
    lines = FILE.read_bytes().splitlines(keepends=True)
    assert hashlib.sha256(b"".join(lines[:FIRST_LINES])).hexdigest() == FIRST_DIGEST


def test_every_event_has_a_complete_and_a_minimal_record() -> None:
    expected = {f"{name} {version} {which}" for name, version in READERS for which in ("complete", "minimal")}
    assert set(LINES) == expected == set(SAMPLES)


def test_the_complete_records_leave_nothing_out() -> None:
    kinds = [*STORED, *(step.old for step in UPCASTS), *(part.old for part in PARTS)]
    given: dict[type[BaseModel], set[str]] = {kind: set() for kind in kinds}
    for sample in SAMPLES.values():
        if sample.complete:
            for value in (sample.event, sample.envelope.actor, sample.envelope.terms):
                note(value, given)
    assert given == {kind: set(kind.model_fields) for kind in kinds}


def note(value: Any, given: dict[type[BaseModel], set[str]]) -> None:
    if isinstance(value, BaseModel):
        given[type(value)] |= {name for name, inner in value if inner not in (None, ())}
        for _, inner in value:
            note(inner, given)
    elif isinstance(value, tuple):
        for inner in value:
            note(inner, given)


@pytest.mark.parametrize("name", LINES)
def test_a_record_reads_as_the_event_it_was_made_from(name: str) -> None:
    found, sample = LINES[name], SAMPLES[name]
    record, hash = found["record"].encode(), bytes.fromhex(found["hash"])
    read = decode(record, hash, run=sample.envelope.run, position=sample.envelope.position)
    assert read.event == sample.read
    assert type(read.event) is type(sample.read)
    assert (read.name, read.version) == (sample.event.name, sample.event.version)
    assert typed(as_stored(read.event, read.version)) == found["event"]
    around = sample.envelope
    assert (read.tenant, read.prev, read.id, read.at) == (around.tenant, around.prev, around.id, around.at)
    assert (read.actor, read.causation, read.correlation) == (
        around.actor,
        around.causation,
        around.correlation,
    )
    assert (read.terms, read.about) == (around.terms, around.about)
    assert reencode(read).record == record


@pytest.mark.parametrize("name", LINES)
def test_a_record_is_written_in_the_same_bytes(name: str) -> None:
    found, sample = LINES[name], SAMPLES[name]
    row = sample.row()
    assert row.record == found["record"].encode()
    assert line(sample, row) == found


@pytest.mark.parametrize("name", LINES)
def test_the_hash_and_the_columns_can_be_computed_without_the_ledger(name: str) -> None:
    found, sample = LINES[name], SAMPLES[name]
    assert hashlib.sha256(b"intent-ledger.event.v1\n" + found["record"].encode()).hexdigest() == found["hash"]
    data = json.loads(found["record"])["data"]

    def digest(*parts: str) -> str:
        return hashlib.sha256(
            "\n".join(json.dumps(p, ensure_ascii=False) for p in parts).encode()
        ).hexdigest()[:32]

    kind = sample.event.name.split(".")[0]
    key = act = claim = None
    if kind == "effect" and sample.event.name != "effect.refused":
        key = digest("effect", data["key"])
    if sample.event.name == "effect.intended":
        act = digest("act", data["act"])
    if sample.event.name == "effect.started":
        claim = digest("claim", data["root"], data["key"], str(data["attempt"]))
    if kind == "assumption":
        key = digest("assumption", sample.envelope.run, data["id"])
    if kind == "observation":
        key = digest("observation", sample.envelope.run, data["key"])
    if sample.event.name == "message.recorded":
        key = digest("message", sample.envelope.run, data["id"])
    if sample.event.name == "state.saved":
        key = digest("state", sample.envelope.run, data.get("line") or "", data["id"])
        act = digest("line", sample.envelope.run, data["line"]) if "line" in data else None
    if sample.event.name == "state.part_saved":
        key = digest("part", sample.envelope.run, data.get("line") or "", data["state"])
    if sample.event.name == "state.dropped":
        key = digest("drop", sample.envelope.run)
    if sample.event.name == "ledger.run_refused":
        key = digest("refusal", sample.envelope.run, data["run"])
    if sample.event.name == "ledger.content_expired":
        key = digest("expired", sample.envelope.run, data["prefix"])
    assert (found["key"], found["act"], found["claim"]) == (key, act, claim)
    assert tuple(part and part.hex() for part in columns(sample.read, sample.envelope.run)) == (
        key,
        act,
        claim,
    )


def test_what_an_event_may_hold_never_changes() -> None:
    """One more field or choice would make records that an older program calls altered. It knows an event that
    it cannot judge by the version alone, so whatever is added goes into a new version beside the old one.
    """
    written = {one["of"]: one["shape"] for one in map(json.loads, SHAPES.read_bytes().splitlines())}
    now = {one["of"]: one["shape"] for one in json.loads(json.dumps(list(shapes())))}
    assert set(written) == set(now)
    for name, shape in written.items():
        assert now[name] == shape, name


def test_no_two_samples_state_the_same() -> None:
    records = [found["record"].encode() for found in LINES.values()]
    for number, one in enumerate(records):
        assert same_content(one, one)
        assert not any(same_content(one, other) for other in records[number + 1 :])


def test_no_stored_byte_names_a_place_in_the_code() -> None:
    """Names on disk are the vocabulary's own, so that code can move. What others name (the `topic` of a
    foreign event, the `type` of a value that is no JSON) is data, and never looked up.
    """
    for sample in SAMPLES.values():
        record = LINES[sample.name]["record"].replace(f'"name":"{sample.event.name}"', "")
        for path in ("ledger.", "tests.", "pydantic", "__", type(sample.event).__name__):
            assert path not in record, sample.name
