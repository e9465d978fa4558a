"""Sources publish whole revisions; what is left out must be confirmed, and owners alone may publish."""

from __future__ import annotations

import pytest

from ledger import events as e
from ledger.commands import MoveCursor, OpenSource, PublishRevision, WithdrawAtSource
from ledger.run.decision import Given
from ledger.run.sources import SourceState, decide_source
from ledger.testing import START, given, given_source
from ledger.values import Actor, Published
from tests.run import examples as x

LIMIT = Published(id="limit-100", text=x.LIMIT)
KIND = Published(id="kind", text="Be kind", rule=x.AT_MOST_100)
UNOPENED = given_source("policy:refunds")
FOUR = given_source("policy:refunds", x.published(LIMIT, KIND))


def publish(*constraints: Published, revision: str = "5", **more: object) -> PublishRevision:
    return PublishRevision.model_validate({"constraints": constraints, "revision": revision, **more})


def withdraw(id: str = "limit-100", by: str = "human:kim", reason: str = "replaced") -> WithdrawAtSource:
    return WithdrawAtSource(by=by, id=id, reason=reason)


# --- opening and owners ------------------------------------------------------------------------


def test_a_source_is_opened_once_with_its_owners() -> None:
    history = UNOPENED.when(OpenSource(owners=("human:kim",))).then(
        e.SourceOpened(owners=("human:kim",), source="policy:refunds")
    )
    assert (history.state.owners, history.state.position) == (("human:kim",), 1)
    history.when(OpenSource(owners=("human:kim",))).then_stands_at(1)
    history.when(OpenSource()).then_refused("id_in_use", position=1)


OWNED = given_source(
    "policy:refunds", e.SourceOpened(owners=("human:kim", "human:lee"), source="policy:refunds")
)
COMMANDS = [publish(LIMIT), withdraw(by="human:pat")]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_only_owners_publish_and_withdraw(command: PublishRevision | WithdrawAtSource) -> None:
    owned = OWNED.also(x.published(LIMIT, revision="4"))
    decided = owned.when(command)
    decided.then_refused("authority_exceeded", position=1)
    assert decided.decision.evidence == {  # type: ignore[union-attr]
        "source": "policy:refunds",
        "owners": ["human:kim", "human:lee"],
        "who": [getattr(command, "by", None) or "service:test"],
    }
    claimed = command.model_copy(update={"by": "human:kim"})
    assert len(owned.when(claimed).after.records) == 3
    assert len(owned.by("human:lee").when(publish(LIMIT)).after.records) == 3


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_what_an_authenticated_actor_claims_does_not_make_it_an_owner(
    command: PublishRevision | WithdrawAtSource,
) -> None:
    owned = OWNED.also(x.published(LIMIT, revision="4"))
    claimed = command.model_copy(update={"by": "human:kim"})
    owned.by(Actor("human:pat", authenticated_by="oidc")).when(claimed).then_refused("authority_exceeded")
    for actor in (
        Actor("human:kim", authenticated_by="oidc"),
        Actor("service:api", authenticated_by="mtls", on_behalf_of=("human:lee",)),
    ):
        assert len(owned.by(actor).when(claimed).after.records) == 3


def test_a_source_without_owners_takes_revisions_from_everybody_but_agents() -> None:
    UNOPENED.when(publish(LIMIT)).then(
        e.SourceOpened(source="policy:refunds"), x.published(LIMIT, revision="5")
    )
    UNOPENED.by("agent:refunds").when(publish(LIMIT)).then_refused("not_for_agents")


# --- publishing --------------------------------------------------------------------------------


def test_a_revision_states_what_is_added_reworded_and_withdrawn() -> None:
    reworded = Published(id="limit-100", text="Never refund more than 50 EUR")
    added = Published(id="fast", text="Be fast")
    command = publish(added, reworded, by="human:kim", reason="review", withdraw=("kind",))
    history = FOUR.when(command).then(
        e.SourceRevised(
            added=(added,),
            by="human:kim",
            reason="review",
            revision="5",
            reworded=(reworded,),
            withdrawn=("kind",),
        )
    )
    state = history.state
    assert [(item.id, item.position, item.revision) for item in state.items] == [
        ("limit-100", 2, "5"),
        ("fast", 2, "5"),
    ]
    assert [(gone.id, gone.position, gone.by, gone.reason) for gone in state.withdrawn] == [
        ("kind", 2, "human:kim", "review")
    ]
    assert (state.revision, state.position) == ("5", 2)


def test_a_changed_rule_is_a_rewording() -> None:
    plain = Published(id="kind", text="Be kind")
    FOUR.when(publish(LIMIT, plain)).then(e.SourceRevised(revision="5", reworded=(plain,)))


def test_untouched_items_keep_their_place() -> None:
    state = FOUR.when(publish(LIMIT, KIND)).then(e.SourceRevised(revision="5")).state
    assert [(item.id, item.position, item.revision) for item in state.items] == [
        ("limit-100", 1, "4"),
        ("kind", 1, "4"),
    ]


def test_what_is_left_out_must_be_confirmed_by_name() -> None:
    decided = FOUR.when(publish(LIMIT))
    decided.then_refused("contract_changed", position=1)
    assert decided.decision.evidence == {"source": "policy:refunds", "omitted": ["kind"]}  # type: ignore[union-attr]
    FOUR.when(publish(LIMIT, withdraw=("kind",))).then(e.SourceRevised(revision="5", withdrawn=("kind",)))


def test_what_is_not_left_out_cannot_be_confirmed() -> None:
    FOUR.when(publish(LIMIT, KIND, withdraw=("kind",))).then_refused("not_open")
    FOUR.when(publish(LIMIT, withdraw=("kind", "fast"))).then_refused("not_open")


def test_the_same_revision_again_stands_also_when_it_withdrew_something() -> None:
    history = FOUR.when(publish(LIMIT, withdraw=("kind",))).after
    history.when(publish(LIMIT, withdraw=("kind",))).then_stands_at(2)
    history.when(publish(LIMIT)).then_stands_at(2)


@pytest.mark.parametrize(
    "other",
    [
        publish(LIMIT, revision="4"),
        publish(LIMIT, KIND, Published(id="fast", text="Be fast"), revision="4"),
        publish(LIMIT, Published(id="kind", text="Be kinder"), revision="4"),
        publish(LIMIT, KIND, revision="4", withdraw=("fast",)),
    ],
)
def test_a_revision_is_published_with_one_content(other: PublishRevision) -> None:
    FOUR.when(other).then_refused("id_in_use", position=1)


def test_a_revision_names_every_constraint_once() -> None:
    decided = FOUR.when(publish(KIND, LIMIT, LIMIT))
    decided.then_refused("id_in_use", position=None)
    assert decided.decision.evidence == {"kind": "constraint", "id": "limit-100"}  # type: ignore[union-attr]


def test_an_empty_revision_withdraws_all_once_confirmed() -> None:
    history = FOUR.when(publish(withdraw=("limit-100", "kind"))).after
    assert (history.state.items, len(history.state.withdrawn)) == ((), 2)


# --- withdrawing -------------------------------------------------------------------------------


def test_a_withdrawal_is_one_event_and_told_again_a_repeat() -> None:
    history = FOUR.when(withdraw()).then(
        e.ConstraintWithdrawnAtSource(by="human:kim", id="limit-100", reason="replaced")
    )
    assert [item.id for item in history.state.items] == ["kind"]
    gone = history.state.gone("limit-100")
    assert gone is not None
    assert (gone.position, gone.by, gone.reason, gone.at) == (2, "human:kim", "replaced", START)
    history.when(withdraw()).then_stands_at(2)


def test_what_is_not_published_cannot_be_withdrawn() -> None:
    FOUR.when(withdraw("fast")).then_refused("not_open")
    UNOPENED.when(withdraw()).then_refused("not_open")


def test_what_was_withdrawn_may_be_published_again_under_a_new_revision() -> None:
    history = FOUR.when(withdraw()).after
    history.when(publish(LIMIT, KIND, revision="4")).then_refused("id_in_use", position=2)
    again = history.when(publish(LIMIT, KIND)).then(x.published(LIMIT, revision="5"))
    assert again.state.gone("limit-100") is None
    assert again.state.item("limit-100") is not None
    again.when(withdraw()).then(
        e.ConstraintWithdrawnAtSource(by="human:kim", id="limit-100", reason="replaced")
    )


def test_a_revision_without_a_reason_gives_one_for_its_withdrawals() -> None:
    gone = FOUR.when(publish(LIMIT, withdraw=("kind",))).after.state.gone("kind")
    assert gone is not None
    assert gone.reason == "not in revision 5"


# --- what is not for sources -------------------------------------------------------------------


def test_commands_of_runs_do_not_reach_a_source() -> None:
    asked = Given(actor=Actor("service:test"), now=START, run="$source:policy:refunds")
    with pytest.raises(TypeError, match=r"cursor\.move"):
        decide_source(SourceState("policy:refunds"), MoveCursor(node="a"), asked)


def test_commands_of_sources_find_no_run() -> None:
    given().when(publish(LIMIT)).then_refused("run_not_found")
    given(x.opened()).when(publish(LIMIT)).then_refused("not_supported")


def test_an_event_of_a_run_says_nothing_in_a_source() -> None:
    state = FOUR.also(e.CursorMoved(node="a")).state
    assert (state.items, state.position) == (FOUR.state.items, 2)


def test_a_withdrawal_of_what_is_withdrawn_already_is_recorded_when_it_says_something_new() -> None:
    gone = FOUR.also(e.SourceRevised(revision="5", withdrawn=("limit-100",)))
    event = e.ConstraintWithdrawnAtSource(by="human:kim", id="limit-100", reason="replaced")
    told = gone.when(withdraw()).then(event)
    told.when(withdraw()).then_stands_at(3)
    told.when(withdraw(reason="unlawful")).then(
        e.ConstraintWithdrawnAtSource(by="human:kim", id="limit-100", reason="unlawful")
    )


def test_a_source_knows_where_each_of_its_revisions_was_published_last() -> None:
    history = FOUR.also(e.SourceRevised(revision="5"), e.SourceRevised(revision="4"))
    assert history.state.revisions == {"4": 3, "5": 2}
    assert UNOPENED.state.revisions == {}
