"""What became of effects, as of the moment that is asked about.

Most effects tell a plain story: intended, started, succeeded. Its end is their status, which a query finds.
What is told in any other way (late, twice, contradicted, found out by somebody) is judged by the one fold of
histories, from the records themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ledger.events import EffectReconciled, EffectUnknown
from ledger.run.history import history_of
from ledger.run.known import EffectHistory
from ledger.values.times import write_time
from projections.questions.base import Asked

OPEN = ("executing", "unknown", "disputed")
"""Statuses of what is under way, or of which nobody knows whether it happened."""

STATUSES = ("pending", "executing", "succeeded", "failed", "did_not_happen", "unknown", "disputed")


class State(NamedTuple):
    """What is known of an effect, all its attempts together."""

    status: str
    """Executing with a lapsed lease is unknown."""
    run: str
    position: int
    """Run and position of the record that made it so."""
    since: str
    attempt: int | None
    because: str | None = None
    """Why nobody knows."""
    lease_until: str | None = None


class Standing(NamedTuple):
    """An effect as it was intended last, and what is known of it."""

    key: str
    run: str
    position: int
    tool: str
    step: str | None
    args: str
    state: State


# Of an effect whose every line follows from the one before, the last line is the status. A failure lets the
# next attempt begin afresh; an attempt behind a success is a matter for the fold. What waited for a
# person is intended once more when it begins.
# Joins are crossed where their order matters: a database that knows nothing of how many rows there are would
# read all steps to find those of a few effects. UNION drops what several intents of an effect bring again.
_STORIES = """
    WITH asked AS (SELECT i.key AS key FROM {effects.intents} AS i WHERE CONDITION),
    lines AS (
        SELECT i.key AS key, i.gid AS gid, i.run AS run, i.position AS position, i.at AS at,
            'intended' AS what, NULL AS attempt, NULL AS lease_until
        FROM asked AS a CROSS JOIN {effects.intents} AS i WHERE i.key = a.key
        UNION
        SELECT s.key, s.gid, s.run, s.position, s.at, s.what, s.attempt, s.lease_until
        FROM asked AS a CROSS JOIN {effects.steps} AS s WHERE s.key = a.key AND s.what <> 'compensated'
    ),
    told AS (
        SELECT l.*,
            ROW_NUMBER() OVER (PARTITION BY l.key ORDER BY l.gid) AS line,
            LAG(l.what) OVER (PARTITION BY l.key ORDER BY l.gid) AS was,
            LAG(l.attempt) OVER (PARTITION BY l.key ORDER BY l.gid) AS was_attempt,
            MAX(l.gid) OVER (PARTITION BY l.key) AS last_gid,
            MAX(CASE WHEN l.what = 'intended' THEN l.gid ELSE 0 END) OVER (PARTITION BY l.key) AS intent_gid
        FROM lines AS l
    ),
    judged AS (
        SELECT t.*,
            CASE
                WHEN t.what = 'intended' AND (t.line = 1 OR t.was IN ('failed', 'intended')) THEN 0
                WHEN t.what = 'started' AND t.was = 'intended' THEN 0
                WHEN t.what IN ('succeeded', 'failed') AND t.was = 'started'
                    AND t.attempt = t.was_attempt THEN 0
                WHEN t.what IN ('succeeded', 'failed') AND t.was = 'intended' AND t.line = 2 THEN 0
                ELSE 1
            END AS odd
        FROM told AS t
    ),
    stories AS (SELECT j.*, MAX(j.odd) OVER (PARTITION BY j.key) AS any_odd FROM judged AS j)
    SELECT n.key, n.run, n.position, n.tool, n.step, n.args, e.any_odd,
        e.what, e.run, e.position, e.at, e.attempt, e.lease_until
    FROM stories AS e CROSS JOIN {effects.intents} AS n
    WHERE e.gid = e.last_gid AND n.key = e.key AND n.gid = e.intent_gid AND (KEPT)
    ORDER BY n.run, n.position
"""

_STATUS_OF = {"intended": "pending", "started": "executing"}


def standings(asked: Asked, condition: str, *, only_open: bool = False) -> Iterator[Standing]:
    """Judge the effects that have an intent `i` which meets a condition, by run and position of the last one.

    With `only_open` only those whose outcome is open.
    """
    kept = "e.any_odd = 1 OR e.what = 'started'" if only_open else "1 = 1"
    query = _STORIES.replace("CONDITION", condition).replace("KEPT", kept)
    for key, run, position, tool, step, args, odd, *end in asked.select(query, **asked.given):
        state = _judged(asked, key) if odd else _plain(asked, *end)
        if not only_open or state.status in OPEN:
            yield Standing(key, run, position, tool, step, args, state)


def _plain(
    asked: Asked, what: str, run: str, position: int, at: str, attempt: int | None, lease_until: str | None
) -> State:
    status = _STATUS_OF.get(what, what)
    if status == "executing" and lease_until is not None and lease_until <= write_time(asked.now):
        return State("unknown", run, position, lease_until, attempt, "lease_lapsed", lease_until)
    return State(status, run, position, at, attempt, lease_until=lease_until)


def _judged(asked: Asked, key: str) -> State:
    """Fold the records under a key up to the moment that is asked about."""
    places = asked.select(
        """
        SELECT i.run, i.position, i.gid FROM {effects.intents} AS i WHERE i.key = :key
        UNION ALL
        SELECT s.run, s.position, s.gid FROM {effects.steps} AS s WHERE s.key = :key
        ORDER BY 3
        """,
        key=key,
    )
    known = history_of(key, [asked.record(run, position) for run, position, _ in places])
    assert known is not None, "an effect is asked about by its intents"
    until = None if known.lease_until is None else write_time(known.lease_until)
    if known.status == "executing" and known.lapsed(asked.now):
        at = until or write_time(known.at)
        return State("unknown", known.run, known.position, at, known.attempt, "lease_lapsed", until)
    because = _because(asked, known)
    return State(
        known.status, known.run, known.position, write_time(known.at), known.attempt or None, because, until
    )


def _because(asked: Asked, known: EffectHistory) -> str | None:
    if known.status == "disputed":
        return "contradicted"
    if known.status != "unknown":
        return None
    event = asked.record(known.run, known.position).event
    if isinstance(event, EffectUnknown):
        return event.because
    # Else a later attempt failed, which says nothing of an earlier one.
    return "inconclusive" if isinstance(event, EffectReconciled) else "earlier_attempt"
