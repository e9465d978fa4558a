"""Looking at effects for somebody who watches them: what is unsettled, and all that a run intended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from ledger.application.consents import consent_in
from ledger.application.ledger import Ledger, edge_of
from ledger.application.listing import Unread, list_runs
from ledger.application.looking import all_under, effects_of, renewed_until
from ledger.application.rows import decoded
from ledger.application.settling import Unsettled, has_ended, oldest_first, unsettled
from ledger.canonical import invalid
from ledger.codec import effect_digest
from ledger.errors import (
    UNREADABLE,
    EffectNotFound,
)
from ledger.events import EffectIntended
from ledger.record import Record
from ledger.run.contract import Contract
from ledger.run.history import EffectHistory

_AT_ONCE = 200
_SHORTEST = 8
"""Digits of a key that tell it apart well enough."""


class Unsettleds(NamedTuple):
    """What is unsettled, the oldest first, and the runs that could not be read."""

    effects: list[Unsettled]
    unread: tuple[Unread, ...] = ()


class EffectPage(NamedTuple):
    """Effects of a run in the order in which they were intended first."""

    effects: tuple[Unsettled, ...]
    next: int | None
    """Position after which the next page begins; None where this is the last."""


def list_unsettled(
    ledger: Ledger,
    run: str | None = None,
    *,
    unknown: bool = False,
    among: Iterable[str] | None = None,
) -> Unsettleds:
    """List what is unsettled as `Ledger.effects` does, and go on behind a run that cannot be read.

    Of all runs only those of `among` are read, where that is given.

    Raises:
        RunNotFound: no such run.
        ChainBroken, UndecodableRecord, UnknownEventName: the one run that was asked for cannot be read.
    """
    if run is not None or among is None:
        try:
            return Unsettleds(ledger.effects(run, unknown=unknown))
        except UNREADABLE:
            if run is not None:
                raise
    found: list[Unsettled] = []
    unread: list[Unread] = []
    for one in _one_by_one(ledger) if among is None else (_unsettled(ledger, name) for name in among):
        if isinstance(one, Unread):
            unread.append(one)
        else:
            found += [effect for effect in one if not unknown or effect.status in ("unknown", "disputed")]
    return Unsettleds(oldest_first(found), tuple(unread))


def _one_by_one(ledger: Ledger) -> Iterator[list[Unsettled] | Unread]:
    after: str | None = None
    while True:
        page, unread = list_runs(ledger, after=after, limit=_AT_ONCE)
        yield from unread
        for run in page.runs:
            if run.unsettled:
                yield _unsettled(ledger, run.run)
        if page.next is None:
            return
        after = page.next


def _unsettled(ledger: Ledger, run: str) -> list[Unsettled] | Unread:
    try:
        contract = ledger.contract(run)
        # What a successor inherited is listed with it.
        is_last = contract.closed is None or contract.closed.successor is None
        return list(unsettled(edge_of(ledger), contract)) if is_last else []
    except UNREADABLE as error:
        return Unread(run, error)


def list_all(ledger: Ledger, run: str, *, after: int = 0, limit: int = 100) -> EffectPage:
    """List a page of all effects that a run intended, settled or not, each where it was intended first.

    The first page begins with what the run inherited and nobody has settled or tried again since, all of it.

    Raises:
        RunNotFound: no such run.
        ChainBroken: the record is not what was written.
    """
    found: list[Unsettled] = []
    contract = ledger.contract(run)
    if after == 0:
        waiting = {effect.key for effect in contract.effects if effect.inherited_from is not None}
        found = [one for one in ledger.effects(run) if one.effect.key in waiting] if waiting else []
    # A run is opened at position 1 and intends nothing there: what begins after it goes on behind these.
    last = max(after, 1)
    intentions = (record for record in ledger.log(run, after=after) if type(record.event) is EffectIntended)
    while some := list(islice(intentions, min(_AT_ONCE, max(limit - len(found), 0) + 1))):
        known = effects_of(edge_of(ledger), (_key(record) for record in some))
        for record in some:
            effect = known.get(_key(record))
            if effect is None or not _is_first(ledger, effect, record):
                continue
            if len(found) >= limit:
                return EffectPage(tuple(found), last)
            found.append(as_time_makes_it(ledger, effect, record.run, contract))
            last = record.position
    return EffectPage(tuple(found), None)


def last_with(ledger: Ledger, run: str, tool: str, *, limit: int = 10) -> list[Unsettled]:
    """List the last acts that a run intended with a tool, the latest first; the whole run is read.

    Raises:
        RunNotFound: no such run.
        ChainBroken: the record is not what was written.
    """
    events = (record.event for record in ledger.log(run))
    keys = [event.key for event in events if isinstance(event, EffectIntended) and event.tool == tool]
    last = list(dict.fromkeys(reversed(keys)))[:limit]
    known, contract = effects_of(edge_of(ledger), last), ledger.contract(run)
    return [as_time_makes_it(ledger, known[key], run, contract) for key in last if key in known]


def _key(record: Record) -> str:
    assert isinstance(record.event, EffectIntended)
    return record.event.key


def _is_first(ledger: Ledger, effect: EffectHistory, record: Record) -> bool:
    """Tell whether a run intended an effect here for the first time; an ancestor may have before."""
    if effect.intended_in == record.run:
        return effect.intended_position == record.position
    here = (
        told.position
        for told in events_of(ledger, effect.key)
        if told.run == record.run and type(told.event) is EffectIntended
    )
    return record.position == min(here, default=record.position)


def lease_now(ledger: Ledger) -> datetime:
    """Return the time by the clock that leases are judged by."""
    edge = edge_of(ledger)
    return edge.lease_now(edge.now())


def as_time_makes_it(
    ledger: Ledger, effect: EffectHistory, run: str | None = None, contract: Contract | None = None
) -> Unsettled:
    """Return an effect with its status, the end of its lease and what a person was asked, as of now.

    `contract` is that of the run, where it was read already.
    """
    edge, now = edge_of(ledger), lease_now(ledger)
    until = renewed_until(edge, effect, now) or effect.lease_until
    place = run or effect.started_in or effect.run
    consent, ended = None, False
    if effect.status != "succeeded":
        told = contract or ledger.contract(place)
        consent, ended = consent_in(told, effect.key, edge.now()), has_ended(told)
    return Unsettled(place, effect.status_at(now, until), effect, until, consent, ended)


def events_of(ledger: Ledger, key: str) -> list[Record]:
    """Return what is recorded under the key of an effect, in global order, across all runs of its lineage.

    Each is verified against its hash.
    """
    records = map(decoded, all_under(edge_of(ledger), key=effect_digest(key)))
    return [record for record in records if getattr(record.event, "key", None) == key]


def intended_last(ledger: Ledger, key: str) -> EffectIntended | None:
    """Return what was intended last under the key of an effect, which is what a person is asked about."""
    events = (record.event for record in reversed(events_of(ledger, key)))
    return next((event for event in events if isinstance(event, EffectIntended)), None)


def find_key(ledger: Ledger, given: str, run: str | None = None) -> str:
    """Return the whole key of which somebody gave the first digits, at least 8.

    They are looked for among what is unsettled, in one run or in all; where a run is named, among all that it
    intended too, for which the whole run is read.

    Raises:
        InvalidInput: it is no key nor the beginning of one, or several keys begin so.
        EffectNotFound: no key begins so.
        RunNotFound: no such run.
    """
    digits = given.removesuffix("..").lower()
    if re.fullmatch(r"[0-9a-f]{64}", digits):
        return digits
    if not re.fullmatch(rf"[0-9a-f]{{{_SHORTEST},63}}", digits):
        reason = f"a key is 64 hexadecimal digits, or at least the first {_SHORTEST}; this is {given!r:.80}"
        raise invalid("KEY", reason)
    found = {one.effect.key for one in list_unsettled(ledger, run).effects}
    keys = {key for key in found if key.startswith(digits)}
    if run is not None:
        events = (record.event for record in ledger.log(run))
        named = (event.key for event in events if isinstance(event, EffectIntended))
        keys.update(key for key in named if key.startswith(digits))
    if len(keys) > 1:
        some = ", ".join(sorted(keys)[:5])
        raise invalid("KEY", f"{len(keys)} keys begin with {digits}: {some}")
    if not keys:
        where = "unsettled effect" if run is None else f"effect of run {run!r}"
        raise EffectNotFound(f"no {where} has a key that begins with {digits}", key=given)
    return keys.pop()
