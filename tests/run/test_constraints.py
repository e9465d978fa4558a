"""Constraints: accepted from somebody, superseded by a named change, bound to where their source stands."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ledger import events as e
from ledger.commands import AcceptConstraint, WithdrawConstraint
from ledger.run.contract import Contract
from ledger.run.decision import Admitted
from ledger.run.sources import SourceState
from ledger.testing import START, Decided, History, given, given_source
from ledger.values import Actor, Change, Published, Rule, Source
from tests.run import examples as x

REFUNDS = Source("policy", "refunds")
OPENED = given(x.opened())
WITHDRAWN = e.ConstraintWithdrawnAtSource(by="human:kim", id="limit-100", reason="replaced")


def publishing(*events: e.Event) -> History[SourceState]:
    """Build the source at revision 4, which publishes `limit-100` and `kind`, with more after it."""
    both = (Published(id="limit-100", text=x.LIMIT), Published(id="kind", text="Be kind", rule=x.AT_MOST_100))
    return given_source("policy:refunds", x.published(*both), *events)


def guards(decided: Decided[Any]) -> dict[str, int]:
    assert isinstance(decided.decision, Admitted)
    return dict(decided.decision.guards)


def ids(history: History[Contract | None]) -> list[str]:
    return [item.id for item in history.contract.constraints]


# --- without a source --------------------------------------------------------------------------


def test_an_acceptance_names_who_asserted_and_who_accepted() -> None:
    command = x.accept(
        accepted_by="human:lee",
        asserted_at=START,
        rule=x.AT_MOST_100,
        valid_from=START,
        valid_until=START + x.HOUR,
    )
    event = x.accepted(
        accepted_by="human:lee",
        asserted_at=START,
        rule=x.AT_MOST_100,
        valid_from=START,
        valid_until=START + x.HOUR,
    )
    (item,) = OPENED.when(command).then(event).contract.constraints
    assert (item.asserted_by, item.accepted_by, item.position, item.accepted_at) == (
        "human:kim",
        "human:lee",
        2,
        START,
    )


def test_who_accepts_is_the_actor_unless_somebody_else_is_named() -> None:
    OPENED.by("agent:refunds").when(x.accept()).then(x.accepted(accepted_by="agent:refunds"))


def test_it_is_in_force_within_its_valid_time_only() -> None:
    contract = OPENED.also(x.accepted(valid_from=START + x.HOUR, valid_until=START + 2 * x.HOUR)).contract
    for moment, count in [(0, 0), (1, 1), (1.99, 1), (2, 0)]:
        assert len(contract.in_force(START + moment * x.HOUR)) == count


def test_an_equal_acceptance_stands_and_another_under_its_id_is_refused() -> None:
    history = OPENED.also(x.accepted())
    history.when(x.accept()).then_stands_at(2)
    for other in (
        x.accept(text="Never refund more than 50 EUR"),
        x.accept(asserted_by="human:lee"),
        x.accept(rule=x.AT_MOST_100),
        x.accept(valid_until=START),
        x.accept(accepted_by="human:lee"),
        x.accept(source=REFUNDS),
    ):
        history.when(other).then_refused("id_in_use", position=2)


def test_another_actor_who_names_nobody_else_repeats_what_was_accepted() -> None:
    history = OPENED.also(x.accepted()).by("service:elsewhere")
    history.when(x.accept()).then_stands_at(2)
    history.when(x.accept(accepted_by="service:elsewhere")).then_refused("id_in_use", position=2)


# --- superseding and withdrawing ---------------------------------------------------------------


@pytest.mark.parametrize("change", list(Change))
def test_a_named_change_supersedes_in_place(change: Change) -> None:
    history = OPENED.also(x.accepted(), x.accepted("kind", text="Be kind"))
    command = x.accept(text="Never refund more than 50 EUR", change=change)
    event = x.accepted(text="Never refund more than 50 EUR", change=change, supersedes=2)
    history = history.when(command).then(event)
    assert ids(history) == ["limit-100", "kind"]
    assert history.contract.constraints[0].position == 4
    history.when(command).then_stands_at(4)


def test_what_is_not_in_force_cannot_be_superseded() -> None:
    OPENED.when(x.accept(change=Change.TIGHTENED)).then_refused("not_open")


STRICT = Rule(deny=("mail",), needs_approval=True)


@pytest.mark.parametrize(
    "laxer",
    [
        {"rule": None},
        {"rule": Rule(deny=("mail",))},
        {"rule": STRICT, "valid_from": START + x.HOUR},
        {"rule": STRICT, "valid_until": START + x.HOUR},
    ],
)
@pytest.mark.parametrize("change", [Change.TIGHTENED, Change.REWORDED])
def test_an_agent_cannot_relax_by_calling_it_something_else(change: Change, laxer: dict[str, Any]) -> None:
    history = OPENED.also(x.accepted(rule=STRICT))
    command = x.accept(accepted_by="service:test", change=change, **laxer)
    history.by("agent:refunds").when(command).then_refused("not_for_agents", position=2)
    history.by(Actor("service:api", on_behalf_of=("agent:refunds",))).when(command).then_refused(
        "not_for_agents"
    )
    history.by("human:kim").when(command).then(x.accepted(change=change, supersedes=2, **laxer))


AGENT, PERSON, SERVICE = Actor("agent:refunds"), Actor("human:kim"), Actor("service:policy")
FOR_AN_AGENT = Actor("service:api", on_behalf_of=("agent:refunds", "human:kim"))
FOR_A_PERSON = Actor("service:api", on_behalf_of=("human:kim", "agent:refunds"))
OTHERWISE: list[dict[str, Any]] = [
    {"source": None},
    {"source": None, "text": "Refund as you like"},
    {"source": Source("policy", "mail")},
    {"source": Source("policy", "refunds", item="kind")},
    {"source": REFUNDS, "text": "Refund as you like"},
]


@pytest.mark.parametrize("otherwise", OTHERWISE)
@pytest.mark.parametrize("change", [Change.TIGHTENED, Change.REWORDED])
@pytest.mark.parametrize(
    ("actor", "may"),
    [(AGENT, False), (FOR_AN_AGENT, False), (PERSON, True), (SERVICE, True), (FOR_A_PERSON, True)],
)
def test_an_agent_neither_takes_a_constraint_from_its_source_nor_words_it_anew(
    actor: Actor, may: bool, change: Change, otherwise: dict[str, Any]
) -> None:
    accepted = x.accepted(source=x.POLICY, source_position=1, published=True)
    history = OPENED.also(accepted).beside(publishing()).by(actor)
    decided = history.when(x.accept(change=change, **otherwise))
    if may:
        (event,) = decided.decision.events
        assert isinstance(event, e.ConstraintAccepted)
        assert (event.change, event.supersedes) == (change, 2)
    else:
        decided.then_refused("not_for_agents", position=2)


def test_an_agent_cannot_word_anew_what_somebody_asserted_without_a_source() -> None:
    history = OPENED.also(x.accepted()).beside(publishing()).by("agent:refunds")
    reworded = x.accept(text="Refund as you like", change=Change.REWORDED)
    history.when(reworded).then_refused("not_for_agents", position=2)
    history.when(x.accept(source=REFUNDS, change=Change.REWORDED)).then_refused("not_for_agents", position=2)


def test_an_agent_accepts_the_new_words_of_a_source_and_never_the_old_ones_again() -> None:
    accepted = x.accepted(source=x.POLICY, source_position=1, published=True)
    moved = OPENED.also(accepted).beside(publishing(REWORDED)).by("agent:refunds")
    again = x.accept(source=REFUNDS, change=Change.REWORDED)
    decided = moved.when(again)
    decided.then_refused("not_for_agents", position=2)
    assert decided.decision.evidence == {  # type: ignore[union-attr]
        "source": "policy:refunds",
        "id": "limit-100",
        "source_position": 2,
        "change": "reworded",
    }
    stricter = x.accept(rule=x.AT_MOST_100, source=REFUNDS, change=Change.TIGHTENED)
    moved.when(stricter).then_refused("not_for_agents", position=2)
    new = x.accept(text="Never more than 50 EUR", source=REFUNDS, change=Change.REWORDED)
    taken = x.accepted(
        accepted_by="agent:refunds",
        change=Change.REWORDED,
        published=True,
        source=Source("policy", "refunds", revision="5"),
        source_position=2,
        supersedes=2,
        text="Never more than 50 EUR",
    )
    moved.when(new).then(taken)
    moved.by("human:kim").when(again).then(
        x.accepted(
            accepted_by="human:kim",
            change=Change.REWORDED,
            published=False,
            source=Source("policy", "refunds", revision="5"),
            source_position=2,
            supersedes=2,
        )
    )


def test_an_agent_that_tightened_published_words_is_still_held_to_what_the_source_says_next() -> None:
    tight = x.accept(rule=x.AT_MOST_100, source=REFUNDS, change=Change.TIGHTENED)
    published = OPENED.also(x.accepted(source=x.POLICY, source_position=1, published=True))
    event = x.accepted(
        accepted_by="agent:refunds",
        change=Change.TIGHTENED,
        published=False,
        rule=x.AT_MOST_100,
        source=x.POLICY,
        source_position=1,
        supersedes=2,
    )
    tightened = published.beside(publishing()).by("agent:refunds").when(tight).then(event)
    again = x.accept(
        rule=Rule(require=x.AT_MOST_100.require, deny=("mail",)), source=REFUNDS, change=Change.TIGHTENED
    )
    tightened.beside(publishing(REWORDED)).when(again).then_refused("not_for_agents", position=3)


def test_an_agent_may_tighten() -> None:
    tight = Rule(deny=("mail", "call"), needs_approval=True)
    history = OPENED.also(x.accepted(rule=STRICT, accepted_by="agent:refunds")).by("agent:refunds")
    history.when(x.accept(rule=tight, change=Change.TIGHTENED)).then(
        x.accepted(rule=tight, change=Change.TIGHTENED, supersedes=2, accepted_by="agent:refunds")
    )


def test_a_withdrawn_constraint_is_no_longer_in_force() -> None:
    command = WithdrawConstraint(by="human:kim", id="limit-100", reason="obsolete")
    history = (
        OPENED.also(x.accepted())
        .when(command)
        .then(e.ConstraintWithdrawn(by="human:kim", id="limit-100", reason="obsolete"))
    )
    assert ids(history) == []
    history.when(command).then_refused("not_open")
    history.when(x.accept()).then(x.accepted())


# --- from a source -----------------------------------------------------------------------------


def test_what_the_source_publishes_byte_for_byte_is_marked_so_and_guarded() -> None:
    decided = OPENED.beside(publishing()).when(x.accept(source=REFUNDS))
    decided.then(x.accepted(source=x.POLICY, source_position=1, published=True))
    assert guards(decided) == {"policy:refunds": 1}


@pytest.mark.parametrize(
    "claim",
    [
        {"text": "Never refund more than 100 EUR."},
        {"rule": x.AT_MOST_100},
        {"id": "limit-50"},
        {"source": Source("policy", "refunds", item="kind")},
    ],
)
def test_what_the_source_says_otherwise_or_not_at_all_is_marked_as_claimed(claim: dict[str, Any]) -> None:
    decided = OPENED.beside(publishing()).when(x.accept(**{"source": REFUNDS, **claim}))
    (event,) = decided.decision.events
    assert isinstance(event, e.ConstraintAccepted)
    assert event.published is False
    assert guards(decided) == {"policy:refunds": 1}


def test_an_item_may_be_accepted_under_another_id() -> None:
    decided = OPENED.beside(publishing()).when(
        x.accept("ours", source=Source("policy", "refunds", item="limit-100"))
    )
    (event,) = decided.decision.events
    assert isinstance(event, e.ConstraintAccepted)
    assert event.published is True


def test_a_source_that_nobody_opened_is_claimed_at_position_0_and_guarded_there() -> None:
    decided = OPENED.when(x.accept(source=x.POLICY))
    decided.then(x.accepted(source=x.POLICY, source_position=0, published=False))
    assert guards(decided) == {"policy:refunds": 0}


def test_an_acceptance_without_a_source_needs_no_guard() -> None:
    decided = OPENED.beside(publishing()).when(x.accept())
    decided.then(x.accepted())
    assert guards(decided) == {}


@pytest.mark.parametrize(
    "withdrawal",
    [WITHDRAWN, e.SourceRevised(revision="5", withdrawn=("limit-100",))],
)
def test_what_the_source_withdrew_is_refused_even_as_a_repeat(withdrawal: e.Event) -> None:
    moved = publishing(withdrawal)
    accepted = x.accepted(source=x.POLICY, source_position=1, published=True)
    for history in (OPENED, OPENED.also(accepted)):
        decided = history.beside(moved).when(x.accept(source=REFUNDS))
        decided.then_refused("contract_changed")
        assert decided.decision.evidence == {  # type: ignore[union-attr]
            "source": "policy:refunds",
            "id": "limit-100",
            "source_position": 2,
            "change": "withdrawn",
        }


def test_what_is_published_again_after_a_withdrawal_is_accepted_again() -> None:
    again = publishing(WITHDRAWN, x.published(Published(id="limit-100", text=x.LIMIT), revision="5"))
    OPENED.beside(again).when(x.accept(source=REFUNDS)).then(
        x.accepted(source=Source("policy", "refunds", revision="5"), source_position=3, published=True)
    )


REWORDED = e.SourceRevised(revision="5", reworded=(Published(id="limit-100", text="Never more than 50 EUR"),))


def test_who_names_a_revision_that_is_behind_is_told_when_the_words_changed() -> None:
    moved = OPENED.beside(publishing(REWORDED))
    decided = moved.when(x.accept(source=x.POLICY))
    decided.then_refused("contract_changed")
    assert decided.decision.evidence == {  # type: ignore[union-attr]
        "source": "policy:refunds",
        "id": "limit-100",
        "source_position": 2,
        "revision": "5",
        "change": "reworded",
    }


def accept_50(revision: str | None) -> AcceptConstraint:
    return x.accept(text="Never more than 50 EUR", source=Source("policy", "refunds", revision=revision))


@pytest.mark.parametrize("revision", ["4", "3", "6-draft"])
def test_a_revision_that_never_said_these_words_is_not_recorded_as_their_source(revision: str) -> None:
    moved = publishing(REWORDED, e.SourceRevised(revision="6"))
    decided = OPENED.beside(moved).when(accept_50(revision))
    decided.then_refused("contract_changed")
    assert decided.decision.evidence == {  # type: ignore[union-attr]
        "source": "policy:refunds",
        "id": "limit-100",
        "source_position": 3,
        "revision": "5",
        "change": "revision",
    }


@pytest.mark.parametrize(("named", "recorded"), [("5", "5"), ("6", "6"), (None, "6")])
def test_every_revision_that_says_these_words_may_be_named(named: str | None, recorded: str) -> None:
    moved = publishing(REWORDED, e.SourceRevised(revision="6"))
    (event,) = OPENED.beside(moved).when(accept_50(named)).decision.events
    assert isinstance(event, e.ConstraintAccepted)
    assert event.source is not None
    assert (event.source.revision, event.published, event.source_position) == (recorded, True, 3)


def test_after_a_guard_moved_an_untouched_constraint_goes_on_and_a_reworded_one_does_not() -> None:
    first = x.accepted(source=x.POLICY, source_position=1, published=True)
    same = OPENED.beside(publishing(e.SourceRevised(revision="5")))
    same.when(x.accept(source=REFUNDS), earlier=[first]).then(
        x.accepted(source=Source("policy", "refunds", revision="5"), source_position=2, published=True)
    )
    moved = OPENED.beside(publishing(REWORDED))
    moved.when(x.accept(source=REFUNDS), earlier=[first]).then_refused("contract_changed")
    claimed = x.accepted(source=x.POLICY, source_position=1, published=False)
    moved.when(x.accept(source=REFUNDS), earlier=[claimed]).then(
        x.accepted(source=Source("policy", "refunds", revision="5"), source_position=2, published=False)
    )


def test_a_source_that_moved_on_without_touching_it_leaves_an_acceptance_what_it_was() -> None:
    history = OPENED.also(x.accepted(source=x.POLICY, source_position=1, published=True))
    history.beside(publishing(e.SourceRevised(revision="5"))).when(x.accept(source=REFUNDS)).then_stands_at(2)


def test_what_was_claimed_stays_claimed_until_somebody_names_the_change() -> None:
    claimed = OPENED.also(x.accepted(source=REFUNDS, source_position=0, published=False)).beside(publishing())
    claimed.when(x.accept(source=REFUNDS)).then_stands_at(2)
    command = x.accept(source=REFUNDS, change=Change.REWORDED)
    history = claimed.when(command).then(
        x.accepted(source=x.POLICY, source_position=1, published=True, change=Change.REWORDED, supersedes=2)
    )
    history.when(command).then_stands_at(3)


def test_valid_time_of_a_command_must_not_end_before_it_begins() -> None:
    with pytest.raises(ValueError, match="valid_until"):
        x.accept(valid_from=START, valid_until=START - timedelta(seconds=1))
