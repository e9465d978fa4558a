"""The exact terms under which an effect was intended, folded from the records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from ledger.canonical import canonical_text, load_text
from ledger.events import AuthorityGranted, AuthorityRenewed, ConstraintAccepted, GoalRevised, RunOpened
from ledger.record import Record
from ledger.run.contract import Contract, Grant
from ledger.run.state import replay
from ledger.run.terms import terms_text
from projections.questions.base import KEY, AnswerColumn, Asked, Question, Row
from projections.questions.constraints_in_force import intents_of
from projections.questions.effect_keys import effect_keys


class TermsAtEffect(Question):
    """The exact terms text at the moment of an effect, with the hashes of the records it comes from."""

    name = "terms-at-effect"
    group = "Before an act"
    about = (
        "The exact terms an effect was intended under (goal, constraints, grants), each with the record it "
        "comes from and its hash, and whether their digest, computed anew from the records, is the same."
    )
    cannot = (
        "Whether the records are all there were: their hashes are checked one by one and against each other, "
        "and a chain that was made anew as a whole is told only by what lies outside the ledger."
    )
    parameters = (KEY,)
    columns = (
        AnswerColumn("run", "The run of the effect."),
        AnswerColumn("position", "Position of the record that the term comes from."),
        AnswerColumn("hash", "Hash of that record, in hexadecimal digits."),
        AnswerColumn("what", "goal, constraint or grant."),
        AnswerColumn("id", "Its id; empty for the goal."),
        AnswerColumn("text", "Its words; of a grant: who may what, and how much."),
        AnswerColumn("terms", "What the digest covers of it, as canonical JSON."),
        AnswerColumn("renewals", "Later records that changed a grant, as a JSON list of position and hash."),
        AnswerColumn("terms_position", "Position of the last event that changed the terms, as was recorded."),
        AnswerColumn("digest", "Digest of the terms, as was recorded with the effect."),
        AnswerColumn(
            "agrees",
            "1: digest and position computed from the records are the recorded ones; 0: they are not; empty: "
            "none were recorded.",
        ),
        AnswerColumn(
            "effect_position",
            "Position of the effect's intent; each attempt has one, and each asking for approval.",
        ),
    )
    example = "key=3f9c1a"
    uses = ("effects",)

    def rows(self, asked: Asked) -> Iterable[Row]:
        intents = intents_of(asked, tuple(effect_keys(asked)))
        for run, some in groupby(intents, lambda intent: intent[0]):
            yield from _of_run(asked, run, {position for _, position in some})


def _of_run(asked: Asked, run: str, wanted: set[int]) -> Iterator[Row]:
    """Fold a run up to each wanted intent, in one pass over its records."""
    left = set(wanted)
    contract: Contract | None = None
    seen = _Seen()
    between: list[Record] = []
    for record in asked.records(run):
        if record.position in left:
            contract = replay(between, contract)
            between = []
            assert contract is not None, "an intent stands in a run that was opened"
            yield from _rows(asked, contract, seen, record)
            left.remove(record.position)
            if not left:
                return
        between.append(record)
        seen.note(record)
        if len(between) >= _AT_ONCE:
            contract = replay(between, contract)
            between = []


_AT_ONCE = 500
"""Records that are held before they are folded."""


@dataclass
class _Seen:
    """The hashes of the records that terms come from."""

    hashes: dict[int, str] = field(default_factory=dict)
    renewals: dict[str, list[tuple[int, str]]] = field(default_factory=dict)

    def note(self, record: Record) -> None:
        event = record.event
        if isinstance(event, RunOpened | GoalRevised | ConstraintAccepted | AuthorityGranted):
            self.hashes[record.position] = record.hash.hex()
        if isinstance(event, AuthorityGranted):
            self.renewals.pop(event.id, None)
        elif isinstance(event, AuthorityRenewed):
            self.renewals.setdefault(event.id, []).append((record.position, record.hash.hex()))


def _rows(asked: Asked, contract: Contract, seen: _Seen, intent: Record) -> Iterator[Row]:
    mark = intent.terms
    agrees = None if mark is None else int(mark == contract.terms)
    if not agrees:
        told = "were recorded with" if mark is None else "from the records are not those recorded with"
        none = "no terms" if mark is None else "terms"
        asked.note(f"{none} {told} the effect at position {intent.position} of {intent.run}")
    recorded: Row = (None, None) if mark is None else (mark.position, mark.digest)
    end: Row = (*recorded, agrees, intent.position)
    covered: Any = load_text(terms_text(contract))
    goal = contract.goal
    yield (
        contract.run,
        goal.position,
        seen.hashes[goal.position],
        "goal",
        None,
        goal.text,
        canonical_text(covered["goal"]),
        None,
        *end,
    )
    constraints = {one.id: one for one in contract.constraints}
    for part in covered["constraints"]:
        constraint = constraints[part["id"]]
        place: Row = (contract.run, constraint.position, seen.hashes[constraint.position])
        yield (*place, "constraint", constraint.id, constraint.text, canonical_text(part), None, *end)
    grants = {one.id: one for one in contract.grants}
    for part in covered["grants"]:
        grant = grants[part["id"]]
        renewed = seen.renewals.get(grant.id)
        renewals = None if not renewed else canonical_text([list(one) for one in renewed])
        place = (contract.run, grant.position, seen.hashes[grant.position])
        yield (*place, "grant", grant.id, granted_words(grant), canonical_text(part), renewals, *end)


def granted_words(grant: Grant) -> str:
    """Say who may what, how much and until when."""
    words = [f"{grant.principal} may {', '.join(grant.scopes)}"]
    if grant.session is not None:
        words.append(f"in session {grant.session}")
    if grant.budget is not None:
        words.append("for at most " + ", ".join(f"{grant.budget[unit]:f} {unit}" for unit in grant.budget))
    if grant.expires_at is not None:
        words.append(f"until {grant.expires_at:%Y-%m-%dT%H:%M:%SZ}")
    return " ".join(words)
