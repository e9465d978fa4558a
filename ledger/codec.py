"""From events to stored bytes and back, through the closed registry of events.

Reading verifies before it decodes: the hash of the bytes first, then the format, the name, the fields. What
is not exactly known is refused; nothing is skipped, defaulted or imported. That bytes with the right hash
are also spelled canonically (no key twice, no spaces) is checked by `verify`, not whenever they are read.
Bytes that are stored are never written again: a reader that needs them passes them on as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any

from pydantic import ValidationError

from ledger.canonical import MAX_INTEGER
from ledger.cutting import actor_of, cut, subjects, terms_of, text
from ledger.errors import InvalidInput, StoreError, UnknownEventName
from ledger.events import EVENTS, EffectIntended, EffectStarted, Event, StateSaved
from ledger.record import (
    Envelope,
    Record,
    Row,
    TermsMark,
    broken,
    digest,
    parse,
    short_digest,
    undecodable,
    write,
)
from ledger.upcasting import NEWEST, READERS, as_stored
from ledger.values import explain, first_fault, read_time


def encode(event: Event, envelope: Envelope, *, checked: bool = False) -> Row:
    """Encode one event into the row that is stored.

    `checked` says that the event comes from a command whose fields were just checked; otherwise the bytes are
    read once before they are stored for ever.

    Raises:
        InvalidInput: the class is not in the registry, so no reader could decode it; a field holds what none
            could read; or it is too large.
    """
    kind = type(event)
    name, version = kind.name, kind.version
    if EVENTS.get((name, version)) is not kind:
        raise InvalidInput(
            f"{kind.__name__} is not an event of the ledger", path="event", reason="not registered"
        )
    data = _data(event)
    if not checked:
        try:
            # Models can be copied and put together without being checked: what no reader could read again is
            # refused here.
            kind.__pydantic_validator__.validate_json(data)
        except ValidationError as error:
            raise explain(error, root="data") from None
    return _row(event, envelope, version, data)


def _data(event: Event) -> bytes:
    return type(event).__pydantic_serializer__.to_json(event, exclude_none=True, warnings=False)


def _row(event: Event, envelope: Envelope, version: int, data: bytes) -> Row:
    record = write(envelope, event.name, version, data)
    key, act, claim = columns(event, envelope.run)
    return Row(envelope.position, envelope.id, digest(record), key, act, claim, record)


def decode(record: bytes, hash: bytes, *, run: str, position: int, tenant: str | None = None) -> Record:
    """Verify and decode the record that is stored for a run at a position.

    Raises:
        ChainBroken: the bytes do not have this hash, or name another run, position or tenant.
        SchemaMismatch: the format is newer than this program.
        UnknownEventName: the event, or this version of it, is not known here.
        UndecodableRecord: the bytes are whole and yet not the event they name.
    """
    # A database that was tampered with may hold text where bytes were written.
    if type(record) is not bytes or digest(record) != hash:
        raise broken(run, position, "the record does not have the stored hash")
    found = cut(record, hash, run, position) or _read(record, hash, run, position)
    if tenant is not None and found.tenant != tenant:
        raise broken(
            run, position, f"the record says it is of tenant {found.tenant!r:.300}, not of {tenant!r}"
        )
    return found


def _unknown(run: str, position: int, name: str, version: int) -> StoreError:
    """Say which version was found and which is the newest this program reads."""
    if not 0 <= version <= MAX_INTEGER:
        return undecodable(run, position, f"{version} is no version number")
    newest = NEWEST.get(name)
    if newest is None:
        reads = "this program does not know the event"
    else:
        reads = f"this program reads that event up to version {newest}"
    return UnknownEventName(
        f"{run!r} at position {position} holds {name:.200} version {version}; {reads}: upgrade intent-ledger",
        run=run,
        position=position,
        name=name,
        version=version,
        found=version,
        supported=newest,
    )


def _read(record: bytes, hash: bytes, run: str, position: int) -> Record:
    """Decode a record from its fields, however they are spelt, or say what is wrong with it."""
    fields = parse(record, run=run, position=position)
    try:
        given = _required(fields)
        if tuple(map(type, given)) != _REQUIRED_TYPES:
            raise TypeError(f"of {', '.join(_REQUIRED)} one is of another type")
        actor, at, data, id, name, place, prev, stream, owner, _, version = given
        more = _optional(fields) if len(fields) != len(given) else _NOTHING_MORE
        reader = READERS.get((name, version))
        if reader is None:
            raise _unknown(run, position, name, version)
        event = reader.__pydantic_validator__.validate_python(data)
        moment, before, who = read_time(at), _read_hash(prev), actor_of(actor)
    except ValidationError as error:
        raise undecodable(run, position, ": ".join(first_fault(error, "data"))) from None
    except (KeyError, TypeError, ValueError) as error:
        raise undecodable(run, position, f"a field is missing or malformed: {error}") from None
    if stream != run or place != position:
        raise broken(run, position, f"the record says it is {stream!r:.300} at position {place}")
    return Record(owner, stream, place, hash, before, id, name, version, moment, who, *more, event)


def decode_chain(
    rows: Iterable[tuple[int, bytes, bytes]],
    *,
    run: str,
    after: int,
    prev: bytes,
    tenant: str | None = None,
) -> Iterator[Record]:
    """Decode (position, hash, record) rows that follow `after`, checking that each continues the one before.

    They are decoded one by one as they are asked for: what a fold has applied need not be kept.

    Raises:
        ChainBroken: a position is missing, or a record does not name the hash before it.

    And whatever `decode` raises.
    """
    for position, hash, record in rows:
        after += 1
        if position != after:
            raise broken(run, after, f"position {after} is missing")
        found = decode(record, hash, run=run, position=position, tenant=tenant)
        if found.prev != prev:
            raise broken(run, position, "the record does not follow the one before it")
        prev = hash
        yield found


def reencode(record: Record) -> Row:
    """Encode a decoded record once more, in the version it was stored in, as a check of its bytes.

    Raises:
        InvalidInput: its event cannot be written so.
    """
    envelope = Envelope(
        tenant=record.tenant,
        run=record.run,
        position=record.position,
        prev=record.prev,
        id=record.id,
        at=record.at,
        actor=record.actor,
        causation=record.causation,
        correlation=record.correlation,
        terms=record.terms,
        about=record.about,
    )
    version = record.version
    return _row(record.event, envelope, version, _data(as_stored(record.event, version)))


def columns(event: Event, run: str) -> tuple[bytes | None, bytes | None, bytes | None]:
    """Derive the index columns key, act and claim of an event in a run; None where it has none."""
    keyed = event.keyed_by
    if keyed is None:
        return None, None, None
    kind, *fields = keyed
    if kind != "effect":
        # Effect keys hold tenant and lineage already; other keys are names within their run.
        key = short_digest(kind, run, *(getattr(event, field) or "" for field in fields))
        line = event.line if type(event) is StateSaved else None
        return key, None if line is None else line_digest(run, line), None
    effect: str = event.key  # type: ignore[attr-defined]
    about = effect_digest(effect)
    if type(event) is EffectIntended:
        return about, act_digest(event.act), None
    if type(event) is EffectStarted:
        return about, None, claim_digest(event.root, effect, event.attempt)
    return about, None, None


def effect_digest(key: str) -> bytes:
    """Digest by which the events of an effect are found."""
    return short_digest("effect", key)


def act_digest(act: str) -> bytes:
    """Digest by which the intentions of one act are found."""
    return short_digest("act", act)


def claim_digest(root: str, key: str, attempt: int) -> bytes:
    """Digest that lets only one worker of a lineage start an attempt."""
    return short_digest("claim", root, key, str(attempt))


def observation_digest(run: str, key: str) -> bytes:
    """Digest by which the observations of one key in a run are found."""
    return short_digest("observation", run, key)


def message_digest(run: str, id: str) -> bytes:
    """Digest by which a message of a run is found."""
    return short_digest("message", run, id)


def state_digest(run: str, line: str | None, id: str) -> bytes:
    """Digest by which a saved state of a run is found."""
    return short_digest("state", run, line or "", id)


def line_digest(run: str, line: str) -> bytes:
    """Digest by which saved states of a line other than the main one are found, in the column `act`."""
    return short_digest("line", run, line)


def drop_digest(run: str) -> bytes:
    """Digest by which everything that was dropped of a run's states is found."""
    return short_digest("drop", run)


def part_digest(run: str, line: str | None, state: str) -> bytes:
    """Digest by which the parts that were saved after a state are found."""
    return short_digest("part", run, line or "", state)


_REQUIRED = ("actor", "at", "data", "id", "name", "position", "prev", "run", "tenant", "v", "version")
_REQUIRED_TYPES = (dict, str, dict, str, str, int, str, str, str, int, int)
_required = itemgetter(*_REQUIRED)
_KNOWN = frozenset({*_REQUIRED, "about", "causation", "correlation", "sealed", "terms"})

_More = tuple[str | None, str | None, TermsMark | None, tuple[str, ...]]
_NOTHING_MORE: _More = (None, None, None, ())


def _optional(fields: dict[str, Any]) -> _More:
    """Read causation, correlation, terms and about. An unknown field might change what the rest means."""
    if not fields.keys() <= _KNOWN:
        raise ValueError(f"no record has a field {min(fields.keys() - _KNOWN)!r}")
    causation = correlation = terms = None
    about: tuple[str, ...] = ()
    if "causation" in fields:
        causation = text(fields["causation"])
    if "correlation" in fields:
        correlation = text(fields["correlation"])
    if "terms" in fields:
        terms = terms_of(fields["terms"])
    if "about" in fields:
        about = subjects(fields["about"])
    if "sealed" in fields and type(fields["sealed"]) is not dict:
        raise TypeError("sealed is an object")
    return causation, correlation, terms, about


def _read_hash(text: str) -> bytes:
    hash = bytes.fromhex(text)
    if len(hash) != 32 or len(text) != 64:
        raise ValueError("prev is 64 hexadecimal digits")
    return hash
