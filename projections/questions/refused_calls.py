"""Calls that a rule refused before they were made."""

from __future__ import annotations

from collections.abc import Iterable

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
from projections.questions.narrowing import beside_run


class RefusedCalls(Question):
    """Which calls were refused, by which rule."""

    name = "refused-calls"
    group = "Rules"
    about = "Calls refused before anything was begun, by rule, with what refused them and who asked."
    cannot = (
        "Calls that were refused without a record, e.g. because the run was closed or the same act was under "
        "way. Arguments that hold a secret are not recorded. By tool alone every refusal of the tenant "
        "is read, by constraint alone every one by a constraint."
    )
    parameters = (
        SOME_RUN,
        Parameter(
            "rule",
            "Only refusals by this rule, e.g. `authority_exceeded`.",
            known=Known("effects.refusals.rule", "refusal by the rule"),
        ),
        TOOL._replace(about="Only calls of this tool."),
        Parameter(
            "constraint",
            "Only refusals by constraints with this id in their run.",
            known=Known("constraints.acceptances.id", "constraint"),
        ),
        Parameter(
            "source",
            "Only refusals by a constraint of this source, `kind:name`.",
            "reference",
            known=Known("effects.refusals.source", "refusal by a constraint of the source"),
        ),
        *PERIOD,
    )
    columns = (
        AnswerColumn("run", "The run that asked."),
        AnswerColumn("position", "Position of the refusal."),
        AnswerColumn("at", "When it was refused."),
        AnswerColumn("tool", "The tool that was to be called."),
        AnswerColumn("step", "The step it was for; empty: none was named."),
        AnswerColumn("rule", "The rule that refused it."),
        AnswerColumn(
            "refused_by",
            "Position in the run of what refused it: an acceptance, a grant, the first act; empty: nothing "
            "that stands in this run.",
        ),
        AnswerColumn("key", "Key of the act; empty: it has none."),
        AnswerColumn("args", "The arguments, as canonical JSON; empty: they are what was wrong."),
        AnswerColumn("actor", "Who asked."),
        AnswerColumn("constraint", "The constraint that refused it, by its id in the run; empty: none did."),
        AnswerColumn("source", "The source it was accepted from."),
        AnswerColumn("revision", "The revision it was accepted in."),
        AnswerColumn("asserted_by", "Who asserted it, as it was claimed."),
        AnswerColumn("approval", "The request for approval that was denied; empty: that is not why."),
        AnswerColumn("denied_by", "Who is said to have denied it."),
        AnswerColumn("evidence", "All that the rule said, as JSON: of a constraint also its conditions."),
    )
    example = "rule=authority_exceeded since=2026-01-01T00:00:00Z"
    uses = ("constraints", "effects", "timeline")

    def rows(self, asked: Asked) -> Iterable[Row]:
        condition = asked.where(
            run="r.run = :run",
            rule=f"{beside_run(asked, 'r.rule')} = :rule",
            tool="r.tool = :tool",
            constraint=f"{beside_run(asked, 'r.rule')} IN {_BY_CONSTRAINT} AND r.constraint_id = :constraint",
            source=f"{beside_run(asked, 'r.source')} = :source",
            since=f"{beside_run(asked, 'r.at')} >= :since",
            before=f"{beside_run(asked, 'r.at')} < :before",
        )
        # Sorted here: an order that an index has would be read from it, whatever else the query says.
        found = asked.select(
            f"""
            SELECT r.run, r.position, r.at, r.tool, r.step, r.rule, r.refused_by, r.key, r.args, t.actor,
                r.constraint_id, r.source, r.revision, r.asserted_by, r.approval, r.denied_by, r.evidence
            FROM {{effects.refusals}} AS r
            JOIN {{timeline.events}} AS t ON t.run = r.run AND t.position = r.position
            WHERE {condition}
            """,
            **asked.given,
        )
        if not found:
            _tell_of_constraint(asked)
        return sorted(found, key=lambda row: (row[5], row[0], row[1]))


_BY_CONSTRAINT = "('constraint_violated', 'contract_changed')"


def _tell_of_constraint(asked: Asked) -> None:
    """Note that what was given as a rule is a constraint, where it is one."""
    rule = asked.given["rule"]
    if rule is not None and asked.select(
        "SELECT 1 FROM {constraints.acceptances} AS k WHERE k.id = :value LIMIT 1", value=rule
    ):
        asked.note(
            f"{rule!r:.80} is the id of a constraint: ask constraint=…; a rule is e.g. `constraint_violated`"
        )
