"""What was owed: open at the end or done, by whom, with what evidence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ledger.stores.read_models import Cell
from ledger.values.times import write_time
from projections.questions.base import PERIOD, SOME_RUN, AnswerColumn, Asked, Known, Parameter, Question, Row
from projections.questions.placing import in_place, within

# Of the ends, transfers and openings of an id only the first behind an opening says what became of it.
_QUERY = """
    SELECT o.run, o.position, o.at, o.id, o.text, o.owed_to, o.due, o.by, o.because,
        (
            SELECT MIN(n.position) FROM {obligations.obligations} AS n
            WHERE n.run = o.run AND n.id = o.id AND n.position > o.position
        ),
        e.position, e.at, e.what, e.by, e.evidence, e.refs, e.reason,
        t.position, t.at, t.to_party, t.by, t.reason,
        l.position, l.at, l.successor
    FROM {obligations.obligations} AS o
    LEFT JOIN {obligations.ends} AS e ON e.run = o.run AND e.position = (
        SELECT MIN(n.position) FROM {obligations.ends} AS n
        WHERE n.run = o.run AND n.id = o.id AND n.position > o.position
    )
    LEFT JOIN {obligations.transfers} AS t ON t.run = o.run AND t.position = (
        SELECT MIN(n.position) FROM {obligations.transfers} AS n
        WHERE n.run = o.run AND n.id = o.id AND n.position > o.position
    )
    LEFT JOIN {obligations.left_open} AS l ON l.run = o.run AND l.id = o.id AND l.position = (
        SELECT MIN(n.position) FROM {obligations.left_open} AS n
        WHERE n.run = o.run AND n.id = o.id AND n.position > o.position
    )
"""

_STATES = ("open", "overdue", "discharged", "waived", "transferred", "passed_on", "replaced")


class Obligations(Question):
    """Which obligations are open at the end, and who discharged the others with what evidence."""

    name = "obligations"
    group = "Goals and obligations"
    about = (
        "Every obligation with whom it is owed to and by when: open, overdue, or how it ended, who said so "
        "and with what evidence."
    )
    cannot = "Whether the evidence is true: it tells what was said to discharge an obligation, and by whom."
    parameters = (
        SOME_RUN,
        Parameter(
            "owed_to",
            "Only what is owed to this party, `kind:name`.",
            "reference",
            known=Known("obligations.obligations.owed_to", "obligation to"),
        ),
        Parameter("state", "Only what is so.", choices=_STATES),
        *PERIOD,
    )
    columns = (
        AnswerColumn("run", "The run that owes it."),
        AnswerColumn("position", "Where in the run it was opened."),
        AnswerColumn("at", "When it was opened; `since` and `before` go by this time."),
        AnswerColumn("id", "Its id in the run."),
        AnswerColumn("text", "What is owed."),
        AnswerColumn("owed_to", "To whom."),
        AnswerColumn("due", "By when; empty: nobody said."),
        AnswerColumn("opened_by", "Who is said to have promised it; empty: nobody said."),
        AnswerColumn("because", "What brought it about."),
        AnswerColumn(
            "state",
            "`open`, `overdue` (open, and due by `now`), `discharged`, `waived`, `transferred` (another "
            "owes it now), `passed_on` (the run ended, and its successor owes it, in a row of its own), or "
            "`replaced` (opened once more under its id while it was open).",
        ),
        AnswerColumn("ended_position", "Where in the run that was said; empty: it is open or overdue."),
        AnswerColumn("ended_at", "When that was said."),
        AnswerColumn("ended_by", "Who discharged, waived or transferred it, as was said."),
        AnswerColumn("evidence", "With what evidence it was discharged."),
        AnswerColumn("refs", "What shows it, as a JSON list of references."),
        AnswerColumn("reason", "Why it was waived or transferred."),
        AnswerColumn("owed_by", "Who owes it after a transfer; empty: the run, or nobody any more."),
        AnswerColumn("left_at", "When the run ended with it open; empty: it did not."),
        AnswerColumn("successor", "The run that took it over when this one ended."),
    )
    example = "run=refund-17"
    uses = ("obligations",)

    def rows(self, asked: Asked) -> Iterable[Row]:
        party = "o.owed_to" if asked.given["run"] is None else "o.owed_to || ''"
        asked_for = within(asked, "o", owed_to=f"{party} = :owed_to")
        found = sorted(asked.select(f"{_QUERY} WHERE {asked_for}", **asked.given), key=in_place)
        now, state = write_time(asked.now), asked.given["state"]
        rows = [_row(row, now) for row in found]
        return [row for row in rows if state in (None, row[_STATE])]


_STATE = [column.name for column in Obligations.columns].index("state")


def _row(row: tuple[Any, ...], now: str) -> Row:
    opened, again = row[:9], row[9]
    ended, moved, (left, left_at, successor) = row[10:17], row[17:22], row[22:]
    first = min((place for place in (again, ended[0], moved[0]) if place is not None), default=None)
    due = opened[6]
    # state, position, at, by, evidence, refs, reason, owed_by
    how: tuple[Cell, ...]
    if first is None and successor is not None:
        how = ("passed_on", left, left_at, *[None] * 5)
    elif first is None:
        how = ("overdue" if due is not None and due <= now else "open", *[None] * 7)
    elif first == ended[0]:
        position, at, what, by, evidence, refs, reason = ended
        how = (what, position, at, by, evidence, refs, reason, None)
    elif first == moved[0]:
        position, at, to, by, reason = moved
        how = ("transferred", position, at, by, None, None, reason, to)
    else:
        how = ("replaced", again, *[None] * 6)
    if left is None or (first is not None and first < left):
        return (*opened, *how, None, None)
    return (*opened, *how, left_at, successor)
