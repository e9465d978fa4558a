"""Build records for tests: envelopes of every shape, and bytes that were meddled with but hashed anew."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from hypothesis import strategies as st

from ledger.canonical import canonical_text
from ledger.codec import encode
from ledger.events import Event, GoalRevised
from ledger.record import Envelope, Row, TermsMark, digest
from ledger.values import Actor
from tests.strategies import NOON, actors, ids, moments

KIM = Actor("human:kim")

ENVELOPE = Envelope(
    tenant="default",
    run="refund-17",
    position=3,
    prev=bytes(range(32)),
    id="e-3",
    at=NOON,
    actor=Actor("agent:refunds", session="s-1", on_behalf_of=("human:kim",)),
    causation="e-2",
    correlation="c-1",
    terms=TermsMark(digest="v1:" + "ab" * 32, position=2),
    about=("subject:17",),
)

GOAL = GoalRevised(
    by="human:kim", reason="customer asked", rests_on=("assumption:paid",), text="Refund order 17"
)

ROW = encode(GOAL, ENVELOPE)


@cache
def marks() -> st.SearchStrategy[TermsMark]:
    """Draw marks of terms."""
    digests = st.binary(min_size=32, max_size=32).map(lambda raw: "v1:" + raw.hex())
    return st.builds(TermsMark, digest=digests, position=st.integers(1, 2**53 - 1))


@cache
def envelopes() -> st.SearchStrategy[Envelope]:
    """Draw everything that can surround an event."""
    streams = ids() | ids().map(lambda name: "$source:" + name)
    return st.builds(
        Envelope,
        tenant=ids(),
        run=streams,
        position=st.integers(1, 2**53 - 1),
        prev=st.binary(min_size=32, max_size=32),
        id=ids(),
        at=moments(),
        actor=actors(),
        causation=st.none() | ids(),
        correlation=st.none() | ids(),
        terms=st.none() | marks(),
        about=st.lists(ids(), max_size=3).map(tuple),
    )


def fields_of(row: Row) -> dict[str, Any]:
    """Read a record as plain JSON."""
    found: dict[str, Any] = json.loads(row.record)
    return found


def rewritten(fields: Any) -> tuple[bytes, bytes]:
    """Write canonical bytes of anything, with the hash that belongs to them."""
    record = canonical_text(fields).encode()
    return record, digest(record)


def row_of(event: Event, **changes: Any) -> Row:
    """Encode an event, with some parts of the envelope changed."""
    return encode(event, ENVELOPE._replace(**changes))
