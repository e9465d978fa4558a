r"""The record: the bytes of one event as they are stored, hashed and read for ever.

    {"about"?, "actor", "at", "causation"?, "correlation"?, "data", "id", "name", "position", "prev",
     "run", "sealed"?, "tenant", "terms"?, "v", "version"}

It is canonical JSON in the restricted profile of `ledger.canonical`; an absent field means None, and null
stands nowhere. `v` is the
format of the record, `version` the version of the event `name`, `prev` the hash of the record before it in
the same stream (zeros at position 1). The hash covers every byte:

    hash = sha256("intent-ledger.event.v1\n" + bytes)

`sealed` is kept for personal data that is encrypted per subject: {path: {subject, key id, digest of the
ciphertext, salted commitment}}. Nothing writes it yet; what reads a record lets it stand. Any other field
that is not named here is refused.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

from pydantic import StringConstraints
from pydantic_core import from_json

from ledger.canonical import MAX_INTEGER, invalid, quote
from ledger.errors import ChainBroken, SchemaMismatch, UndecodableRecord
from ledger.events import Event
from ledger.values import MAX_ID_LENGTH, Actor, Count, Value, check_id, write_time

FORMAT = 1
"""The format of the records this program writes, and the newest it reads."""

MAX_RECORD_BYTES = 256 * 1024
"""Size of the largest record; larger content goes into blobs."""

MAX_STREAM_LENGTH = 250
"""Characters of the longest name of a stream: an id, and room for what marks the ledger's own streams."""

ZERO_HASH = bytes(32)
"""`prev` of the first event of a stream."""

_DOMAIN_READ = hashlib.sha256(b"intent-ledger.event.v1\n")


class TermsMark(Value):
    """Which terms were in force: where they last changed, and the digest of their content."""

    digest: Annotated[str, StringConstraints(strict=True, pattern=r"^v[1-9][0-9]*:([0-9a-f]{64})?$")]
    """Version of what is digested and how, and the digest; empty before there are any terms."""
    position: Count


class Row(NamedTuple):
    """One encoded event, ready to be stored. Every other field is derived from `record`."""

    position: int
    id: str
    """The event id, found again in the record when an append is repeated."""
    hash: bytes
    """SHA-256 over the domain and the record, 32 bytes."""
    key: bytes | None
    """16-byte digest of what the event is about (effect key, observation key, message id), or None."""
    act: bytes | None
    """16-byte digest of the act of an EffectIntended, or None."""
    claim: bytes | None
    """16-byte digest of lineage, key and attempt of an EffectStarted, unique in the tenant, or None."""
    record: bytes
    """The canonical bytes."""


class Record(NamedTuple):
    """One event with everything the ledger knows of it."""

    tenant: str
    run: str
    """The stream: a run, or one of the ledger's own (`$source:…`, `$ledger`)."""
    position: int
    """Place in the stream, from 1."""
    hash: bytes
    """Hash of the stored bytes."""
    prev: bytes
    """Hash of the record before; zeros at position 1."""
    id: str
    """Id of the event, given by its writer; repeating an append repeats it."""
    name: str
    version: int
    at: datetime
    """The ledger's clock when it was written, never below that of the event before."""
    actor: Actor
    """Who wrote it."""
    causation: str | None
    """Id of the event or request that brought it about."""
    correlation: str | None
    """Id that ties together what belongs together across runs."""
    terms: TermsMark | None
    """The terms before this event, on effects, approvals and verdicts."""
    about: tuple[str, ...]
    """Opaque references to subjects (people, accounts) the event is about."""
    event: Event
    global_position: int | None = None
    """Place in the whole ledger: rising, sparse, opaque. None on a record that was not read from a store."""


class Envelope(NamedTuple):
    """What surrounds the data of one event when it is written."""

    tenant: str
    run: str
    position: int
    prev: bytes
    id: str
    at: datetime
    actor: Actor
    causation: str | None = None
    correlation: str | None = None
    terms: TermsMark | None = None
    about: tuple[str, ...] = ()


def digest(record: bytes) -> bytes:
    """Hash the bytes of a record."""
    hash = _DOMAIN_READ.copy()
    hash.update(record)
    return hash.digest()


def short_digest(*parts: str) -> bytes:
    """Hash some strings into the 16 bytes of an index column; no two lists of parts look alike."""
    return hashlib.sha256("\n".join(map(quote, parts)).encode()).digest()[:16]


def write(envelope: Envelope, name: str, version: int, data: bytes) -> bytes:
    """Write the canonical bytes of a record around the canonical bytes of its data.

    Raises:
        InvalidInput: an id is not one, the time has no zone, or the record would be larger than
            `MAX_RECORD_BYTES`; `reason` names both sizes.
    """
    about, terms = envelope.about, envelope.terms
    before = (
        f"{_about(about) if about else '{'}{_actor(envelope.actor)},{_at(envelope.at)}"
        f'{_link("causation", envelope.causation)}{_link("correlation", envelope.correlation)},"data":'
    )
    behind = (
        f',"id":{quote(_checked("id", envelope.id))},"name":"{name}","position":{envelope.position},'
        f'"prev":"{envelope.prev.hex()}"{_run_and_tenant(envelope.run, envelope.tenant)}'
        f'{"" if terms is None else _terms(terms)},"v":{FORMAT},"version":{version}}}'
    )
    record = b"%b%b%b" % (before.encode(), data, behind.encode())
    if len(record) > MAX_RECORD_BYTES:
        raise invalid(
            "data",
            f"{name} takes {len(record):,} bytes, a record holds {MAX_RECORD_BYTES:,}; "
            "send large content as a blob",
        )
    return record


def parse(record: bytes, *, run: str | None = None, position: int | None = None) -> dict[str, Any]:
    """Read the fields of a record, refusing a format newer than this program's.

    Raises:
        UndecodableRecord: not JSON, not an object, or without the fields every record has.
        SchemaMismatch: its format is newer; `found` and `supported` hold both numbers.

    Both carry `run` and `position` as they were given.
    """
    try:
        fields = from_json(record, allow_inf_nan=False)
        format_number = fields["v"]
    except (ValueError, KeyError, TypeError) as error:
        raise undecodable(run, position, f"the bytes are not a record: {error}") from None
    if type(format_number) is not int or format_number != FORMAT:
        if type(format_number) is int and FORMAT < format_number <= MAX_INTEGER:
            raise SchemaMismatch(
                f"{_place(run, position)}the record has format {format_number}, this program reads up to "
                f"{FORMAT}: upgrade intent-ledger",
                found=format_number,
                supported=FORMAT,
                run=run,
                position=position,
            )
        raise undecodable(run, position, f"{format_number!r} is no format number")
    return fields  # type: ignore[no-any-return]


def event_id(record: bytes, *, run: str | None = None, position: int | None = None) -> str:
    """Read the event id out of the bytes of a record.

    Raises:
        UndecodableRecord: there is none.
        SchemaMismatch: its format is newer.
    """
    found = parse(record, run=run, position=position).get("id")
    if type(found) is not str:
        raise undecodable(run, position, "the record has no id")
    return found


def same_content(one: bytes, other: bytes) -> bool:
    """Tell whether two records state the same event: name, version, data and subjects, whenever written."""
    left, right = parse(one), parse(other)
    return all(left.get(field) == right.get(field) for field in ("name", "version", "data", "about"))


_WORDS = 500
"""Characters of what is said of a record: it may hold anything, and what is said stands in an event."""


def broken(run: str, position: int, why: str) -> ChainBroken:
    """Build the error for a record that is not what was written."""
    return ChainBroken(
        f"{run!r} is not what was written from position {position} on: {why:.{_WORDS}}",
        run=run,
        position=position,
    )


def undecodable(run: str | None, position: int | None, why: str) -> UndecodableRecord:
    """Build the error for whole bytes that cannot be read."""
    return UndecodableRecord(f"{_place(run, position)}{why:.{_WORDS}}", run=run, position=position)


def _place(run: str | None, position: int | None) -> str:
    if run is None:
        return ""
    return f"{run!r}: " if position is None else f"{run!r} at position {position}: "


def _about(about: tuple[str, ...]) -> str:
    items = ",".join(quote(_checked("about", subject)) for subject in about)
    return f'{{"about":[{items}],'


def _link(field: str, id: str | None) -> str:
    return "" if id is None else f',"{field}":{quote(_checked(field, id))}'


def _checked(field: str, id: str, longest: int = MAX_ID_LENGTH) -> str:
    try:
        return check_id(id, longest)
    except ValueError as error:
        raise invalid(field, str(error)) from None


# The same few actors, runs and terms surround thousands of events; their bytes are written once.


@lru_cache(maxsize=256)
def _actor(actor: Actor) -> str:
    text: str = actor.__pydantic_serializer__.to_json(actor, exclude_none=True).decode()
    return f'"actor":{text}'


# The first call sets up what all of pydantic's serialisers share, and lets other threads go on: if one then
# forks, its child waits for that for ever. So it is made here, before there are any.
_actor(Actor("service:ledger"))


def _at(at: datetime) -> str:
    try:
        return f'"at":"{write_time(at)}"'
    except ValueError as error:
        raise invalid("at", str(error)) from None


@lru_cache(maxsize=1024)
def _run_and_tenant(run: str, tenant: str) -> str:
    _checked("run", run, MAX_STREAM_LENGTH)
    _checked("tenant", tenant)
    return f',"run":{quote(run)},"tenant":{quote(tenant)}'


def _terms(terms: TermsMark) -> str:
    return f',"terms":{{"digest":{quote(terms.digest)},"position":{terms.position}}}'
