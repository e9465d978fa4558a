"""Whatever was accepted, superseded, withdrawn and done: questions say what the one fold says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from ledger import Actor, Ledger, Source
from ledger.application.edge import Edge
from ledger.application.source_listing import Reliance, affected
from ledger.errors import LedgerError
from ledger.events import (
    ConstraintAccepted,
    ConstraintWithdrawn,
    EffectIntended,
    EffectStarted,
    Event,
    RunOpened,
)
from ledger.run.contract import Contract
from ledger.run.state import evolve
from ledger.stores.memory import MemoryStore
from ledger.values import Recovery
from projections.asking import ask
from projections.questions.affected import AffectedRuns
from projections.questions.base import Asked, Question, Row
from projections.questions.constraint_history import ConstraintHistory
from projections.questions.constraints_in_force import ConstraintsAtEffect
from projections.questions.relaxations import EffectsAfterChange, Relaxations
from projections.questions.terms_at_effect import TermsAtEffect
from tests.projections.conftest import SetClock
from tests.projections.questions.refund_desk import only

KIM = Actor("human:kim")
IDS, TEXTS = ("a", "b", "c"), ("At most 1", "At most 2")
SOURCE = Source("policy", "refunds")


class Act(NamedTuple):
    """Something that is tried; the ledger may refuse it."""

    what: str
    id: str
    text: str


_WHAT = (
    "accept",
    "accept_from",
    "relaxed",
    "reworded",
    "withdraw",
    "perform",
    "perform",
    "publish",
    "gone",
    "look",
)
ACTS = st.lists(
    st.builds(Act, st.sampled_from(_WHAT), st.sampled_from(IDS), st.sampled_from(TEXTS)),
    min_size=5,
    max_size=25,
)


def ledger_of(clock: SetClock) -> Ledger:
    return Ledger(Edge(MemoryStore(), "default", KIM, clock, pause=lambda attempt: None))


Tell = Callable[..., list[dict[str, Any]]]
"""Asks a question, and returns its rows by column."""


class Inside(Question):
    """Asks others within one look at what is kept, which is what costs."""

    name = "inside"
    uses = ("constraints", "sources", "lives", "effects")
    columns = ()

    def __init__(self, check: Callable[[Tell], None]) -> None:
        self._check = check

    def rows(self, asked: Asked) -> Iterable[Row]:
        def tell(question: Question, **given: Any) -> list[dict[str, Any]]:
            names = [one.name for one in question.columns]
            nothing = dict.fromkeys(one.name for one in question.parameters)
            rows = question.rows(replace(asked, given={**nothing, **given}))
            return [dict(zip(names, row, strict=True)) for row in rows]

        self._check(tell)
        return ()


def happened(acts: Iterable[Act]) -> Ledger:
    """Let some acts happen in one run, each a minute after the other."""
    clock = SetClock()
    ledger = ledger_of(clock)
    run = ledger.open_run("run", "goal")
    source = ledger.source(SOURCE.stream)
    for number, (what, id, text) in enumerate(acts):
        clock.tick(60)
        with suppress(LedgerError):
            match what:
                case "accept":
                    run.accept(id, text, asserted_by="human:kim")
                case "accept_from":
                    run.accept(id, text, asserted_by="human:lee", source=SOURCE)
                case "relaxed" | "reworded":
                    run.accept(id, text, asserted_by="human:kim", change=what)
                case "withdraw":
                    run.withdraw(id, reason="over", by="human:kim")
                case "perform":
                    run.perform("refund", {"order": number}, lambda order: None)
                case "publish":
                    said = {**{one.id: one.text for one in source.state.items}, id: text}
                    source.publish(str(number), said)
                case "gone":
                    source.withdraw(id, reason="over", by="human:kim")
                case "look":
                    run.acknowledge(SOURCE, by="human:kim")
    return ledger


def intents(ledger: Ledger) -> list[tuple[str, int]]:
    return [
        (record.event.key, record.position)
        for record in ledger.log("run")
        if isinstance(record.event, EffectIntended)
    ]


def check_in_force(ledger: Ledger, tell: Tell) -> None:
    """Compare what is told of each effect with the contract that was folded up to the event before it."""
    at: dict[str, list[tuple[int, Contract]]] = {}
    for key, position in intents(ledger):
        at.setdefault(key, []).append((position, ledger.contract("run", at=position - 1)))
    hashes = {record.position: record.hash.hex() for record in ledger.log("run")}
    for key, before in at.items():
        names = ("effect_position", "id", "position", "text", "source", "hash", "accepted_by")
        assert only(tell(ConstraintsAtEffect(), key=key), *names) == [
            (
                *(position, one.id, one.position, one.text, one.source and one.source.stream),
                *(hashes[one.position], one.accepted_by),
            )
            for position, contract in before
            for one in sorted(contract.constraints, key=lambda one: one.position)
        ]
        rows = tell(TermsAtEffect(), key=key)
        told = {(row["effect_position"], row["digest"], row["agrees"]) for row in rows}
        assert told == {(position, contract.terms.digest, 1) for position, contract in before}


def check_changes(ledger: Ledger, tell: Tell) -> None:
    """Compare what is told to have been changed in the run with what differs between two contracts."""
    expected: list[tuple[int, str, str, str | None]] = []
    contracts: list[Contract] = []
    for record in ledger.log("run"):
        contracts.append(evolve(contracts[-1] if contracts else None, record))
    for before, after in pairwise(contracts):
        old = {one.id: one for one in before.constraints}
        new = {one.id: one for one in after.constraints}
        for id, one in old.items():
            now = new.get(id)
            if now is None:
                expected.append((after.position, id, one.text, None))
            elif now.position != one.position and said(now) != said(one):
                expected.append((after.position, id, one.text, now.text))
    rows = [row for row in tell(Relaxations()) if row["stream"] == "run"]
    assert only(rows, "position", "id", "old_text", "new_text") == expected
    starts = [
        (record.position, record.event.key)
        for record in ledger.log("run")
        if isinstance(record.event, EffectStarted | EffectIntended) and is_begun(record.event)
    ]
    for row in rows:
        later = [key for position, key in starts if position > row["position"]]
        told = (row["effects_after"], row["first_effect_after"])
        assert told == (len(set(later)), later[0] if later else None)
    for id in IDS:
        for row in tell(EffectsAfterChange(), run="run", id=id):
            held = {one.id: one.text for one in contracts[row["position"] - 1].constraints}
            assert (row["in_force"], row["text"]) == (int(id in held), held.get(id))


def check_history(ledger: Ledger, tell: Tell) -> None:
    """Compare what is told to have been in force at every position with the contract there."""
    rows = tell(ConstraintHistory(), run="run")
    contract: Contract | None = None
    for record in ledger.log("run"):
        contract = evolve(contract, record)
        at = contract.position
        held = [
            (row["id"], row["position"], row["text"], row["asserted_by"], row["hash"])
            for row in rows
            if row["position"] <= at and (row["ended_position"] is None or at < row["ended_position"])
        ]
        hashes = {one.position: one.hash.hex() for one in ledger.log("run")}
        assert held == [
            (one.id, one.position, one.text, one.asserted_by, hashes[one.position])
            for one in sorted(contract.constraints, key=lambda one: one.position)
        ]
    ends = {record.position: record for record in ledger.log("run")}
    for row in rows:
        if row["ended"] is not None:
            event = ends[row["ended_position"]].event
            how = {"constraint.withdrawn": "withdrawn", "constraint.accepted": "superseded"}
            assert (how[event.name], getattr(event, "reason", None)) == (row["ended"], row["reason"])


def is_begun(event: EffectStarted | EffectIntended) -> bool:
    """Tell whether it is where an attempt began; in these histories no start follows what was imported."""
    return isinstance(event, EffectStarted) or not event.witnessed


def said(one: object) -> object:
    names = ("text", "source", "rule", "valid_from", "valid_until")
    return [getattr(one, name) for name in names]


def check_affected(ledger: Ledger, tell: Tell) -> None:
    """Compare who relies on the source with the listing that reads contracts."""
    told = [row for row in tell(AffectedRuns(), source=SOURCE.stream) if row["status"] == "in_force"]
    assert sorted(only(told, "position", "id", "now", "behind")) == sorted(
        (one.constraint.position, one.constraint.id, one.now, int(not one.looked)) for one in listed(ledger)
    )


@given(ACTS)
def test_what_is_told_of_decided_runs_is_what_the_fold_says(acts: list[Act]) -> None:
    ledger = happened(acts)

    def check(tell: Tell) -> None:
        check_in_force(ledger, tell)
        check_changes(ledger, tell)
        check_history(ledger, tell)
        check_affected(ledger, tell)

    ask(ledger, Inside(check))


def listed(ledger: Ledger) -> Sequence[Reliance]:
    with suppress(LedgerError):
        return affected(ledger, SOURCE.stream).runs
    return ()


def accepted(id: str, text: str) -> Event:
    return ConstraintAccepted(accepted_by="agent:a", asserted_by="human:kim", id=id, text=text)


def withdrawn(id: str) -> Event:
    return ConstraintWithdrawn(by="human:kim", id=id, reason="over")


def intended(key: str) -> Event:
    return EffectIntended(
        act="cd" * 32,
        args="{}",
        key=key * 64,
        key_scheme="v1",
        recovery=Recovery.AT_MOST_ONCE,
        tool="refund",
        witnessed=False,
    )


TOLD = st.one_of(
    st.builds(accepted, st.sampled_from(IDS), st.sampled_from(TEXTS)),
    st.builds(withdrawn, st.sampled_from(IDS)),
    st.builds(intended, st.sampled_from("123")),
)


@given(st.lists(TOLD, min_size=3, max_size=20))
def test_what_is_told_of_imported_runs_is_what_the_fold_says(events: list[Event]) -> None:
    """Imports may state once more what is in force, withdraw what is not, and use a key again and again."""
    ledger = ledger_of(SetClock())
    ledger.import_events("run", [RunOpened(goal="goal"), *events], expected=0)

    def check(tell: Tell) -> None:
        check_in_force(ledger, tell)
        check_changes(ledger, tell)
        check_history(ledger, tell)

    ask(ledger, Inside(check))
