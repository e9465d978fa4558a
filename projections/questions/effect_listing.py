"""Effects by key, act, tool, status, terms, and who approved them."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from projections.questions.approval_ids import cited_approval
from projections.questions.approvals_asked import COUNTING
from projections.questions.base import (
    PERIOD,
    SOME_RUN,
    TOOL,
    AnswerColumn,
    Asked,
    Known,
    Parameter,
    Question,
    Row,
)
from projections.questions.effect_keys import effect_keys
from projections.questions.effect_states import STATUSES, standings
from projections.questions.imported import tell_of_imported
from projections.questions.narrowing import beside_run


class EffectListing(Question):
    """Which effects there are."""

    name = "effects"
    group = "Effects"
    about = (
        "Effects by run, key, act, tool, status, terms or approver: one row for each attempt as intended, "
        "and for each time that an approval was asked for."
    )
    cannot = (
        "Whether the outside did what it answered, and whether a worker renewed its lease. An approver is "
        "who gave the answer that counts to the request that the intent cites; whether that fits this act "
        "is for `void-approvals`. An act that is `pending` was not begun: it waits for an approval, or was "
        "denied one. By status alone every effect of the tenant is read."
    )
    parameters = (
        SOME_RUN,
        Parameter("key", "Only this effect, by its key or by the beginning that tells it apart."),
        Parameter(
            "act",
            "Only this act, by its digest: the same deed under whatever step and occurrence.",
            known=Known("effects.intents.act", "effect with the act"),
        ),
        TOOL,
        Parameter("status", "Only effects that are so.", choices=STATUSES),
        Parameter("terms", "Only intents under these terms, by their digest."),
        Parameter(
            "approval",
            "Only intents that cite this approval, by its id or by the beginning that tells it apart.",
            known=Known("effects.intents.approval", "intent that cites the approval"),
        ),
        Parameter("approver", "Only intents whose approval this party gave, `kind:name`.", "reference"),
        *PERIOD,
    )
    columns = (
        AnswerColumn("run", "The run that intended it."),
        AnswerColumn("position", "Position of the intent."),
        AnswerColumn("at", "When it was intended."),
        AnswerColumn("key", "The effect; several attempts share it."),
        AnswerColumn("act", "Digest of the act itself."),
        AnswerColumn("tool", "Its tool."),
        AnswerColumn("step", "Its step; empty: none was named."),
        AnswerColumn("args", "Its arguments, as canonical JSON."),
        AnswerColumn("status", "What became of the effect, all its attempts together."),
        AnswerColumn("since", "Since when it is so."),
        AnswerColumn("status_run", "Run of the record that made it so."),
        AnswerColumn("status_position", "Position of that record."),
        AnswerColumn("terms_position", "Position of the terms it was intended under."),
        AnswerColumn("terms_digest", "Their digest."),
        AnswerColumn("approval", "The approval it cites; empty: none."),
        AnswerColumn("approver", "Who gave it; empty: no answer that counts did."),
        AnswerColumn("witnessed", "0: it was imported, the ledger was not there."),
    )
    example = "tool=refund status=succeeded since=2026-01-01T00:00:00Z"
    uses = ("approvals", "effects")

    def rows(self, asked: Asked) -> Iterable[Row]:
        status = asked.given["status"]
        if asked.given["key"] is not None:
            asked.given = {**asked.given, "key": effect_keys(asked)[0]}
        if asked.given["approval"] is not None:
            asked.given = {**asked.given, "approval": cited_approval(asked)}
        condition = asked.where(
            run="i.run = :run",
            key="i.key = :key",
            act="i.act = :act",
            tool=f"{beside_run(asked, 'i.tool')} = :tool",
            terms="i.terms_digest = :terms",
            approval=f"{beside_run(asked, 'i.approval')} = :approval",
            since=f"{beside_run(asked, 'i.at')} >= :since",
            before=f"{beside_run(asked, 'i.at')} < :before",
        )
        states = {one.key: one.state for one in standings(asked, condition)}
        rows = imported = 0
        for place, what, terms in _intents(asked, condition):
            state = states[str(what[0])]
            if status in (None, state.status):
                told = (state.status, state.since, state.run, state.position)
                rows, imported = rows + 1, imported + (not terms[-1])
                yield (*place, *what, *told, *terms)
        tell_of_imported(asked, imported, rows)


_INTENTS = f"""
    SELECT i.run, i.position, i.at, i.key, i.act, i.tool, i.step, i.args,
        i.terms_position, i.terms_digest, i.approval, a.by, i.witnessed
    FROM {{effects.intents}} AS i
    LEFT JOIN {{approvals.requests}} AS r ON r.run = i.run AND r.position = (
        SELECT MAX(l.position) FROM {{approvals.requests}} AS l
        WHERE l.run = i.run AND l.id = i.approval AND l.position < i.position
    )
    LEFT JOIN {{approvals.answers}} AS a ON a.run = r.run AND a.answer = 'approved'
        AND a.position = ({COUNTING}) AND a.position < i.position
    WHERE CONDITION
"""


def _intents(asked: Asked, condition: str) -> Iterable[tuple[Row, Row, Row]]:
    wanted = asked.where(approver="a.by = :approver")
    query = _INTENTS.replace("CONDITION", f"{condition} AND {wanted}")
    # Sorted here: an order that an index has would be read from it, whatever else the query says.
    for row in sorted(asked.select(query, **asked.given), key=itemgetter(0, 1)):
        yield row[:3], row[3:8], row[8:]
