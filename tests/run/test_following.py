"""How far a run has followed its sources, and what an acknowledgement can and cannot do."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given as draws
from hypothesis import strategies as st

from ledger import events as e
from ledger.commands import AcknowledgeRevision
from ledger.run import following
from ledger.run.contract import Contract
from ledger.testing import History
from ledger.values import Source
from tests.run import examples as x
from tests.run.test_constraints import OPENED, REFUNDS, REWORDED, WITHDRAWN, guards, publishing

# --- how far a source was followed -------------------------------------------------------------


def seen(history: History[Contract | None]) -> list[tuple[str, int, str | None, int]]:
    return [(one.source, one.position, one.revision, one.stated_at) for one in history.contract.sources]


def from_source(id: str, at: int, name: str = "refunds", **more: Any) -> e.ConstraintAccepted:
    return x.accepted(
        id, source=Source("policy", name, revision=f"r{at}"), source_position=at, published=True, **more
    )


def test_a_later_acceptance_does_not_speak_for_an_earlier_one() -> None:
    assert seen(OPENED.also(from_source("a", 3), from_source("b", 7))) == [("policy:refunds", 3, "r3", 2)]


def test_superseding_the_oldest_moves_on_to_the_next() -> None:
    history = OPENED.also(from_source("a", 3), from_source("b", 7))
    assert seen(history.also(from_source("a", 9, supersedes=2))) == [("policy:refunds", 7, "r7", 3)]


def test_withdrawing_the_oldest_moves_on_to_the_next_and_the_last_takes_the_source_along() -> None:
    history = OPENED.also(from_source("a", 3), from_source("b", 7), from_source("c", 1, "mail"))
    gone = history.also(e.ConstraintWithdrawn(by="human:kim", id="a", reason="r"))
    assert seen(gone) == [("policy:refunds", 7, "r7", 3), ("policy:mail", 1, "r1", 4)]
    assert seen(gone.also(e.ConstraintWithdrawn(by="human:kim", id="b", reason="r"))) == [
        ("policy:mail", 1, "r1", 4)
    ]


def test_an_acknowledgement_speaks_for_all_that_are_in_force_then_and_for_none_accepted_later() -> None:
    acknowledged = e.RevisionAcknowledged(
        by="human:kim", source=Source("policy", "refunds", revision="r8"), source_position=8
    )
    history = OPENED.also(from_source("a", 3), from_source("b", 7), acknowledged)
    assert seen(history) == [("policy:refunds", 8, "r8", 4)]
    assert seen(history.also(from_source("c", 9))) == [("policy:refunds", 8, "r8", 4)]
    assert seen(history.also(x.accepted("d", source=REFUNDS))) == [("policy:refunds", 0, None, 5)]


def test_sources_do_not_pile_up_when_one_id_moves_between_them() -> None:
    history = OPENED
    for number in range(9):
        history = history.also(from_source("a", 1, f"s-{number}"))
    assert [one.source for one in history.contract.sources] == ["policy:s-8"]


class Look(NamedTuple):
    """When a constraint was last compared with its source."""

    source: str
    position: int
    revision: str
    stated_at: int


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["accept", "accept", "acknowledge", "move", "withdraw"]), *[st.integers(0, 2)] * 2
    ),
    max_size=14,
)


@draws(steps=STEPS)
def test_each_source_was_followed_as_far_as_for_the_constraint_looked_at_longest_ago(
    steps: list[tuple[str, int, int]],
) -> None:
    history, looks = OPENED, dict[str, Look]()
    at = [1, 1, 1]
    for kind, one, other in steps:
        id, name, place = f"c-{one}", f"s-{other}", at[other]
        look = Look(f"policy:{name}", place, f"r{place}", history.position + 1)
        if kind == "accept":
            history = history.also(from_source(id, place, name))
            looks = {**looks, id: look}
        elif kind == "acknowledge":
            source = Source("policy", name, revision=f"r{place}")
            history = history.also(
                e.RevisionAcknowledged(by="human:kim", source=source, source_position=place)
            )
            looks = {
                id: look if old.source == look.source and old.position < place else old
                for id, old in looks.items()
            }
        elif kind == "move":
            at[other] += 1
        else:
            history = history.also(e.ConstraintWithdrawn(by="human:kim", id=id, reason="r"))
            looks.pop(id, None)
        followed = {
            source: min((look for look in looks.values() if look.source == source), key=lambda look: look[1])
            for source in {look.source: None for look in looks.values()}
        }
        assert seen(history) == list(followed.values())


def test_accepting_one_more_looks_at_none_of_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    history = OPENED.also(from_source("a", 1), from_source("b", 1, "mail"))
    looked: list[Any] = []
    monkeypatch.setattr(following, "_least", lambda *given: looked.append(given))
    more = history.also(
        from_source("c", 1), from_source("d", 2), from_source("e", 1, "call"), x.accepted("f")
    )
    assert looked == []
    assert seen(more) == [*seen(history), ("policy:call", 1, "r1", 6)]


def test_who_lags_behind_an_acknowledgement_speaks_for_the_others_once_more() -> None:
    acknowledged = e.RevisionAcknowledged(
        by="human:kim", source=Source("policy", "refunds", revision="r8"), source_position=8
    )
    history = OPENED.also(from_source("a", 3), from_source("b", 7), acknowledged, from_source("c", 5))
    assert seen(history) == [("policy:refunds", 5, "r5", 5)]
    assert seen(history.also(x.accepted("d"))) == [("policy:refunds", 5, "r5", 5)]


# --- acknowledging -----------------------------------------------------------------------------

FOLLOWING = OPENED.also(x.accepted(source=x.POLICY, source_position=1, published=True))
ACKNOWLEDGE = AcknowledgeRevision(by="human:kim", reason="read it", source=REFUNDS)


def test_a_new_revision_is_acknowledged_under_a_guard() -> None:
    decided = FOLLOWING.beside(publishing(e.SourceRevised(revision="5"))).when(ACKNOWLEDGE)
    history = decided.then(
        e.RevisionAcknowledged(
            by="human:kim",
            reason="read it",
            source=Source("policy", "refunds", revision="5"),
            source_position=2,
        )
    )
    assert guards(decided) == {"policy:refunds": 2}
    assert seen(history) == [("policy:refunds", 2, "5", 3)]
    history.when(ACKNOWLEDGE).then_stands_at(3)


def test_where_the_source_has_not_moved_there_is_nothing_to_acknowledge() -> None:
    FOLLOWING.also(e.CursorMoved(node="a")).beside(publishing()).when(ACKNOWLEDGE).then_stands_at(2)


def test_a_source_that_no_constraint_comes_from_or_that_nobody_opened_cannot_be_acknowledged() -> None:
    OPENED.also(x.accepted()).beside(publishing()).when(ACKNOWLEDGE).then_refused("not_open")
    OPENED.also(x.accepted(source=x.POLICY, source_position=0)).when(ACKNOWLEDGE).then_refused("not_open")


def test_who_read_another_revision_than_the_present_one_is_told() -> None:
    moved = FOLLOWING.beside(publishing(e.SourceRevised(revision="5")))
    decided = moved.when(ACKNOWLEDGE.model_copy(update={"source": x.POLICY}))
    decided.then_refused("contract_changed", position=None)
    assert decided.decision.evidence == {  # type: ignore[union-attr]
        "source": "policy:refunds",
        "revision": "5",
        "source_position": 2,
    }


def test_a_withdrawal_cannot_be_acknowledged_away() -> None:
    decided = FOLLOWING.beside(publishing(WITHDRAWN)).when(ACKNOWLEDGE)
    decided.then_refused("contract_changed", position=2)
    assert decided.decision.evidence == {  # type: ignore[union-attr]
        "source": "policy:refunds",
        "id": "limit-100",
        "source_position": 2,
        "change": "withdrawn",
    }


def test_only_constraints_of_that_source_stand_in_the_way_of_acknowledging_it() -> None:
    others = FOLLOWING.also(
        x.accepted("free"), x.accepted("kind", source=Source("policy", "mail"), published=True)
    )
    moved = publishing(e.ConstraintWithdrawnAtSource(by="human:kim", id="kind", reason="replaced"))
    others.beside(moved).when(ACKNOWLEDGE).then(
        e.RevisionAcknowledged(by="human:kim", reason="read it", source=x.POLICY, source_position=2)
    )


def test_a_person_may_let_old_words_stand_and_an_agent_may_not() -> None:
    moved = FOLLOWING.beside(publishing(REWORDED))
    decided = moved.by("agent:refunds").when(ACKNOWLEDGE)
    decided.then_refused("not_for_agents", position=2)
    assert decided.decision.evidence == {  # type: ignore[union-attr]
        "source": "policy:refunds",
        "id": "limit-100",
        "source_position": 2,
        "change": "reworded",
    }
    event = e.RevisionAcknowledged(
        by="human:kim", reason="read it", source=Source("policy", "refunds", revision="5"), source_position=2
    )
    moved.by("human:kim").when(ACKNOWLEDGE).then(event)
    untouched = FOLLOWING.beside(publishing(e.SourceRevised(revision="5")))
    untouched.by("agent:refunds").when(ACKNOWLEDGE).then(event)


def test_what_an_agent_tightened_or_only_claimed_it_cannot_acknowledge_away_either() -> None:
    claimed = OPENED.also(x.accepted(source=x.POLICY, source_position=1, published=False, rule=x.AT_MOST_100))
    claimed.beside(publishing(REWORDED)).by("agent:refunds").when(ACKNOWLEDGE).then_refused(
        "not_for_agents", position=2
    )
    elsewhere = publishing(e.SourceRevised(revision="5"))
    event = e.RevisionAcknowledged(
        by="human:kim", reason="read it", source=Source("policy", "refunds", revision="5"), source_position=2
    )
    claimed.beside(elsewhere).by("agent:refunds").when(ACKNOWLEDGE).then(event)


def test_what_a_person_let_stand_is_no_bar_to_an_agent_when_the_source_moves_on() -> None:
    let_stand = e.RevisionAcknowledged(
        by="human:kim", source=Source("policy", "refunds", revision="5"), source_position=2
    )
    moved = publishing(REWORDED, e.SourceRevised(revision="6"))
    FOLLOWING.also(let_stand).beside(moved).by("agent:refunds").when(ACKNOWLEDGE).then(
        e.RevisionAcknowledged(
            by="human:kim",
            reason="read it",
            source=Source("policy", "refunds", revision="6"),
            source_position=3,
        )
    )


def test_an_acknowledgement_that_says_nothing_new_leaves_what_was_seen() -> None:
    def acknowledged(place: int) -> e.RevisionAcknowledged:
        source = Source("policy", "refunds", revision=f"r{place}")
        return e.RevisionAcknowledged(by="human:kim", source=source, source_position=place)

    once = OPENED.also(from_source("a", 1), acknowledged(5))
    assert seen(once) == [("policy:refunds", 5, "r5", 3)]
    assert seen(once.also(acknowledged(5))) == seen(once.also(acknowledged(4))) == seen(once)
