"""Grants allow a principal to act; renewals only extend them, effects reserve and spend on them."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal, localcontext

import pytest

from ledger import events as e
from ledger.commands import ClaimEffect, GrantAuthority, RenewAuthority, RevokeAuthority
from ledger.run.contract import Contract, Grant
from ledger.run.decision import Admitted, Refusal
from ledger.testing import START, History, given
from ledger.values import Actor, ErrorSaid, Recovery
from tests.run import examples as x

TOMORROW = START + timedelta(days=1)
BOUND = x.granted(budget={"EUR": Decimal(100)}, expires_at=TOMORROW, session="s-1")
FREE = x.granted()


def the_grant(history: History[Contract | None]) -> Grant:
    (grant,) = history.contract.grants
    return grant


def renewed(**more: object) -> e.AuthorityRenewed:
    return e.AuthorityRenewed.model_validate({"by": "human:kim", "id": "refunds", **more})


def renew(**more: object) -> RenewAuthority:
    return RenewAuthority.model_validate({"by": "human:kim", "id": "refunds", **more})


def claim(number: int) -> ClaimEffect:
    return ClaimEffect(
        args=f'{{"n":{number}}}',
        recovery=Recovery.IDEMPOTENT,
        reserved=x.EUR_10,
        tool="refund",
        worker="w-1",
    )


# --- granting and renewing ---------------------------------------------------------------------


def test_an_authority_is_granted_once() -> None:
    command = GrantAuthority(
        budget={"EUR": Decimal(100)},
        expires_at=TOMORROW,
        granted_by="human:kim",
        id="refunds",
        principal="agent:refunds",
        scopes=("refund",),
        session="s-1",
    )
    history = given(x.opened()).when(command).then(BOUND)
    grant = the_grant(history)
    assert (grant.budget, grant.spent, grant.reserved) == ({"EUR": Decimal(100)}, None, None)
    history.when(command).then_stands_at(2)
    history.when(command.model_copy(update={"scopes": ("refund", "mail")})).then_refused(
        "id_in_use", position=2
    )


def test_a_renewal_extends_end_budget_and_session() -> None:
    later = TOMORROW + timedelta(days=1)
    more = {"add_budget": {"EUR": Decimal(50)}, "expires_at": later, "session": "s-2", "reason": "more work"}
    grant = the_grant(given(x.opened(), BOUND).when(renew(**more)).then(renewed(**more)))
    assert (grant.budget, grant.expires_at, grant.session) == ({"EUR": Decimal(150)}, later, "s-2")
    assert (grant.position, grant.renewed_at) == (2, 3)


@pytest.mark.parametrize(
    ("grant", "narrower"),
    [
        (BOUND, {"expires_at": START}),
        (FREE, {"expires_at": TOMORROW}),
        (FREE, {"add_budget": {"EUR": Decimal(50)}}),
        (FREE, {"session": "s-1"}),
    ],
)
def test_a_renewal_never_narrows(grant: e.AuthorityGranted, narrower: dict[str, object]) -> None:
    given(x.opened(), grant).when(renew(**narrower)).then_refused("authority_exceeded", position=2)


def test_adding_to_what_has_no_bound_sets_none() -> None:
    assert the_grant(given(x.opened(), FREE, renewed(add_budget={"EUR": Decimal(50)}))).budget is None


def test_a_renewal_that_changes_nothing_is_a_repeat() -> None:
    history = given(x.opened(), BOUND)
    history.when(renew(expires_at=TOMORROW)).then_stands_at(2)
    history.when(renew(session="s-1")).then_stands_at(2)
    again = history.when(renew(session="s-2")).then(renewed(session="s-2"))
    again.when(renew(session="s-2", expires_at=TOMORROW)).then_stands_at(3)
    again.when(renew(session="s-1")).then(renewed(session="s-1"))


def test_budget_is_added_each_time_it_is_said() -> None:
    command = renew(add_budget={"EUR": Decimal(50)})
    history = given(x.opened(), BOUND).when(command).after.when(command).after
    assert the_grant(history).budget == {"EUR": Decimal(200)}


def test_a_revoked_grant_is_gone_and_its_id_is_free() -> None:
    revoke = RevokeAuthority(by="human:kim", id="refunds", reason="done")
    history = (
        given(x.opened(), BOUND)
        .when(revoke)
        .then(e.AuthorityRevoked(by="human:kim", id="refunds", reason="done"))
    )
    assert history.contract.grants == ()
    history.when(revoke).then_refused("not_open")
    history.when(renew(session="s-2")).then_refused("not_open")
    assert history.also(renewed(session="s-2"), BOUND).contract.grants[0].session == "s-1"


def test_revoking_the_last_grant_does_not_make_authority_needless() -> None:
    assert given(x.opened()).contract.authority_needed is False
    granted = given(x.opened(), BOUND)
    assert granted.contract.authority_needed is True
    revoked = granted.also(e.AuthorityRevoked(by="agent:refunds", id="refunds", reason="in the way"))
    assert (revoked.contract.grants, revoked.contract.authority_needed) == ((), True)


# --- reserving and spending --------------------------------------------------------------------

ACTING = given(x.opened(), BOUND, x.intended(authority=("refunds",), reserved=x.EUR_10), x.started())
COST = {"EUR": Decimal("7.5"), "tokens": Decimal(3)}


def test_an_intended_effect_reserves_on_the_grants_it_draws_on() -> None:
    grants = ACTING.also(x.granted("other")).contract.grants
    assert [(grant.id, grant.reserved) for grant in grants] == [("refunds", x.EUR_10), ("other", None)]


@pytest.mark.parametrize(
    ("outcome", "spent"),
    [
        (e.EffectSucceeded(key=x.ONE, attempt=1, cost=COST), COST),
        (e.EffectSucceeded(key=x.ONE, attempt=1), x.EUR_10),
        (e.EffectSucceeded(key=x.ONE, attempt=1, cost={}), None),
        (e.EffectFailed(key=x.ONE, attempt=1, cost=COST, error=ErrorSaid(message="no", type="No")), COST),
        (
            e.EffectReconciled(
                key=x.ONE, attempt=1, cost=COST, evidence="bank", found="happened", method="probe"
            ),
            COST,
        ),
        (
            e.EffectReconciled(key=x.ONE, attempt=1, evidence="none", found="did_not_happen", method="probe"),
            None,
        ),
    ],
)
def test_an_outcome_gives_back_what_was_reserved_and_counts_the_cost(
    outcome: e.Event, spent: dict[str, Decimal] | None
) -> None:
    grant = the_grant(ACTING.also(outcome))
    assert (grant.reserved, grant.spent) == (None, spent)


def test_what_is_not_known_stays_reserved() -> None:
    unknown = e.EffectUnknown(key=x.ONE, attempt=1, because="stopped")
    asked = e.EffectReconciled(key=x.ONE, attempt=1, evidence="silence", found="unknown", method="probe")
    assert the_grant(ACTING.also(unknown, asked)).reserved == x.EUR_10


def test_another_attempt_reserves_once() -> None:
    unknown = e.EffectUnknown(key=x.ONE, attempt=1, because="stopped")
    again = x.intended(authority=("refunds",), reserved={"EUR": Decimal(12)})
    assert the_grant(ACTING.also(unknown, again, x.started(attempt=2))).reserved == {"EUR": Decimal(12)}


def test_two_effects_in_flight_are_reserved_and_settled_each_for_itself() -> None:
    both = ACTING.also(
        x.intended(x.TWO, authority=("refunds",), reserved={"EUR": Decimal(12)}), x.started(x.TWO)
    )
    assert the_grant(both).reserved == {"EUR": Decimal(22)}
    settled = both.also(e.EffectSucceeded(key=x.ONE, attempt=1, cost={"EUR": Decimal(9)}))
    assert (the_grant(settled).reserved, the_grant(settled).spent) == (
        {"EUR": Decimal(12)},
        {"EUR": Decimal(9)},
    )


def test_what_cost_nothing_is_known_to_have_cost_nothing() -> None:
    free = {"EUR": Decimal(0)}
    assert the_grant(ACTING.also(e.EffectSucceeded(key=x.ONE, attempt=1, cost=free))).spent == free


def test_an_act_begun_under_a_revoked_grant_changes_nothing_of_another_one_with_its_id() -> None:
    """Else what it gives back would make room for an act more than was granted, or its cost for one less."""
    gone = e.AuthorityRevoked(by="human:kim", id="refunds", reason="another one")
    again = ACTING.also(gone, BOUND, x.intended(x.TWO, authority=("refunds",), reserved=x.EUR_10))
    for outcome in (
        e.EffectSucceeded(key=x.ONE, attempt=1, cost={"EUR": Decimal(7)}),
        e.EffectFailed(key=x.ONE, attempt=1, error=ErrorSaid(message="no", type="No")),
    ):
        grant = the_grant(again.also(outcome))
        assert (grant.reserved, grant.spent) == (x.EUR_10, None)
    sent_again = again.also(x.intended(authority=("refunds",), reserved=x.EUR_10), x.started(attempt=2))
    assert the_grant(sent_again).reserved == {"EUR": Decimal(20)}


def test_an_act_that_is_tried_again_frees_nothing_of_a_grant_that_took_its_grants_place() -> None:
    gone = e.AuthorityRevoked(by="human:kim", id="refunds", reason="another one")
    small = x.granted(budget=x.EUR_10)
    first = given(x.opened(), small, actor=Actor("agent:refunds")).when(claim(1)).after
    key = first.contract.effects[0].key
    lost = first.also(e.EffectUnknown(key=key, attempt=1, because="stopped"), gone, small)
    assert isinstance(lost.when(claim(1)).decision, Admitted)
    refused = lost.when(claim(2)).after.when(claim(1)).decision
    assert isinstance(refused, Refusal)
    assert refused.rule == "authority_exceeded"


def test_who_has_no_grant_left_is_told_how_the_last_one_ended() -> None:
    agent = Actor("agent:refunds")
    passed_on = x.granted("parts", scopes=("mail",))
    ended = e.AuthorityRevoked(by="human:kim", id="parts", reason="enough")
    other = e.AuthorityRevoked(by="human:kim", id="others", reason="enough")
    opened = given(x.opened(), passed_on, x.granted("others", principal="agent:mails"), actor=agent)
    gone = opened.also(ended, other)
    refused = gone.when(claim(1)).decision
    assert isinstance(refused, Refusal)
    assert refused.rule == "authority_exceeded"
    assert refused.position == gone.position - 1
    assert refused.message == (
        f"no grant of this run is for agent:refunds any more: human:kim ended 'parts' at position "
        f"{gone.position - 1}: enough"
    )
    never = opened.by("agent:other").when(claim(1)).decision
    assert isinstance(never, Refusal)
    assert (never.message, never.position) == ("no grant of this run is for agent:other", None)


def test_sums_are_exact_however_long_and_whatever_the_thread_computes_with() -> None:
    small, large = Decimal("0." + "0" * 37 + "1"), Decimal("9" * 40)
    history = given(x.opened(), BOUND)
    with localcontext() as context:
        context.prec = 3
        for number, cost in enumerate((large, small, large)):
            key = f"{number:064x}"
            history = history.also(
                x.intended(key, authority=("refunds",), reserved={"EUR": cost}),
                x.started(key),
                e.EffectSucceeded(key=key, attempt=1, cost={"EUR": cost}),
            )
    spent = the_grant(history).spent
    assert spent is not None
    assert f"{spent['EUR']:f}" == "1" + "9" * 39 + "8." + "0" * 37 + "1"
    again = Contract.model_validate_json(history.contract.model_dump_json(exclude_none=True))
    assert again == history.contract
