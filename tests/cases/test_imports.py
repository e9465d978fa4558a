"""Files of unknown origin: one bad line is reported, whatever it is, and the rest goes in."""

from __future__ import annotations

import json

import pytest

from ledger import Ledger
from ledger.adapters.transcripts import import_transcripts

GOOD = json.dumps({"id": "good", "messages": [{"role": "user", "content": "Pay 5"}]})
SAID = '{"id": "bad", "messages": [{"role": "user", "content": %s}]}'

HOSTILE = {
    "case-093: deep lists": SAID % ("[" * 100_000 + "]" * 100_000),
    "case-093: deep objects that never end": SAID % ('{"a":' * 100_000),
    "case-090: no number": SAID % "NaN",
    "case-097: a key twice": SAID % '"a", "content": "b"',
    "case-112: an object that names code": SAID % '{"lc": 2, "type": "constructor", "id": ["os", "system"]}',
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_line_is_reported_and_stores_nothing(ledger: Ledger, line: str) -> None:
    report = import_transcripts(ledger, [line, GOOD])
    bad, good = report.rows
    assert (bad.line, bad.verdict, bad.events) == (1, "broken", 0)
    assert bad.problem
    assert (good.line, good.verdict) == (2, "added")
    assert [run.run for run in ledger.runs().runs] == ["good"]
