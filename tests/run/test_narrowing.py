"""A narrower grant takes the place of another one, and what ends with a grant wherever it was passed on."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.commands import Carve
from ledger.run.contract import Grant
from ledger.run.decision import Admitted, Refusal
from ledger.testing import START, given
from ledger.values import Ending, Recovery
from tests.run import examples as x
from tests.run.lineages import DAY, KIM, PROGRAM, Run, child, eur, restart

BOUND = x.granted(budget=eur("100"), expires_at=START + DAY, scopes=("refund", "mail.*"))
RUN = given(x.opened(), BOUND, actor=KIM)
FREE = given(x.opened(), x.granted(scopes=("*",)), actor=KIM)
BUSY = RUN.also(
    x.intended(authority=("refunds",), reserved=eur("30")),
    x.started(),
    x.intended(x.TWO, authority=("refunds",), reserved=eur("20")),
    x.started(x.TWO),
    e.EffectSucceeded(key=x.TWO, attempt=1, cost=eur("20")),
)


def narrow(**more: Any) -> c.NarrowAuthority:
    said = {"as_id": "less", "by": "human:kim", "id": "refunds", "reason": "less will do"}
    return c.NarrowAuthority(**{**said, **more})


def revoke(id: str = "refunds") -> c.RevokeAuthority:
    return c.RevokeAuthority(by="human:kim", id=id, reason="enough")


def held(run: Run, id: str = "less") -> Grant:
    (grant,) = [grant for grant in run.contract.grants if grant.id == id]
    return grant


# --- what cannot be read -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "first"),
    [
        (revoke(), (e.AuthorityRevoked(by="human:kim", id="refunds", reason="enough"),)),
        (
            narrow(),
            (
                e.AuthorityRevoked(by="human:kim", id="refunds", reason="less will do"),
                x.granted(
                    "less",
                    budget=eur("100"),
                    carved_from=e.GrantOrigin(id="refunds", position=2, run="run-1"),
                    expires_at=START + DAY,
                    granted_by="human:kim",
                    scopes=("refund", "mail.*"),
                ),
            ),
        ),
    ],
    ids=["revoke", "narrow"],
)
def test_a_child_that_cannot_be_read_keeps_no_grant_from_ending_and_is_owed_a_look(
    command: c.RevokeAuthority | c.NarrowAuthority, first: tuple[e.Event, ...]
) -> None:
    text = (
        "'run-9' could not be read (chain_broken): what was passed on to it of grant 'refunds', or through "
        "it, may be in force there still. Verify that run, and stop its program"
    )
    owed = e.ObligationOpened(by="human:kim", id="not-reached:run-9", owed_to="human:kim", text=text)
    after = RUN.when(command, unread={"run-9": "chain_broken"}).then(*first, owed)
    assert [one.id for one in after.contract.obligations] == ["not-reached:run-9"]


# --- what takes its place ----------------------------------------------------------------------


def test_a_narrower_grant_takes_the_place_of_the_old_one_in_one_append() -> None:
    command = narrow(
        budget=eur("25"), expires_at=START + timedelta(hours=1), scopes=("mail.send",), session="s-2"
    )
    after = RUN.when(command).then(
        e.AuthorityRevoked(by="human:kim", id="refunds", reason="less will do"),
        x.granted(
            "less",
            budget=eur("25"),
            carved_from=e.GrantOrigin(id="refunds", position=2, run="run-1"),
            expires_at=START + timedelta(hours=1),
            scopes=("mail.send",),
            session="s-2",
        ),
    )
    assert [grant.id for grant in after.contract.grants] == ["less"]
    after.when(command).then_stands_at(3)
    after.when(narrow(budget=eur("24"))).then_refused("not_open")
    after.when(narrow(reason="another one")).then_refused("not_open")


def test_what_is_left_out_stays_and_of_the_budget_what_is_left() -> None:
    grant = held(BUSY.when(narrow()).after)
    assert (grant.budget, grant.scopes, grant.expires_at) == (eur("50"), BOUND.scopes, BOUND.expires_at)
    assert (grant.spent, grant.reserved, grant.principal) == (None, None, "agent:refunds")
    free = held(FREE.when(narrow()).after)
    assert (free.budget, free.scopes, free.session, free.expires_at) == (None, ("*",), None, None)


def test_what_had_no_bound_may_be_given_one() -> None:
    grant = held(FREE.when(narrow(budget=eur("5"), scopes=("refund",), expires_at=START + DAY)).after)
    assert (grant.budget, grant.scopes, grant.expires_at) == (eur("5"), ("refund",), START + DAY)


def test_a_unit_that_is_not_named_is_not_to_be_spent() -> None:
    both = given(x.opened(), x.granted(budget={**eur("10"), "mails": Decimal(3)}), actor=KIM)
    after = both.when(narrow(budget=eur("10"))).after.by(PROGRAM)
    mail = {"mails": Decimal(1)}
    claim = c.ClaimEffect(args="{}", recovery=Recovery.QUERYABLE, reserved=mail, tool="refund", worker="w-1")
    refused = after.when(claim).decision
    assert isinstance(refused, Refusal)
    assert refused.rule == "authority_exceeded"


@pytest.mark.parametrize(
    "wider",
    [
        {"scopes": ("refund", "pay")},
        {"scopes": ("*",)},
        {"expires_at": START + 2 * DAY},
        {"budget": eur("50.01")},
        {"budget": {**eur("1"), "mails": 1}},
    ],
)
def test_a_narrower_grant_allows_no_more_than_is_left(wider: dict[str, Any]) -> None:
    BUSY.when(narrow(**wider)).then_refused("authority_exceeded", position=2)


def test_a_grant_of_one_session_becomes_none_of_another() -> None:
    bound = given(x.opened(), x.granted(session="s-1"), actor=KIM)
    bound.when(narrow(session="s-2")).then_refused("authority_exceeded", position=2)
    assert held(bound.when(narrow(session="s-1")).after).session == "s-1"
    assert held(bound.when(narrow()).after).session == "s-1"


def test_only_a_grant_in_force_is_narrowed_under_an_id_that_is_free() -> None:
    RUN.when(narrow(id="other")).then_refused("not_open")
    RUN.when(narrow(as_id="refunds")).then_refused("id_in_use", position=2)
    RUN.also(x.granted("less")).when(narrow()).then_refused("id_in_use", position=3)


# --- what is in flight -------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [narrow(), revoke()], ids=["narrowed", "revoked"])
@pytest.mark.parametrize(
    "outcome",
    [
        e.EffectSucceeded(key=x.ONE, attempt=1, cost=eur("30")),
        e.EffectSucceeded(key=x.ONE, attempt=1, cost=eur("0")),
        e.EffectFailed(key=x.ONE, attempt=1, error={"message": "no", "type": "No"}),  # type: ignore[arg-type]
        e.EffectUnknown(key=x.ONE, attempt=1, because="stopped"),
    ],
    ids=["all of it", "nothing", "failed", "unknown"],
)
def test_what_is_in_flight_settles_without_the_grants_that_come_later(ends: Any, outcome: e.Event) -> None:
    after = BUSY.when(ends).after.also(BOUND)
    before = after.contract.grants
    assert after.also(outcome).contract.grants == before


# --- the gate ----------------------------------------------------------------------------------


def test_a_narrowing_alone_does_not_hold_a_run() -> None:
    for first in (BUSY, FREE, given(x.opened(), x.granted(session="s-1", on_resume="continue"), actor=KIM)):
        narrowed = first.when(narrow()).after.by(PROGRAM).also(e.CursorMoved(node="a"), x.SUSPENDED)
        kinds = [reason.kind for reason in narrowed.judged().reasons]
        assert "authority_revoked" not in kinds
    bound = given(x.opened(), x.granted(), actor=KIM).when(narrow(session="s-1")).after.by(PROGRAM)
    stopped = bound.also(e.CursorMoved(node="a"), x.SUSPENDED)
    assert [reason.kind for reason in stopped.judged().reasons] == ["authority_on_resume"]


def test_a_revocation_after_a_narrowing_holds_a_run() -> None:
    gone = RUN.when(narrow()).after.when(revoke("less")).after.by(PROGRAM).also(x.SUSPENDED)
    kinds = {reason.kind for reason in gone.judged().reasons}
    assert kinds == {"authority_revoked", "authority_missing"}


# --- what was passed on ------------------------------------------------------------------------

PARENT = RUN.also(x.granted("own", scopes=("look",)))


def with_child(run: Run, name: str = "kid", budget: str = "40") -> Run:
    return run.by(PROGRAM).when(child(as_run=name, grants=(Carve(id="refunds", budget=eur(budget)),))).after


def grants(run: Run) -> dict[str, list[str]]:
    """List the grants in force of each run that goes on."""
    kin = {run.stream: run, **run.others}
    return {
        name: [grant.id for grant in one.contract.grants]
        for name, one in sorted(kin.items())
        if one.contract.closed is None
    }


@pytest.mark.parametrize("ends", [narrow(), revoke()], ids=["narrowed", "revoked"])
def test_the_end_of_a_grant_ends_what_was_passed_on_of_it_and_nothing_else(ends: Any) -> None:
    first = with_child(PARENT)
    second = first.by(PROGRAM).when(child(as_run="other", grants=(Carve(id="own"),))).after
    after = second.by(KIM).when(ends).after
    mine = ["own", "less"] if isinstance(ends, c.NarrowAuthority) else ["own"]
    assert grants(after) == {"kid": [], "other": ["own"], "run-1": mine}
    (gone,) = after.other("kid").contract.revoked
    assert (gone.by, gone.id) == ("human:kim", "refunds")
    assert ends.reason in gone.reason
    assert "'run-1'" in gone.reason


def deep() -> Run:
    """Restart a run, and its child, which passed something on before and passes something on again."""
    kid = with_child(RUN).other("kid")
    grandchild = with_child(kid, "grandchild", "10").other("run-1")
    heirs = grandchild.by(KIM).when(restart()).after.other("kid").by(KIM)
    kids = heirs.when(restart(as_run="kid-2")).after.other("kid-2")
    return with_child(kids, "late", "5")


def test_it_reaches_successors_of_children_their_children_and_what_a_predecessor_passed_on() -> None:
    lineage = deep()
    every = {"grandchild": ["refunds"], "kid-2": ["refunds"], "late": ["refunds"], "run-2": ["refunds"]}
    assert grants(lineage) == every
    after = lineage.other("run-2").by(KIM).when(revoke()).after
    assert grants(after) == {run: [] for run in every}


def test_a_child_takes_nothing_from_its_parent_nor_from_its_sisters() -> None:
    sisters = with_child(with_child(RUN), "sister", "20")
    below = with_child(sisters.other("kid"), "grandchild", "10")
    after = below.by(KIM).when(revoke()).after
    assert grants(after) == {"grandchild": [], "kid": [], "run-1": ["refunds"], "sister": ["refunds"]}


def test_budget_that_was_added_keeps_nothing_in_force_and_is_not_given_back() -> None:
    more = e.AuthorityRenewed(by="human:kim", id="refunds", add_budget=eur("50"))
    kid = with_child(RUN).other("kid").also(more)
    for later in (kid, kid.by(KIM).when(narrow()).after):
        id = later.contract.grants[0].id
        assert grants(later.other("run-1").by(KIM).when(revoke()).after) == {"kid": [], "run-1": []}
        heir = later.by(KIM).when(restart(as_run="kid-2")).after.other("kid-2")
        assert [grant.id for grant in heir.contract.grants] == [id]
        assert grants(heir.other("run-1").by(KIM).when(revoke()).after) == {"kid-2": [], "run-1": []}
        for run in (later, heir):
            parent = run.when(c.CloseRun(outcome=Ending.FAILED)).after.other("run-1")
            assert parent.contract.grants[0].spent == eur("40")


def test_what_was_narrowed_on_the_way_ends_too() -> None:
    kid = with_child(RUN).other("kid").by(KIM).when(narrow(budget=eur("7"))).after
    assert grants(kid) == {"kid": ["less"], "run-1": ["refunds"]}
    assert grants(kid.other("run-1").by(KIM).when(revoke()).after) == {"kid": [], "run-1": []}
    parent = kid.when(c.CloseRun(outcome=Ending.FAILED)).after.other("run-1").contract
    assert parent.grants[0].spent == eur("33")


def test_an_id_that_was_granted_again_is_another_grant() -> None:
    kid = with_child(RUN).other("kid").by(KIM)
    anew = kid.when(revoke()).after.also(BOUND)
    assert grants(anew.other("run-1").by(KIM).when(revoke()).after) == {"kid": ["refunds"], "run-1": []}


def test_a_run_that_has_ended_hears_nothing() -> None:
    kid = with_child(RUN).other("kid").also(x.CLOSED)
    decision = kid.other("run-1").by(KIM).when(revoke()).decision
    assert isinstance(decision, Admitted)
    assert decision.beside == {}


def test_a_child_without_a_grant_is_held_at_its_next_resume() -> None:
    kid = with_child(RUN).by(KIM).when(revoke()).after.other("kid").by(PROGRAM).also(x.SUSPENDED)
    assert "authority_revoked" in [reason.kind for reason in kid.judged().reasons]


# --- giving back -------------------------------------------------------------------------------


def test_the_successor_of_a_child_gives_back_what_neither_of_them_spent() -> None:
    paid = (
        x.intended(authority=("refunds",), reserved=eur("15"), tool="mail.send"),
        x.started(),
        e.EffectSucceeded(key=x.ONE, attempt=1, cost=eur("15")),
    )
    kid = with_child(RUN).other("kid").also(*paid)
    heir = kid.by(KIM).when(restart(as_run="kid-2")).after.other("kid-2")
    last = heir.by(KIM).when(restart(as_run="kid-3")).after.other("kid-3")
    done = last.when(c.CloseRun(outcome=Ending.COMPLETED)).then(
        e.RunClosed(outcome=Ending.COMPLETED),
        beside={
            "run-1": (
                e.ObligationDischarged(evidence="kid-3 was completed", id="kid", refs=("run:kid-3",)),
                e.AuthorityReturned(budget=eur("25"), by="human:kim", id="refunds", run="kid-3"),
            )
        },
    )
    assert done.other("run-1").contract.grants[0].spent == eur("15")


def test_what_is_set_aside_for_acts_of_a_lost_child_is_not_given_back() -> None:
    busy = x.intended(authority=("refunds",), reserved=eur("15"), tool="mail.send"), x.started()
    kid = with_child(RUN).other("kid").also(*busy)
    heir = kid.by(KIM).when(restart(as_run="kid-2")).after.other("kid-2")
    parent = heir.when(c.CloseRun(outcome=Ending.FAILED)).after.other("run-1").contract
    assert parent.grants[0].spent == eur("15")


def test_a_grant_that_took_the_place_of_the_one_carved_from_is_given_nothing() -> None:
    heir = with_child(RUN).other("kid").by(KIM).when(restart(as_run="kid-2")).after
    again = heir.other("run-1").also(
        e.AuthorityRevoked(by="human:kim", id="refunds", reason="another one"), BOUND
    )
    closing = again.other("kid-2").when(c.CloseRun(outcome=Ending.FAILED)).decision
    assert isinstance(closing, Admitted)
    assert closing.beside == {}
