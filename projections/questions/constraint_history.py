"""Who asserted which constraint when: every acceptance, with the time it held and the time it is valid."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ledger.canonical import canonical_text
from ledger.run.stated_rule import plain_rule
from ledger.values import Rule
from ledger.values.times import write_time
from projections.questions.base import PERIOD, SOME_RUN, AnswerColumn, Asked, Known, Parameter, Question, Row
from projections.questions.placing import in_place, within

_QUERY = """
    SELECT a.run, a.position, a.at, a.id, a.text, a.asserted_by, a.asserted_at, a.accepted_by, a.actor,
        a.source, a.item, a.revision, a.source_position, a.published, a.change, a.supersedes,
        a.valid_from, a.valid_until, a.rule, a.hash,
        w.position, w.at, w.by, w.actor, w.reason, b.position, b.at, b.accepted_by, b.actor
    FROM {constraints.acceptances} AS a
    LEFT JOIN {constraints.withdrawals} AS w ON w.id = a.id AND w.run = a.run
        AND w.position = (SELECT MIN(v.position) FROM {constraints.withdrawals} AS v
            WHERE v.id = a.id AND v.run = a.run AND v.position > a.position)
    LEFT JOIN {constraints.acceptances} AS b ON b.id = a.id AND b.run = a.run
        AND b.position = (SELECT MIN(c.position) FROM {constraints.acceptances} AS c
            WHERE c.id = a.id AND c.run = a.run AND c.position > a.position)
    WHERE """


class ConstraintHistory(Question):
    """Who asserted which constraint when, who accepted it, and how long it held."""

    name = "constraint-history"
    group = "Rules"
    about = (
        "Who asserted which constraint when, from which source and revision, who accepted it, since when and "
        "until when it held, and who ended it and why: every acceptance, in force or not."
    )
    cannot = (
        "What a source published that no run accepted, and what it changed since: `affected-runs` and "
        "`relaxations` tell that; why somebody superseded a constraint, for which no reason is recorded."
    )
    parameters = (
        SOME_RUN,
        Parameter("id", "Only constraints with this id in their run."),
        Parameter(
            "source",
            "Only what was accepted from this source, `kind:name`.",
            "reference",
            known=Known("constraints.acceptances.source", "acceptance from the source"),
        ),
        Parameter(
            "asserted_by",
            "Only what somebody is said to have asserted, as `kind:name`.",
            "reference",
            known=Known("constraints.acceptances.asserted_by", "constraint asserted by"),
        ),
        *PERIOD,
    )
    columns = (
        AnswerColumn("run", "The run."),
        AnswerColumn("position", "Position of the acceptance in the run."),
        AnswerColumn("at", "When it was accepted, by the ledger's clock: it held from then on …"),
        AnswerColumn("held_until", "… until then; empty: it is in force."),
        AnswerColumn("id", "The constraint, by its id in the run."),
        AnswerColumn("text", "Its words."),
        AnswerColumn("asserted_by", "Who asserted it, as it was claimed."),
        AnswerColumn("asserted_at", "When, where that was said."),
        AnswerColumn("accepted_by", "Who accepted it, as it was claimed."),
        AnswerColumn("actor", "Who wrote the acceptance."),
        AnswerColumn("source", "The source it was accepted from; empty: from none."),
        AnswerColumn("item", "Its id in the source."),
        AnswerColumn("revision", "The revision of the source that was named."),
        AnswerColumn("source_position", "Where the source stood that it relied on."),
        AnswerColumn("published", "1: these are the source's words; 0: claimed; empty: no source."),
        AnswerColumn("change", "How it differs from what it supersedes: tightened, relaxed, reworded."),
        AnswerColumn("supersedes", "Position of the acceptance it took the place of."),
        AnswerColumn("valid_from", "Since when it is valid, as it says itself; empty: always."),
        AnswerColumn("valid_until", "Until when; empty: for ever."),
        AnswerColumn("valid", "1: it is valid by its own time at `now`; 0: it is not."),
        AnswerColumn("rule", "What of it a machine can check, as people write it, in JSON; empty: nothing."),
        AnswerColumn("enforced", "1: acts are held to its rule; 0: it is text, which nothing enforces."),
        AnswerColumn("ended", "`withdrawn` or `superseded`; empty: it is in force."),
        AnswerColumn("ended_position", "Position of what ended it."),
        AnswerColumn("ended_by", "Who ended it, as it was claimed."),
        AnswerColumn("ended_actor", "Who wrote that."),
        AnswerColumn("reason", "Why it was withdrawn."),
        AnswerColumn("hash", "Hash of the record of the acceptance, in hexadecimal digits."),
    )
    example = "run=refund-17"
    uses = ("constraints",)

    def rows(self, asked: Asked) -> Iterable[Row]:
        author = "a.asserted_by = :asserted_by"
        where = within(asked, "a", id="a.id = :id", source="a.source = :source", asserted_by=author)
        found = sorted(asked.select(_QUERY + where, **asked.given), key=in_place)
        now = write_time(asked.now)
        return [_row(now, *one) for one in found]


def _row(now: str, *cells: Any) -> Row:
    run, position, at, id, text, *said = cells[:18]
    rule, hash, *ends = cells[18:]
    withdrawn, superseded = ends[:5], [*ends[5:], None]
    ended: tuple[Any, ...] = (None, None, None, None, None, None)
    if withdrawn[0] is not None and (superseded[0] is None or withdrawn[0] < superseded[0]):
        ended = ("withdrawn", *withdrawn)
    elif superseded[0] is not None:
        ended = ("superseded", *superseded)
    how, ended_position, ended_at, by, actor, reason = ended
    valid_from, valid_until = said[-2:]
    valid = (valid_from is None or valid_from <= now) and (valid_until is None or now < valid_until)
    return (
        *(run, position, at, ended_at, id, text, *said, int(valid), _as_written(rule), int(rule is not None)),
        *(how, ended_position, by, actor, reason, hash.hex()),
    )


def _as_written(rule: str | None) -> str | None:
    """Write a recorded rule as people do: values are plain, and what is not said is left out."""
    return None if rule is None else canonical_text(plain_rule(Rule.model_validate_json(rule)))
