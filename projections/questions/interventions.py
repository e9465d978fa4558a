"""Where somebody stepped in: stops, overrides, take-overs, answers, and how long they were waited for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ledger.values.times import read_time
from projections.questions.base import PERIOD, SOME_RUN, AnswerColumn, Asked, Question, Row
from projections.questions.narrowing import beside_run

_KEYS_AT_ONCE = 500


class Interventions(Question):
    """Overrides, stops and take-overs, with response times."""

    name = "interventions"
    group = "People and subjects"
    about = (
        "Where somebody stepped into a run: stopped it, let it go on, took it over, ended or restarted it, "
        "answered a request, settled an effect by hand, repeated one on purpose, gave up a debt; and how "
        "long that was waited for."
    )
    cannot = (
        "Since when somebody knew that they were waited for; whether an answer counted, which `approvers` "
        "tells; and what was changed for a run without stepping in: goals, constraints and grants have "
        "questions of their own."
    )
    parameters = (SOME_RUN, *PERIOD)
    columns = (
        AnswerColumn("run", "The run."),
        AnswerColumn("position", "Position in the run of what was done."),
        AnswerColumn("at", "When it was recorded."),
        AnswerColumn(
            "what",
            "`suspended`, `resumed` (after a stop), `take_over`, `cancelled`, `stopped` (abandoned, or ended "
            "as failed by a person), `restarted`, `approved`, `denied`, `overridden` (an effect settled by a "
            "person, or repeated with a reason) or `waived`.",
        ),
        AnswerColumn("thing", "What of the run it is about, as `effect:KEY`; empty: the run itself."),
        AnswerColumn("by", "Who is said to have decided it; empty: the event does not say."),
        AnswerColumn("actor", "Who wrote it, as `kind:name`."),
        AnswerColumn("reason", "Why; of an effect settled by hand the evidence."),
        AnswerColumn(
            "response_seconds", "Whole seconds since it was asked for; empty: nothing asked for it."
        ),
        AnswerColumn("to_run", "Run of the event that asked for it, or of the act that was repeated."),
        AnswerColumn(
            "to_position",
            "Position of that event: the first stop since the run last went on, the request of an approval, "
            "where the outcome became unknown or disputed.",
        ),
    )
    example = "since=2026-01-01T00:00:00Z before=2026-02-01T00:00:00Z"
    uses = ("lives", "approvals", "effects", "obligations", "timeline")

    def rows(self, asked: Asked) -> Iterable[Row]:
        found = [*_lives(asked), *_restarts(asked), *_answers(asked), *_waived(asked)]
        found += [*_settled(asked), *_repeats(asked)]
        found.sort(key=lambda one: (one.at, one.run, one.position))
        return [one.row() for one in found]


class _Intervention(NamedTuple):
    run: str
    position: int
    at: str
    what: str
    thing: str | None
    by: str | None
    actor: str
    reason: str | None
    to_run: str | None = None
    to_position: int | None = None
    asked_at: str | None = None
    """When it was asked for; None: nothing did."""

    def row(self) -> Row:
        waited = None
        if self.asked_at is not None:
            waited = max(0, int((read_time(self.at) - read_time(self.asked_at)).total_seconds()))
        return (*self[:8], waited, self.to_run, self.to_position)


def _wanted(asked: Asked, table: str) -> str:
    at = beside_run(asked, f"{table}.at")
    return asked.where(run=f"{table}.run = :run", since=f"{at} >= :since", before=f"{at} < :before")


# --- the life of a run -------------------------------------------------------------------------------


def _first_stop(run: str, before: str) -> str:
    """Write the position of the first stop since a run last went on, as of a position."""
    return f"""
        (SELECT MIN(p.position) FROM {{lives.steps}} AS p
        WHERE p.run = {run} AND p.position < {before} AND p.what IN ('suspended', 'resume_refused')
            AND p.position > (SELECT MAX(q.position) FROM {{lives.steps}} AS q
                WHERE q.run = {run} AND q.position < {before} AND q.what IN ('opened', 'resumed')))
    """


def _lives(asked: Asked) -> Iterator[_Intervention]:
    what = beside_run(asked, "s.what")
    found = asked.select(
        f"""
        SELECT f.run, f.position, f.at, f.what, f.by, e.actor, f.reason, f.cause, f.outcome, f.take_over,
            a.position, a.at
        FROM (SELECT s.*, {_first_stop("s.run", "s.position")} AS stopped FROM {{lives.steps}} AS s
            WHERE {what} IN ('suspended', 'resumed', 'closed') AND {_wanted(asked, "s")}) AS f
        JOIN {{timeline.events}} AS e ON e.run = f.run AND e.position = f.position
        LEFT JOIN {{lives.steps}} AS a ON a.run = f.run AND a.position = f.stopped
        """,
        **asked.given,
    )
    for run, position, at, what, by, actor, reason, cause, outcome, take_over, stopped, stopped_at in found:
        done = _done(what, cause, outcome, take_over, by, actor, stopped)
        if done is None:
            continue
        answers = (run, stopped, stopped_at) if stopped and done != "suspended" else ()
        yield _Intervention(run, position, at, done, None, by, actor, reason, *answers)


def _done(
    what: str,
    cause: str | None,
    outcome: str | None,
    take_over: int | None,
    by: str | None,
    actor: str,
    stopped: int | None,
) -> str | None:
    """Tell what a step of a life was; None: nobody stepped in."""
    if what == "suspended":
        return "suspended" if cause == "asked" else None
    if what == "resumed":
        # A program that goes on where nothing had stopped it is no intervention.
        return "take_over" if take_over else "resumed" if stopped is not None else None
    if outcome == "cancelled":
        return "cancelled"
    a_person = (by or actor).startswith("human:")
    return "stopped" if outcome == "abandoned" or (outcome == "failed" and a_person) else None


def _restarts(asked: Asked) -> Iterator[_Intervention]:
    what = beside_run(asked, "s.what")
    # What a successor was restarted at is the last position it knew of, a stop there included.
    found = asked.select(
        f"""
        SELECT f.run, f.position, f.at, 'restarted', NULL, f.by, e.actor, f.reason, a.run, a.position, a.at
        FROM (SELECT s.*, {_first_stop("s.other_run", "s.other_position + 1")} AS stopped
            FROM {{lives.steps}} AS s WHERE {what} = 'restarted' AND {_wanted(asked, "s")}) AS f
        JOIN {{timeline.events}} AS e ON e.run = f.run AND e.position = f.position
        LEFT JOIN {{lives.steps}} AS a ON a.run = f.other_run AND a.position = f.stopped
        """,
        **asked.given,
    )
    return (_Intervention(*row) for row in found)


# --- what was asked for, owed or unknown -------------------------------------------------------------


def _answers(asked: Asked) -> Iterator[_Intervention]:
    found = asked.select(
        f"""
        SELECT f.run, f.position, f.at, f.answer, e.thing, f.by, e.actor, f.reason, r.run, r.position, r.at
        FROM (SELECT a.*, (SELECT MAX(q.position) FROM {{approvals.requests}} AS q
                WHERE q.run = a.run AND q.id = a.id AND q.position < a.position) AS asked
            FROM {{approvals.answers}} AS a WHERE {_wanted(asked, "a")}) AS f
        JOIN {{timeline.events}} AS e ON e.run = f.run AND e.position = f.position
        LEFT JOIN {{approvals.requests}} AS r ON r.run = f.run AND r.position = f.asked
        """,
        **asked.given,
    )
    return (_Intervention(*row) for row in found)


def _waived(asked: Asked) -> Iterator[_Intervention]:
    # Ends of obligations have no index by time; the timeline has one by name and time.
    wanted = _wanted(asked, "w")
    if asked.given["run"] is None:
        wanted = f"e.name = 'obligation.waived' AND {_wanted(asked, 'e')}"
    found = asked.select(
        f"""
        SELECT w.run, w.position, e.at, 'waived', e.thing, w.by, e.actor, w.reason
        FROM {{obligations.ends}} AS w
        JOIN {{timeline.events}} AS e ON e.run = w.run AND e.position = w.position
        WHERE w.what = 'waived' AND {wanted}
        """,
        **asked.given,
    )
    return (_Intervention(*row) for row in found)


def _settled(asked: Asked) -> Iterator[_Intervention]:
    what = beside_run(asked, "s.what")
    found = asked.select(
        f"""
        SELECT s.run, s.position, s.at, 'overridden', e.thing, s.by, e.actor, s.evidence, s.key, s.gid
        FROM {{effects.steps}} AS s
        JOIN {{timeline.events}} AS e ON e.run = s.run AND e.position = s.position
        WHERE {what} = 'reconciled' AND s.method = 'person' AND {_wanted(asked, "s")}
        """,
        **asked.given,
    )
    stories = _stories(asked, sorted({str(row[-2]) for row in found}))
    for *said, key, gid in found:
        yield _Intervention(*said, *_in_doubt(stories[key], gid))


class _Line(NamedTuple):
    """A step of an effect."""

    gid: int
    run: str
    position: int
    at: str
    what: str
    found: str | None


def _stories(asked: Asked, keys: list[str]) -> Mapping[str, list[_Line]]:
    """Read what became of effects, in the order it was recorded, whichever run of a lineage said it."""
    stories: dict[str, list[_Line]] = defaultdict(list)
    for first in range(0, len(keys), _KEYS_AT_ONCE):
        query = """
            SELECT s.key, s.gid, s.run, s.position, s.at, s.what, s.found FROM {effects.steps} AS s
            WHERE s.key IN :keys ORDER BY s.gid
        """
        for key, *line in asked.select(query, keys=tuple(keys[first : first + _KEYS_AT_ONCE])):
            stories[key].append(_Line(*line))
    return stories


def _in_doubt(story: list[_Line], gid: int) -> tuple[Any, ...]:
    """Find since when it was not known what became of an effect, before somebody said."""
    since: _Line | None = None
    for line in story:
        if line.gid >= gid:
            break
        if line.what in {"unknown", "disputed"}:
            since = since or line
        elif line.what != "reconciled" or line.found != "unknown":
            since = None
    return () if since is None else (since.run, since.position, since.at)


def _begun(intent: str) -> str:
    """Write the condition that an act was begun: one that only waited for an approval was not."""
    steps = f"SELECT 1 FROM {{effects.steps}} AS g WHERE g.key = {intent}.key"
    return f"({intent}.witnessed = 0 OR EXISTS ({steps}))"


def _repeats(asked: Asked) -> Iterator[_Intervention]:
    """Find acts that were begun once more on purpose: of several attempts the first."""
    found = asked.select(
        f"""
        SELECT f.run, f.position, f.at, 'overridden', e.thing, NULL, e.actor, f.repeat_reason,
            b.run, b.position
        FROM (SELECT i.*, (SELECT MAX(q.gid) FROM {{effects.intents}} AS q
                WHERE q.act = i.act AND q.key <> i.key AND q.gid < i.gid AND {_begun("q")}) AS before
            FROM {{effects.intents}} AS i
            WHERE i.repeat_reason IS NOT NULL AND {_wanted(asked, "i")} AND {_begun("i")}
                AND NOT EXISTS (SELECT 1 FROM {{effects.intents}} AS o WHERE o.key = i.key AND o.gid < i.gid)
            ) AS f
        JOIN {{timeline.events}} AS e ON e.run = f.run AND e.position = f.position
        LEFT JOIN {{effects.intents}} AS b ON b.act = f.act AND b.gid = f.before
        """,
        **asked.given,
    )
    return (_Intervention(*row) for row in found)
