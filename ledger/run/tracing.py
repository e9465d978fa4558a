"""Which events brought differences about: read from the log between two positions of one run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from ledger.record import Record
from ledger.run.compared import SECTIONS, Key, Origin, Section, What, members_of
from ledger.run.contract import Contract
from ledger.run.diff import Difference
from ledger.run.state import evolve

_SECTION = {section.what: section for section in SECTIONS}


def with_origins(
    differences: Sequence[Difference], old: Contract, records: Iterable[Record]
) -> tuple[Difference, ...]:
    """Name for each difference the event that brought it about last.

    Args:
        differences: between `old` and the contract of the same run after `records`.
        old: the contract before the records.
        records: all records of the run between the two, in order.
    """
    if not differences:
        return ()
    watches = [_Watch(_SECTION[what], list(some), old) for what, some in groupby(differences, _what)]
    contract = old
    for record in records:
        after = evolve(contract, record)
        for watch in watches:
            watch.look(contract, after, record)
        contract = after
    return tuple(one for watch in watches for one in watch.told())


def _what(difference: Difference) -> What:
    return difference.what


class _Watch:
    """Follows the members of one kind that differ in the end through the events between."""

    def __init__(self, section: Section, wanted: list[Difference], contract: Contract) -> None:
        self._section = section
        self._wanted = wanted
        self._keys = {one.key for one in wanted if one.change != "moved"}
        self._members = members_of(section, contract)
        self._touched: dict[Key, Record] = {}
        self._reordered: Record | None = None

    def look(self, before: Contract, after: Contract, record: Record) -> None:
        """Note which of them a record changed."""
        # A list that was made anew has the same members most often, which is seen without a look at each.
        if all(getattr(before, field) == getattr(after, field) for field in self._section.fields):
            return
        old, new = self._members, members_of(self._section, after)
        came_or_changed = {key for key, member in new.items() if old.get(key) is not member}
        for key in (came_or_changed | (old.keys() - new.keys())) & self._keys:
            if not self._alike(old.get(key), new.get(key)):
                self._touched[key] = record
        if list(old) != list(new):
            self._reordered = record
        self._members = new

    def _alike(self, one: Any, other: Any) -> bool:
        if one is None or other is None:
            return one is other
        return self._section.written(one) == self._section.written(other)

    def told(self) -> Iterator[Difference]:
        """Yield the differences with what was found of them."""
        for one in self._wanted:
            record = self._reordered if one.change == "moved" else self._touched.get(one.key)
            yield one if record is None else one.with_fields({"origin": _told(record)})


def _told(record: Record) -> Origin:
    """Name an event, and who is said to have done it and why."""
    event = record.event
    by, reason = (
        next((said for said in (getattr(event, name, None) for name in names) if said is not None), None)
        for names in (("by", "accepted_by", "granted_by"), ("reason", "evidence"))
    )
    return Origin(
        actor=record.actor.id,
        at=record.at,
        by=by,
        event=record.name,
        position=record.position,
        reason=reason,
    )
