"""Reading what is stored: logs, times, and everything a stopped run needs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from ledger.application.edge import Edge
from ledger.application.expired import ExpiredContent, expired
from ledger.application.loaded import Loaded
from ledger.application.looking import all_under_each
from ledger.application.payloads import content_of
from ledger.application.rows import decoded
from ledger.canonical import invalid, load_text
from ledger.codec import decode_chain, effect_digest, observation_digest
from ledger.errors import IntegrityError, RunNotFound
from ledger.events import EffectReconciled, EffectSucceeded, ObservationRecorded
from ledger.record import ZERO_HASH, Record
from ledger.run.contract import Contract
from ledger.run.observations import has_let_go
from ledger.stores.base import Link, StoredRow
from ledger.values import Payload, utc

PAGE = 500


def records_of(
    edge: Edge, stream: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
) -> Iterator[Record]:
    """Yield the records of a stream, verified, a page at a time."""
    read = partial(edge.store.read, edge.tenant)
    return verified(read, edge.tenant, stream, after=after, upto=upto, limit=limit)


def verified(
    read: Callable[..., list[StoredRow]],
    tenant: str,
    stream: str,
    *,
    after: int = 0,
    upto: int | None = None,
    limit: int | None = None,
) -> Iterator[Record]:
    """Yield the records of a stream, verified, a page at a time.

    `read` is given the stream, and which of its records: see `Store.read`.
    """
    prev = ZERO_HASH
    if after > 0:
        before = read(stream, after=after - 1, limit=1)
        if not before:
            return
        prev = before[0].hash
    left = limit
    while left is None or left > 0:
        size = PAGE if left is None else min(PAGE, left)
        rows = read(stream, after=after, upto=upto, limit=size)
        places = {row.position: row.gid for row in rows}
        links = (Link(row.position, row.hash, row.record) for row in rows)
        for record in decode_chain(links, run=stream, after=after, prev=prev, tenant=tenant):
            yield record._replace(global_position=places[record.position])
            prev = record.hash
        if len(rows) < size:
            return
        after = rows[-1].position
        left = None if left is None else left - len(rows)


def log(edge: Edge, run: str, *, after: int, upto: int | None, limit: int | None) -> Iterator[Record]:
    """Yield the records of a run, saying at once when there is no such run."""
    if not edge.store.read(edge.tenant, run, limit=1):
        raise RunNotFound(f"no run {run!r} was opened", run=run)
    return records_of(edge, run, after=after, upto=upto, limit=limit)


def at_time(edge: Edge, run: str, moment: datetime) -> int:
    """Find the last position at or before a moment, by bisection: times never fall along a run.

    Raises:
        RunNotFound: no such run, or it was opened later.
        InvalidInput: the moment has no time zone.
    """
    try:
        moment = utc(moment)
    except ValueError as error:
        raise invalid("at", str(error)) from None
    heads = edge.store.heads(edge.tenant, prefix=run, limit=1)
    if not heads or heads[0].stream != run:
        raise RunNotFound(f"no run {run!r} was opened", run=run)
    low, high = 0, heads[0].position
    while low < high:
        middle = (low + high + 1) // 2
        row = edge.store.read(edge.tenant, run, after=middle - 1, limit=1)[0]
        if decoded(row).at <= moment:
            low = middle
        else:
            high = middle - 1
    if low == 0:
        raise RunNotFound(f"run {run!r} was opened after {moment.isoformat()}", run=run)
    return low


def contents_of(edge: Edge, digests: Iterable[bytes]) -> dict[bytes, bytes]:
    """Read contents by their digests; those that are gone are left out.

    Raises:
        IntegrityError: a content is not what was written.
    """
    found = edge.store.blobs(edge.tenant, digests)
    for digest, content in found.items():
        if type(content) is not bytes or hashlib.sha256(content).digest() != digest:
            raise IntegrityError(
                f"the content with digest {digest.hex()} is not what was written", digest=digest.hex()
            )
    return found


def loaded(edge: Edge, contract: Contract) -> Loaded:
    """Read what a contract points at: one query for the results its cursor needs, one for contents."""
    results = _results(edge, contract)
    payloads = [payload for payload in results.values() if payload.json_text is None and payload.type is None]
    wanted = [*payloads, *(message.content for message in contract.messages)]
    digests = {bytes.fromhex(payload.digest) for payload in wanted if payload.digest is not None}
    contents: dict[bytes, bytes | ExpiredContent] = {**contents_of(edge, digests)}
    contents.update(expired(edge, digests - contents.keys()))
    return Loaded(
        contract=contract,
        results={ref: _value(payload, contents) for ref, payload in results.items()},
        messages=tuple((message, _value(message.content, contents)) for message in contract.messages),
    )


def _results(edge: Edge, contract: Contract) -> dict[str, Payload]:
    """Find the result of each thing the cursor needs, as of the contract's position.

    An observation is the one that was seen last, of several seen at one moment the one told last. The
    contract holds it under its key unless its value is too long for a contract, or one seen before was told
    after the contract had let go of it.
    """
    needs = () if contract.cursor is None else contract.cursor.needs
    held = {item.key: item for item in contract.observations if item.value.json_text is not None}
    found: dict[str, _Result] = {}
    digests: dict[bytes, str] = {}
    for ref in needs:
        kind, _, key = ref.partition(":")
        view = held.get(key) if kind == "observation" else None
        if view is not None:
            found[ref] = _Result(_seen_at(view), view.position, view.value)
        if kind == "effect":
            digests[effect_digest(key)] = ref
        elif kind == "observation" and (view is None or has_let_go(contract)):
            digests[observation_digest(contract.run, key)] = ref
    if digests:
        for row in all_under_each(edge, digests):
            ref = digests[row.key or b""]
            if row.stream == contract.run and row.position > contract.position:
                continue
            result = _result_of(decoded(row))
            if result is not None and (ref not in found or result[:2] >= found[ref][:2]):
                found[ref] = result
    return {ref: result.payload for ref, result in found.items()}


class _Result(NamedTuple):
    """A result, and what is compared to tell which of several counts."""

    seen_at: datetime
    place: int
    """Position of an observation in its run; effects are told apart by the order they are found in."""
    payload: Payload


def _result_of(record: Record) -> _Result | None:
    event = record.event
    if isinstance(event, ObservationRecorded):
        return _Result(_seen_at(event), record.position, event.value)
    result = None
    if isinstance(event, EffectSucceeded) or (
        isinstance(event, EffectReconciled) and event.found == "happened"
    ):
        result = event.result
    return None if result is None else _Result(_NEVER, 0, result)


_NEVER = datetime.min.replace(tzinfo=UTC)


def _seen_at(observation: ObservationRecorded) -> datetime:
    """Tell when something was seen; what nobody dated was seen before all that somebody did."""
    return observation.observed_at or _NEVER


def _value(payload: Payload, contents: Mapping[bytes, bytes | ExpiredContent]) -> Any:
    if payload.json_text is not None:
        return load_text(payload.json_text)
    assert payload.digest is not None
    content = contents.get(bytes.fromhex(payload.digest))
    return content if isinstance(content, ExpiredContent) else content_of(content)
