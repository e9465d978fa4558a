"""Children do a part of the work of a run, under its constraints and within its authority."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.commands import Carve
from ledger.run.decision import Admitted
from ledger.testing import START, given
from ledger.values import Actor, Ending, Source
from tests.run import examples as x
from tests.run.lineages import DAY, KIM, PROGRAM, REFUNDS, WITHDRAWN, child, eur, published, restart

PARENT = given(
    x.opened(owner="human:kim"),
    published("kind", "Be kind"),
    x.accepted("noon", text="Before noon", valid_until=START + timedelta(hours=1)),
    x.granted(budget=eur("100"), expires_at=START + DAY, on_resume="continue", scopes=("refund", "mail.*")),
    actor=PROGRAM,
    sources=[REFUNDS],
)
CARVED = child(grants=(Carve(id="refunds", budget=eur("40"), scopes=("mail.send",)),))


def test_a_child_is_bound_by_the_constraints_and_has_a_part_of_the_authority() -> None:
    after = (
        PARENT.later(hours=2)
        .when(CARVED)
        .then(
            e.ObligationOpened(because="run:kid", id="kid", owed_to="human:kim", text="Mail the customer"),
            e.AuthorityCarved(budget=eur("40"), by="agent:refunds", id="refunds", run="kid"),
            beside={
                "kid": (
                    x.opened(
                        goal="Mail the customer",
                        owner="human:kim",
                        parent=e.Parent(position=4, relation="child", root="run-1", run="run-1"),
                        require_authority=True,
                    ),
                    published("kind", "Be kind"),
                    x.granted(
                        budget=eur("40"),
                        carved_from=e.GrantOrigin(id="refunds", position=4, run="run-1"),
                        expires_at=START + DAY,
                        on_resume="continue",
                        scopes=("mail.send",),
                    ),
                )
            },
        )
    )
    assert after.contract.grants[0].spent == eur("40")
    decision = PARENT.when(CARVED).decision
    assert isinstance(decision, Admitted)
    assert decision.guards == {"policy:refunds": 1}


def test_a_child_without_a_grant_may_not_act_where_its_parent_needs_one() -> None:
    kid = PARENT.when(child()).after.other("kid")
    assert kid.contract.authority_needed
    assert kid.contract.grants == ()
    required = given(x.opened(require_authority=True), actor=PROGRAM).when(child()).after.other("kid")
    assert required.contract.authority_needed
    free = given(x.opened(), actor=PROGRAM).when(
        child(owed_to="customer:17", by="human:kim", due=START + DAY)
    )
    assert free.after.contract.obligations[0].model_dump(include={"owed_to", "by", "due"}) == {
        "owed_to": "customer:17",
        "by": "human:kim",
        "due": START + DAY,
    }
    assert not free.after.other("kid").contract.authority_needed


@pytest.mark.parametrize(
    ("carve", "rule"),
    [
        (Carve(id="nobody"), "not_open"),
        (Carve(id="refunds", budget=eur("100.01")), "authority_exceeded"),
        (Carve(id="refunds", budget={"USD": Decimal(1)}), "authority_exceeded"),
        (Carve(id="refunds", budget={**eur("1"), "USD": Decimal(1)}), "authority_exceeded"),
        (Carve(id="refunds", expires_at=START + 2 * DAY), "authority_exceeded"),
        (Carve(id="refunds", scopes=("*",)), "authority_exceeded"),
        (Carve(id="refunds", scopes=("mail.*", "pay")), "authority_exceeded"),
    ],
)
def test_a_child_has_no_authority_that_its_parent_has_not(carve: Carve, rule: str) -> None:
    PARENT.when(child(grants=(carve,))).then_refused(rule)


def test_a_grant_is_passed_on_to_a_child_once() -> None:
    """Each part would be measured by the same whole, and in the child the last one would stand."""
    halves = Carve(id="refunds", budget=eur("60")), Carve(id="refunds", budget=eur("60"))
    PARENT.when(child(grants=halves)).then_refused("id_in_use")


def test_an_agent_passes_on_to_another_only_what_is_its_own() -> None:
    others = PARENT.also(x.granted("admin", principal="agent:admin", scopes=("*",)))
    taking = child(grants=(Carve(id="admin", principal="agent:refunds", scopes=("pay",)),))
    others.when(taking).then_refused("authority_exceeded", position=5)
    relayed = Actor("service:api", on_behalf_of=("agent:refunds",))
    others.by(relayed).when(taking).then_refused("authority_exceeded", position=5)
    for carve in (
        Carve(id="admin"),
        Carve(id="admin", principal="agent:admin"),
        Carve(id="refunds", principal="agent:mail"),
    ):
        assert isinstance(others.when(child(grants=(carve,))).decision, Admitted)
    assert isinstance(others.by(KIM).when(taking).decision, Admitted)


def test_a_grant_that_ended_is_passed_on_to_nobody() -> None:
    PARENT.later(days=2).when(child(grants=(Carve(id="refunds"),))).then_refused("authority_exceeded")


def test_a_child_is_opened_once_under_a_name_that_is_free() -> None:
    after = PARENT.when(CARVED).after
    after.when(CARVED).then_stands_at(5)
    after.when(child(goal="else")).then_refused("run_exists", position=1)
    PARENT.among(given(x.opened(), run="kid")).when(child()).then_refused("run_exists", position=1)
    owed = PARENT.also(e.ObligationOpened(id="kid", owed_to="human:kim", text="Call"))
    owed.when(child()).then_refused("id_in_use")


def test_no_child_is_bound_by_what_its_source_withdrew() -> None:
    bound = given(x.opened(), published("limit-100", x.LIMIT), sources=[WITHDRAWN])
    bound.when(child()).then_refused("contract_changed", position=2)


def test_a_withdrawal_reaches_parent_and_child() -> None:
    both = given(x.opened(), published("limit-100", x.LIMIT), actor=PROGRAM, sources=[REFUNDS])
    opened = both.when(child()).after.beside(WITHDRAWN)
    for run in (opened, opened.other("kid")):
        assert [reason.kind for reason in run.judged().reasons] == ["constraint_withdrawn"]


def test_a_completed_child_discharges_what_its_parent_owes_and_gives_back_what_it_did_not_spend() -> None:
    opened = PARENT.when(CARVED).after
    kid = opened.other("kid").also(
        x.intended(authority=("refunds",), reserved=eur("15"), tool="mail.send"),
        x.started(),
        e.EffectSucceeded(key=x.ONE, attempt=1, cost=eur("15")),
    )
    done = kid.when(c.CloseRun(outcome=Ending.COMPLETED)).then(
        e.RunClosed(outcome=Ending.COMPLETED),
        beside={
            "run-1": (
                e.ObligationDischarged(evidence="kid was completed", id="kid", refs=("run:kid",)),
                e.AuthorityReturned(budget=eur("25"), by="agent:refunds", id="refunds", run="kid"),
            )
        },
    )
    parent = done.other("run-1").contract
    assert parent.obligations == ()
    assert parent.grants[0].spent == eur("15")


@pytest.mark.parametrize("outcome", [Ending.FAILED, Ending.CANCELLED, Ending.ABANDONED])
def test_after_any_other_end_of_a_child_its_parent_still_owes_it_and_has_the_rest_back(outcome: Any) -> None:
    kid = PARENT.when(CARVED).after.other("kid")
    parent = kid.when(c.CloseRun(outcome=outcome)).after.other("run-1").contract
    assert [item.id for item in parent.obligations] == ["kid"]
    assert parent.grants[0].spent is None


def test_the_successor_of_a_lost_child_completes_what_it_was_to_do() -> None:
    kid = PARENT.when(CARVED).after.other("kid")
    heir = kid.by(KIM).when(restart(as_run="kid-2")).after.other("kid-2")
    parent = heir.when(c.CloseRun(outcome=Ending.COMPLETED)).after.other("run-1").contract
    assert parent.obligations == ()


def test_a_lost_child_blocks_no_sibling() -> None:
    first = PARENT.when(CARVED).after
    both = first.when(child(as_run="other", grants=(Carve(id="refunds", budget=eur("50")),))).after
    assert both.judged().verdict == "continue"
    lost = both.other("kid").also(*(x.intended(), x.started(), x.SUSPENDED))
    sibling = both.among(lost).other("other")
    parent = sibling.when(c.CloseRun(outcome=Ending.COMPLETED)).after.other("run-1")
    assert [item.id for item in parent.contract.obligations] == ["kid"]
    assert parent.contract.grants[0].spent == eur("40")


def test_a_parent_that_has_ended_hears_nothing_of_its_child() -> None:
    opened = PARENT.when(CARVED).after
    kid = opened.also(x.CLOSED).other("kid")
    kid.when(c.CloseRun(outcome=Ending.COMPLETED)).then(e.RunClosed(outcome=Ending.COMPLETED))
    renamed = opened.also(e.ObligationDischarged(evidence="done by hand", id="kid")).other("kid")
    decision = renamed.when(c.CloseRun(outcome=Ending.COMPLETED)).decision
    assert isinstance(decision, Admitted)
    assert [type(event) for event in decision.beside["run-1"]] == [e.AuthorityReturned]


def test_no_child_does_what_a_fork_may_not_do() -> None:
    given(*x.FORK_EVENTS).when(child()).then_refused("effects_disabled")


def test_a_child_knows_how_far_its_parent_has_read_the_sources() -> None:
    read = PARENT.also(
        e.RevisionAcknowledged(
            by="human:kim", source=Source("policy", "refunds", revision="5"), source_position=2
        )
    )
    kid = read.when(child()).after.other("kid")
    assert [(one.source, one.position, one.revision) for one in kid.contract.sources] == [
        ("policy:refunds", 2, "5")
    ]
    newer = REFUNDS.also(x.published(revision="5"))
    assert [reason.kind for reason in kid.beside(newer).by("human:kim").judged(take_over=True).reasons] == []


def test_a_child_completes_what_the_successor_of_its_parent_owes() -> None:
    opened = PARENT.when(CARVED).after
    heir = opened.by(KIM).when(restart()).after
    kid = heir.other("kid").among(heir.other("run-2"))
    done = kid.when(c.CloseRun(outcome=Ending.COMPLETED)).then(
        e.RunClosed(outcome=Ending.COMPLETED),
        beside={
            "run-2": (e.ObligationDischarged(evidence="kid was completed", id="kid", refs=("run:kid",)),)
        },
    )
    assert done.other("run-2").contract.obligations == ()
    assert [item.id for item in done.other("run-1").contract.obligations] == ["kid"]
