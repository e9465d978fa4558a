"""How what bound runs was changed: in the run itself, and at the source of a constraint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from projections.questions.base import Asked

WITHDRAWN_AT_SOURCE, REWORDED_AT_SOURCE = "withdrawn_at_source", "reworded_at_source"

_WITHDRAWN = """
    SELECT w.run, w.position, w.gid, w.at, w.id, w.by, w.actor, w.reason, a.text, a.source, a.position
    FROM {constraints.withdrawals} AS w
    JOIN {constraints.acceptances} AS a ON a.id = w.id AND a.run = w.run AND a.position < w.position
    WHERE NOT EXISTS (SELECT 1 FROM {constraints.withdrawals} AS v
            WHERE v.id = w.id AND v.run = w.run AND v.position > a.position AND v.position < w.position)
        AND NOT EXISTS (SELECT 1 FROM {constraints.acceptances} AS b
            WHERE b.id = w.id AND b.run = w.run AND b.position > a.position AND b.position < w.position)
        AND """

_SUPERSEDED = """
    SELECT n.run, n.position, n.gid, n.at, n.id, n.accepted_by, n.actor, n.change, o.text, n.text, o.source,
        o.position,
        CASE WHEN o.text = n.text AND COALESCE(o.rule, '') = COALESCE(n.rule, '')
            AND COALESCE(o.source, '') = COALESCE(n.source, '')
            AND COALESCE(o.item, '') = COALESCE(n.item, '')
            AND COALESCE(o.valid_from, '') = COALESCE(n.valid_from, '')
            AND COALESCE(o.valid_until, '') = COALESCE(n.valid_until, '') THEN 1 ELSE 0 END
    FROM {constraints.acceptances} AS n
    JOIN {constraints.acceptances} AS o ON o.id = n.id AND o.run = n.run AND o.position < n.position
    WHERE NOT EXISTS (SELECT 1 FROM {constraints.withdrawals} AS v
            WHERE v.id = n.id AND v.run = n.run AND v.position > o.position AND v.position < n.position)
        AND NOT EXISTS (SELECT 1 FROM {constraints.acceptances} AS b
            WHERE b.id = n.id AND b.run = n.run AND b.position > o.position AND b.position < n.position)
        AND """

# What was accepted from the source after a change stands behind it in the global order, which is the order in
# which acceptances are admitted; a run that had ended is bound by nothing.
# COALESCE keeps SQLite, which knows no statistics, from looking at all runs that ever ended.
_AT_SOURCE = """
    SELECT a.run, s.run, s.position, s.gid, s.at, a.id, s.what, s.by, s.actor, s.reason, a.text, s.text,
        s.source, a.position
    FROM {sources.items} AS s
    JOIN {constraints.acceptances} AS a ON a.source = s.source AND a.item = s.item
    WHERE a.gid < s.gid
        AND (s.what IN ('withdrawn', 'withdrawn_here')
            OR s.text <> a.text OR COALESCE(s.rule, '') <> COALESCE(a.rule, ''))
        AND NOT EXISTS (SELECT 1 FROM {constraints.withdrawals} AS v
            WHERE v.id = a.id AND v.run = a.run AND v.position > a.position AND v.gid < s.gid)
        AND NOT EXISTS (SELECT 1 FROM {constraints.acceptances} AS b
            WHERE b.id = a.id AND b.run = a.run AND b.position > a.position AND b.gid < s.gid)
        AND NOT EXISTS (SELECT 1 FROM {lives.steps} AS c
            WHERE c.run = a.run AND COALESCE(c.what, '') = 'closed' AND c.gid < s.gid)
        AND """

# What relied on a later place of the source stands behind the change as well: where no run is named, an index
# finds the others without looking at it. What was imported may name no place.
_RELIED = ("a.source_position < s.position AND ", "a.source_position IS NULL AND ")

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
    accepted: int
    """Position of the acceptance that was changed."""


def changes(asked: Asked) -> list[Change]:
    """List changes in their order: those that the parameters run, id, source, since and before ask for.

    The source is that of the acceptance that was changed.
    """
    found = [
        *_withdrawn(asked.select(_WITHDRAWN + _where(asked, "w", "a"), **asked.given)),
        *_superseded(asked.select(_SUPERSEDED + _where(asked, "n", "o"), **asked.given)),
    ]
    where = _where(asked, "s", "s", bound="a")
    for relied in _RELIED if asked.given["run"] is None else ("",):
        found += _at_source(asked.select(_AT_SOURCE + relied + where, **asked.given))
    return sorted(found)


def _where(asked: Asked, changed: str, named: str, bound: str | None = None) -> str:
    conditions = {
        "run": f"{bound or changed}.run = :run",
        "id": f"{bound or changed}.id = :id",
        "source": f"{named}.source = :source",
        "since": f"{changed}.at >= :since",
        "before": f"{changed}.at < :before",
    }
    return asked.where(**{name: words for name, words in conditions.items() if name in asked.given})


def _withdrawn(rows: Iterable[tuple[Any, ...]]) -> Iterable[Change]:
    for run, position, gid, at, id, by, actor, reason, text, source, accepted in rows:
        who = (by, actor, reason)
        yield Change(gid, run, run, position, at, id, "withdrawn", *who, text, None, source, accepted)


def _superseded(rows: Iterable[tuple[Any, ...]]) -> Iterable[Change]:
    for run, position, gid, at, id, by, actor, change, old, new, source, accepted, same in rows:
        # Imported runs may state a constraint once more, and in other words without a name for the change.
        if change is None and same:
            continue
        what = change or "replaced"
        yield Change(gid, run, run, position, at, id, what, by, actor, None, old, new, source, accepted)


def _at_source(rows: Iterable[tuple[Any, ...]]) -> Iterable[Change]:
    for run, stream, position, gid, at, id, said, by, actor, reason, old, new, source, accepted in rows:
        what = WITHDRAWN_AT_SOURCE if said.startswith("withdrawn") else REWORDED_AT_SOURCE
        yield Change(gid, run, stream, position, at, id, what, by, actor, reason, old, new, source, accepted)
