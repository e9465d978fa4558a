"""What a run's record said on a date, beside what it says now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from ledger.canonical import canonical_text
from ledger.record import Record
from ledger.run.compared import SECTIONS, Section, members_of
from ledger.run.contract import Contract
from ledger.run.state import replay
from ledger.values.times import write_time
from projections.questions.base import RUN, AnswerColumn, Asked, Parameter, Question, Row

_TOLD = ("goal", "step", "constraint", "assumption", "obligation", "grant", "approval", "effect", "status")


class SaidOn(Question):
    """What the ledger said on a date, as opposed to now."""

    name = "said-on"
    group = "Time"
    about = (
        "What the ledger said of a run at a time, beside what it says now: goal, plan, constraints, "
        "assumptions, obligations, grants, approvals, effects not settled, status."
    )
    cannot = (
        "What was so on that date and recorded later: it tells what anybody who asked then was told. Of an "
        "effect that is settled it tells nothing, `effects` does."
    )
    parameters = (
        RUN,
        Parameter("date", "The time that is asked about, inclusive.", "time", required=True, past=True),
    )
    columns = (
        AnswerColumn("section", f"What it is: {', '.join(f'`{one}`' for one in _TOLD)}."),
        AnswerColumn("id", "Its id or key; empty where a run has one of it."),
        AnswerColumn("then", "What was said of it then, as JSON; empty: nothing."),
        AnswerColumn("now", "What is said of it now, as JSON; empty: nothing any more, or it is settled."),
        AnswerColumn("changed", "1: the two differ."),
        AnswerColumn("then_position", "Position in the run that `then` comes from, as far as it is kept."),
        AnswerColumn("now_position", "Position in the run that `now` comes from, likewise."),
    )
    example = "run=refund-17 date=2026-01-31T12:00:00Z"
    uses = ("timeline",)

    def rows(self, asked: Asked) -> Iterable[Row]:
        date = str(asked.given["date"])
        then, now = _folded(asked.records(str(asked.given["run"])), date)
        if now is None:
            asked.note("the run had not been opened yet")
        elif then is None:
            asked.note(f"the run was opened on {write_time(now.opened_at)}, after that date")
        elif then.position == now.position:
            asked.note("nothing was recorded in this run after that date")
        return [row for section in SECTIONS if section.what in _TOLD for row in _compared(section, then, now)]


def _folded(records: Iterator[Record], date: str) -> tuple[Contract | None, Contract | None]:
    """Fold the records of a run up to a date, and all of them."""
    first: list[Record] = []

    def until_then() -> Iterator[Record]:
        for record in records:
            if write_time(record.at) > date:
                first.append(record)
                return
            yield record

    then = replay(until_then())
    return then, replay(chain(first, records), then)


def _compared(section: Section, then: Contract | None, now: Contract | None) -> Iterator[Row]:
    before = {} if then is None else members_of(section, then)
    after = {} if now is None else members_of(section, now)
    for key in sorted(before.keys() | after.keys()):
        told = [
            (None, None) if one is None or key not in members else _told(section, one, members[key])
            for one, members in ((then, before), (now, after))
        ]
        (was, was_at), (is_now, is_at) = told
        yield section.what, key[0] or None, was, is_now, int(was != is_now), was_at, is_at


def _told(section: Section, contract: Contract, member: object) -> tuple[str, int | None]:
    return canonical_text(section.written(member)), _place(section, contract, member)


def _place(section: Section, contract: Contract, member: object) -> int | None:
    """Tell which position of the run a member comes from."""
    origin = section.origin(contract, member)
    if origin is not None and origin.position is not None:
        return origin.position
    if section.what == "status":
        return contract.resumed_position
    # An effect keeps where it was intended, and not where its status changed last.
    return getattr(member, "position", None)
