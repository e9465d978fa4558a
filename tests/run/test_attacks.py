"""Rules that were added because somebody got around the ones that stood."""

from __future__ import annotations

from ledger import commands as c
from ledger import events as e
from ledger.testing import given
from tests.run import examples as x
from tests.run.lineages import KIM, PROGRAM, child, eur, fork, restart

FORKED = given(x.opened(), x.granted(budget=eur("10")), actor=PROGRAM).when(fork(2)).after.other("run-2")


def test_what_comes_of_a_fork_performs_nothing_either() -> None:
    FORKED.by(PROGRAM).when(child()).then_refused("effects_disabled", position=None)
    FORKED.by(KIM).when(restart(as_run="run-3")).then_refused("effects_disabled", position=None)


def test_a_grant_that_got_budget_of_its_own_is_nothing_that_could_be_brought_back() -> None:
    origin = e.GrantOrigin(id="refunds", position=2, run="parent")
    kid = given(x.opened(), x.granted(budget=eur("4"), carved_from=origin))
    confirmed = kid.by(KIM).when(c.RenewAuthority(by="human:kim", id="refunds")).after
    assert [one.carved_from for one in confirmed.contract.grants] == [origin]
    extended = kid.by(KIM).when(c.RenewAuthority(add_budget=eur("9"), by="human:kim", id="refunds")).after
    assert [one.carved_from for one in extended.contract.grants] == [None]
