"""Which streams there are, and which events stand in which."""

from __future__ import annotations

import pytest

from ledger import Actor
from ledger.codec import decode, encode
from ledger.events import (
    CursorMoved,
    Event,
    ForeignRecorded,
    RunOpened,
    RunRefused,
    SourceOpened,
    SourceRevised,
)
from ledger.integrity.places import name_fault, place_fault
from ledger.record import Envelope
from ledger.testing import Clock

OPENED = RunOpened(goal="goal")
MOVED = CursorMoved(node="n")
SOURCE = SourceOpened(source="policy:p")
REVISED = SourceRevised(revision="1")
REFUSED = RunRefused(code="c", run="r", what="w")
FOREIGN = ForeignRecorded(originator_version=1, state="", topic="t")


def fault(event: Event, stream: str, position: int) -> str | None:
    envelope = Envelope("default", stream, position, bytes(32), "id", Clock()(), Actor("human:kim"))
    row = encode(event, envelope)
    return place_fault(decode(row.record, row.hash, run=stream, position=position))


@pytest.mark.parametrize(
    ("stream", "holds"),
    [
        ("r", True),
        ("x" * 200, True),
        ("x" * 201, False),
        ("$ledger", True),
        ("$source:policy:p", True),
        ("$foreign:1", True),
        ("$foreign-snapshots:1", True),
        ("$foo", False),
        ("$", False),
        ("", False),
        (" ", False),
        ("a\x00b", False),
        ("$source:" + "x" * 243, False),
    ],
)
def test_names_of_streams(stream: str, holds: bool) -> None:
    assert (name_fault(stream) is None) is holds


@pytest.mark.parametrize(
    ("event", "stream", "position", "holds"),
    [
        (OPENED, "r", 1, True),
        (OPENED, "r", 2, False),
        (MOVED, "r", 1, False),
        (MOVED, "r", 2, True),
        (SOURCE, "r", 1, False),
        (REFUSED, "r", 2, False),
        (FOREIGN, "r", 2, False),
        (SOURCE, "$source:policy:p", 1, True),
        (SOURCE, "$source:policy:p", 2, False),
        (SOURCE, "$source:policy:q", 1, False),
        (REVISED, "$source:policy:p", 2, True),
        (REVISED, "$source:policy:p", 1, False),
        (OPENED, "$source:policy:p", 1, False),
        (REFUSED, "$ledger", 1, True),
        (OPENED, "$ledger", 1, False),
        (FOREIGN, "$foreign:1", 1, True),
        (FOREIGN, "$ledger", 2, False),
        (MOVED, "$foreign:1", 2, False),
    ],
)
def test_events_have_their_place(event: Event, stream: str, position: int, holds: bool) -> None:
    assert (fault(event, stream, position) is None) is holds
