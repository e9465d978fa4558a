"""Which runs have something from a source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ledger.run.sources import PREFIX
from projections.questions.base import AnswerColumn, Asked, Parameter, Question, Row

# COALESCE keeps SQLite, which knows no statistics, from looking at all runs that ever ended.
_ACCEPTED = """
    SELECT a.run, a.position, a.id, a.item, a.text, a.rule, a.revision, a.source_position, a.published,
        a.accepted_by, a.at,
        (SELECT MIN(w.position) FROM {constraints.withdrawals} AS w
            WHERE w.id = a.id AND w.run = a.run AND w.position > a.position),
        (SELECT MIN(b.position) FROM {constraints.acceptances} AS b
            WHERE b.id = a.id AND b.run = a.run AND b.position > a.position),
        (SELECT MAX(k.source_position) FROM {constraints.acknowledgements} AS k
            WHERE k.run = a.run AND k.source = a.source AND k.position > a.position),
        (SELECT MIN(c.position) FROM {lives.steps} AS c
            WHERE c.run = a.run AND COALESCE(c.what, '') = 'closed'),
        s.position, s.at, s.what, s.text, s.rule
    FROM {constraints.acceptances} AS a
    LEFT JOIN {sources.items} AS s ON s.source = a.source AND s.item = a.item
        AND s.position = (SELECT MAX(t.position) FROM {sources.items} AS t
            WHERE t.source = a.source AND t.item = a.item)
    WHERE """


class AffectedRuns(Question):
    """Which runs have something from a source, and whether the source has changed it since."""

    name = "affected-runs"
    group = "Rules"
    about = (
        "The runs that accepted something from a source, where it stands in each, what the source says of it "
        "now, and whether it has changed since the run last looked."
    )
    cannot = "Who follows the source without having accepted anything from it in a run."
    parameters = (
        Parameter("source", "The source, as `kind:name`.", "reference", required=True),
        Parameter("item", "Only what the source has under this id."),
    )
    columns = (
        AnswerColumn("run", "The run."),
        AnswerColumn("position", "Position of the acceptance."),
        AnswerColumn("id", "The constraint, by its id in the run."),
        AnswerColumn("item", "Its id in the source."),
        AnswerColumn("revision", "The revision that was named with the acceptance."),
        AnswerColumn("source_position", "Where the source stood that the acceptance relied on."),
        AnswerColumn("looked_position", "Up to where the source was acknowledged since; empty: not at all."),
        AnswerColumn("published", "1: these were the source's words; 0: claimed."),
        AnswerColumn("accepted_by", "Who accepted it, as it was claimed."),
        AnswerColumn("accepted_at", "When it was accepted."),
        AnswerColumn("status", "in_force, or ended: withdrawn or superseded in the run."),
        AnswerColumn("closed", "1: the run has ended; 0: it has not."),
        AnswerColumn(
            "behind",
            "1: the source has changed it since the acceptance and the last look; 0: it has not; empty: it "
            "is in force no more.",
        ),
        AnswerColumn("now", "What the source says now: unchanged, reworded, withdrawn, unpublished."),
        AnswerColumn("changed_position", "Position of the source where it was changed last."),
        AnswerColumn("changed_at", "When that was."),
    )
    example = "source=policy:refunds"
    uses = ("constraints", "sources", "lives")

    def rows(self, asked: Asked) -> Iterable[Row]:
        where = asked.where(source="a.source = :source", item="a.item = :item")
        # Sorted here: told to sort, SQLite would pass over all acceptances in the order of their key instead.
        found = sorted(asked.select(_ACCEPTED + where, **asked.given), key=lambda one: one[:2])
        rows = [_row(*one) for one in found]
        if not rows:
            opened = asked.select(
                "SELECT 1 FROM {sources.opened} AS o WHERE o.run = :stream",
                stream=PREFIX + str(asked.given["source"]),
            )
            if not opened:
                asked.note("no such source was opened, and no run has anything from it")
        return rows


def _row(run: Any, position: Any, id: Any, item: Any, text: Any, rule: Any, *rest: Any) -> Row:
    revision, source_position, published, by, at, withdrawn, superseded, looked, closed, *last = rest
    changed, changed_at, what, said, said_rule = last
    ended = min((end for end in (withdrawn, superseded) if end is not None), default=None)
    behind = None
    if ended is None:
        behind = int((changed or 0) > max(source_position or 0, looked or 0))
    if what is None:
        now = "unpublished"
    elif what.startswith("withdrawn"):
        now = "withdrawn"
    else:
        now = "unchanged" if (said, said_rule) == (text, rule) else "reworded"
    return (
        *(run, position, id, item, revision, source_position, looked if ended is None else None, published),
        *(by, at, "in_force" if ended is None else "ended", int(closed is not None), behind),
        *(now, changed, changed_at),
    )
