"""How what bound runs was changed: in the run itself, and at the source of a constraint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from projections.questions.base import Asked
from projections.questions.held import Accepted, Held, Life

_SOME = 500

_ITEMS = """
    SELECT s.gid, s.run, s.position, s.at, s.source, s.item, s.what, s.text, s.rule, s.by, s.actor, s.reason
    FROM {sources.items} AS s WHERE """

# What relied on a later place of the source stands behind the change in the global order as well, since
# acceptances are admitted in that order: an index finds the others without looking at it.
_HOLDERS = """
    SELECT a.run FROM {constraints.acceptances} AS a
    WHERE a.source = :source AND a.item = :item AND a.relied < :position
"""

# COALESCE keeps databases from looking at all runs that ever ended.
_ENDS = """
    SELECT c.run, c.gid FROM {lives.steps} AS c WHERE c.run IN :runs AND COALESCE(c.what, '') = 'closed'
"""

USES = ("constraints", "sources", "lives")
"""Projections that `changes` reads."""


class Change(NamedTuple):
    """A change of what bound a run."""

    gid: int
    run: str
    """The run that was bound."""
    stream: str
    """Where the record of the change stands: the run, or the stream of the source."""
    position: int
    at: str
    id: str
    what: str
    by: str | None
    actor: str
    reason: str | None
    old_text: str
    new_text: str | None
    source: str | None


class _Said(NamedTuple):
    """A change of what a source says."""

    gid: int
    stream: str
    position: int
    at: str
    source: str
    item: str
    what: str
    text: str | None
    rule: str | None
    by: str | None
    actor: str
    reason: str | None

    @property
    def withdraws(self) -> bool:
        return self.what.startswith("withdrawn")


def changes(asked: Asked) -> list[Change]:
    """List changes in their order: those that the parameters run, id, source, since and before ask for.

    The source is that of the acceptance that was changed.
    """
    wanted = _Wanted(asked)
    run = wanted.given.get("run")
    if run is not None:
        held = Held(asked, [str(run)])
        said = _said_of(wanted, held)
    else:
        said = _said(wanted, "1 = 1")
        held = Held(asked, {*_changed_runs(wanted), *_holders(asked, said)})
    found = [
        change
        for life in held.lives.values()
        for change in _in_run(life)
        if wanted.has("since", change.at) and wanted.has("before", change.at)
        if wanted.has("id", change.id) and wanted.has("source", change.source)
    ]
    return sorted([*found, *_at_source(wanted, held, said)])


class _Wanted:
    """Which changes are asked for."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.given = asked.given

    def has(self, name: str, value: str | None) -> bool:
        """Tell whether a change whose `name` is so is asked for."""
        asked_for = self.given.get(name)
        if asked_for is None:
            return True
        if value is None:
            return False
        if name == "since":
            return value >= str(asked_for)
        return value < str(asked_for) if name == "before" else value == asked_for

    def where(self, **conditions: str) -> str:
        """Write the conditions of what was given."""
        return self.asked.where(**{name: words for name, words in conditions.items() if name in self.given})


def _changed_runs(wanted: _Wanted) -> Iterable[str]:
    """Name the runs that may have changed something themselves, as far as one index tells."""
    if wanted.given.get("source") is not None:
        query = "SELECT a.run FROM {constraints.acceptances} AS a WHERE a.source = :source"
        return (row[0] for row in wanted.asked.select(query, **wanted.given))
    period = wanted.where(since="c.at >= :since", before="c.at < :before")
    return (
        run
        for table in ("acceptances", "withdrawals")
        for (run,) in wanted.asked.select(
            f"SELECT c.run FROM {{constraints.{table}}} AS c WHERE {period}", **wanted.given
        )
    )


def _said(wanted: _Wanted, also: str, **values: tuple[str, ...]) -> list[_Said]:
    """Read what sources changed."""
    where = wanted.where(source="s.source = :source", since="s.at >= :since", before="s.at < :before")
    query = f"{_ITEMS}{where} AND {also}"
    return [_Said(*row) for row in wanted.asked.select(query, **wanted.given, **values)]


def _said_of(wanted: _Wanted, held: Held) -> list[_Said]:
    """Read what sources changed of what a run ever accepted."""
    items = {
        (one.source, one.item) for life in held.lives.values() for one in life if isinstance(one, Accepted)
    }
    found: list[_Said] = []
    for source in sorted({source for source, _ in items if source is not None}):
        if not wanted.has("source", source):
            continue
        names = sorted(item for of, item in items if of == source and item is not None)
        for first in range(0, len(names), _SOME):
            some = tuple(names[first : first + _SOME])
            found += _said(wanted, "s.source IN :of AND s.item IN :items", of=(source,), items=some)
    return found


def _holders(asked: Asked, said: Iterable[_Said]) -> Iterable[str]:
    """Name the runs that had accepted something before a source changed it."""
    last: dict[tuple[str, str], int] = {}
    for one in said:
        place = one.source, one.item
        last[place] = max(one.position, last.get(place, 0))
    for (source, item), position in last.items():
        for (run,) in asked.select(_HOLDERS, source=source, item=item, position=position):
            yield run


def _in_run(life: Life) -> Iterable[Change]:
    """Tell what a run changed itself under one id."""
    for former, one in pairwise(life):
        if not isinstance(former, Accepted):
            continue
        old, source = former.text, former.source
        place = (one.gid, one.run, one.run, one.position, one.at, one.id)
        if not isinstance(one, Accepted):
            yield Change(*place, "withdrawn", one.by, one.actor, one.reason, old, None, source)
        elif one.change is not None or one.said != former.said:
            # Imported runs may state a constraint once more, or in other words without a name for that.
            what = one.change or "replaced"
            yield Change(*place, what, one.accepted_by, one.actor, None, old, one.text, source)


def _at_source(wanted: _Wanted, held: Held, said: Iterable[_Said]) -> Iterable[Change]:
    """Tell what sources changed of what runs held; a run that had ended is bound by nothing."""
    changed = [one for one in said if wanted.has("source", one.source)]
    holders: dict[tuple[str | None, str | None], list[Accepted]] = {}
    for life in held.lives.values():
        for one in life:
            if isinstance(one, Accepted) and wanted.has("id", one.id):
                holders.setdefault((one.source, one.item), []).append(one)
    hit = {one.run for change in changed for one in holders.get((change.source, change.item), ())}
    ended = _ends(wanted.asked, sorted(hit))
    for change in changed:
        for one in holders.get((change.source, change.item), ()):
            end = held.end_of(one)
            over = min(ended.get(one.run, change.gid), change.gid if end is None else end.gid)
            if not one.gid < change.gid <= over:
                continue
            if not change.withdraws and (change.text, change.rule) == one.words:
                continue
            what = "withdrawn_at_source" if change.withdraws else "reworded_at_source"
            place = (change.gid, one.run, change.stream, change.position, change.at, one.id)
            who = (change.by, change.actor, change.reason)
            yield Change(*place, what, *who, one.text, change.text, change.source)


def _ends(asked: Asked, runs: list[str]) -> Mapping[str, int]:
    """Return where runs ended, in the global order."""
    found: dict[str, int] = {}
    for first in range(0, len(runs), _SOME):
        found.update(asked.select(_ENDS, runs=tuple(runs[first : first + _SOME])))
    return found
