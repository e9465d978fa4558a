"""Whatever a run, its children and its successors do, they spend no more than was granted.

What was spent is judged from the events alone, by a bookkeeping that shares nothing with the fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from hypothesis import given as draws
from hypothesis import strategies as st

from ledger import commands as c
from ledger import events as e
from ledger.commands import Carve
from ledger.run.authority import left
from ledger.run.contract import Contract
from ledger.run.decision import Admitted
from ledger.testing import History, given
from ledger.values import Actor, Ending, ErrorSaid, Recovery
from tests.run import examples as x

Run = History[Contract | None]

PROGRAM = Actor("agent:refunds")
KIM = Actor("human:kim")
GRANTED = Decimal(100)
NOTHING = Decimal(0)
KIMS: dict[str, Any] = {"by": "human:kim", "reason": "as things are"}


def booked(runs: Iterable[Run]) -> tuple[Decimal, Decimal]:
    """Add up what was granted anew, and what acts cost or may still cost, from the events of a lineage."""
    granted, acts = NOTHING, dict[str, Decimal]()
    for run in runs:
        mine: dict[str, Decimal] = {}
        reserved: dict[str, Decimal] = {}
        for record in run.records:
            event = record.event
            if isinstance(event, e.AuthorityGranted) and event.carved_from is None:
                granted += (event.budget or {})["EUR"]
            elif isinstance(event, e.AuthorityRenewed):
                granted += (event.add_budget or {}).get("EUR", NOTHING)
            elif isinstance(event, e.EffectIntended) and event.authority:
                reserved[event.key] = mine[event.key] = (event.reserved or {})["EUR"]
            elif isinstance(event, e.EffectSucceeded | e.EffectFailed | e.EffectReconciled):
                done = isinstance(event, e.EffectSucceeded) or getattr(event, "found", "") == "happened"
                cost = (event.cost or {}).get("EUR")
                mine[event.key] = cost or (
                    reserved.get(event.key, NOTHING) if done and cost is None else NOTHING
                )
        for key, amount in mine.items():
            acts[key] = max(acts.get(key, NOTHING), amount)
    return granted, sum(acts.values(), NOTHING)


@dataclass
class Runs:
    """All runs of a lineage."""

    known: dict[str, Run] = field(default_factory=dict)
    claimed: list[tuple[str, str, Decimal]] = field(default_factory=list)
    amounts: list[Decimal] = field(default_factory=list)
    """What each act may cost, by its number."""

    def do(self, run: str, command: c.Command, actor: Actor = PROGRAM) -> bool:
        """Say a command to one of them; tell whether it was admitted and changed something."""
        history = self.known[run].by(actor)
        decided = history.among(*(one for name, one in self.known.items() if name != run)).when(command)
        after = decided.after
        self.known[run] = after.among()
        beside = decided.decision.beside if isinstance(decided.decision, Admitted) else {}
        for name in beside:
            self.known[name] = after.others[name]
        return isinstance(decided.decision, Admitted) and bool(decided.decision.events)

    def act(self, run: str, number: int) -> None:
        """Claim an act."""
        amount = self.amounts[number]
        claim = c.ClaimEffect(
            args=f'{{"n":{number}}}',
            dedupes_for=3600,
            recovery=Recovery.IDEMPOTENT,
            reserved={"EUR": amount},
            tool="pay",
            worker="w-1",
        )
        if self.do(run, claim):
            key = next(
                one.event.key
                for one in reversed(self.known[run].records)
                if isinstance(one.event, e.EffectStarted)
            )
            self.claimed.append((run, key, amount))

    def settle(self, number: int, share: Decimal, how: str) -> None:
        """Report what became of an act that is open: it cost a share of what was set aside.

        Whoever reports of an act that is settled contradicts what was told before, see `EffectDisputed`.
        """
        if not self.claimed:
            return
        run, key, amount = self.claimed[number % len(self.claimed)]
        attempt = next((one.attempt for one in self.known[run].contract.effects if one.key == key), None)
        if attempt is None:
            return
        cost = {"EUR": (amount * share).quantize(Decimal("0.01"))}
        if how == "fail":
            error = ErrorSaid(message="no", type="No")
            self.do(run, c.ReportFailure(attempt=attempt, error=error, key=key))
        elif how == "lose":
            self.do(run, c.ReportUnknown(attempt=attempt, because="stopped", key=key))
        elif how == "ask":
            found = {"found": "happened" if share else "did_not_happen", "method": "probe"}
            asked = {"evidence": "the bank", "key": key, "cost": cost if share else None}
            self.do(run, c.ReconcileEffect.model_validate({**found, **asked}))
        else:
            self.do(run, c.ReportSuccess(attempt=attempt, cost=cost, key=key))

    def left(self) -> Decimal:
        """Add up what may still be spent, over all runs that go on."""
        grants = (
            grant
            for run in self.known.values()
            if run.contract.closed is None
            for grant in run.contract.grants
        )
        return sum((left(grant, "EUR") for grant in grants), NOTHING)


@dataclass(frozen=True)
class Said:
    """One step in the life of a lineage, and what is drawn for it."""

    run: str
    fresh: str
    number: int
    amount: Decimal | None
    share: Decimal

    @property
    def budget(self) -> dict[str, Decimal] | None:
        return None if self.amount is None else {"EUR": self.amount}


def act(runs: Runs, said: Said) -> None:
    runs.amounts.append(said.amount or Decimal(1))
    runs.act(said.run, len(runs.amounts) - 1)


def act_again(runs: Runs, said: Said) -> None:
    if runs.amounts:
        runs.act(said.run, said.number % len(runs.amounts))


def settle(how: str) -> Callable[[Runs, Said], None]:
    return lambda runs, said: runs.settle(said.number, said.share, how)


def child(runs: Runs, said: Said) -> None:
    carve = Carve(id=an_id(runs, said), budget=said.budget)
    runs.do(said.run, c.OpenChild(as_run=said.fresh, goal="Do a part", grants=(carve,)))


def close(runs: Runs, said: Said) -> None:
    runs.do(said.run, c.CloseRun(outcome=Ending.COMPLETED if said.share else Ending.FAILED))


def restart(runs: Runs, said: Said) -> None:
    runs.do(said.run, c.RestartRun(as_run=said.fresh, **KIMS), KIM)


def an_id(runs: Runs, said: Said) -> str:
    grants = runs.known[said.run].contract.grants
    return grants[said.number % len(grants)].id if grants else "refunds"


def grant(runs: Runs, said: Said) -> None:
    fields = {"granted_by": "human:kim", "principal": PROGRAM.id, "scopes": ("*",)}
    budget = said.budget or {"EUR": Decimal(7)}
    runs.do(said.run, c.GrantAuthority.model_validate({"id": "refunds", "budget": budget, **fields}), KIM)


def renew(runs: Runs, said: Said) -> None:
    runs.do(said.run, c.RenewAuthority(id=an_id(runs, said), add_budget=said.budget, **KIMS), KIM)


def narrow(runs: Runs, said: Said) -> None:
    as_id = f"less-{said.number}" if said.share else "refunds"
    runs.do(said.run, c.NarrowAuthority(id=an_id(runs, said), as_id=as_id, budget=said.budget, **KIMS), KIM)


def revoke(runs: Runs, said: Said) -> None:
    runs.do(said.run, c.RevokeAuthority(id=an_id(runs, said), **KIMS), KIM)


OFTEN = [act, act, settle("succeed"), child, narrow, act_again]
WAYS = [*OFTEN, *map(settle, ("fail", "lose", "ask")), close, restart, grant, renew, revoke]
AMOUNTS = st.sampled_from([Decimal(5), Decimal("12.50"), Decimal(40), Decimal(100)])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(WAYS),
        st.integers(0, 9),
        st.none() | AMOUNTS,
        st.sampled_from([Decimal(0), Decimal("0.5"), Decimal(1)]),
    ),
    min_size=8,
    max_size=24,
)
Steps = list[tuple[Callable[[Runs, Said], None], int, Decimal | None, Decimal]]


def lived(steps: Steps) -> Iterable[Runs]:
    """Let the runs of a lineage live through these steps."""
    granted = x.granted(budget={"EUR": GRANTED}, scopes=("*",))
    runs = Runs({"run-1": given(x.opened(), granted, actor=PROGRAM)})
    for way, number, amount, share in steps:
        run = sorted(runs.known)[number % len(runs.known)]
        way(runs, Said(run, f"run-{len(runs.known) + 1}", number, amount, share))
        yield runs


@draws(steps=STEPS)
def test_a_lineage_never_spends_more_than_was_granted(steps: Steps) -> None:
    for runs in lived(steps):
        granted, spent = booked(runs.known.values())
        assert spent + runs.left() <= granted


@draws(steps=STEPS)
def test_no_run_of_a_lineage_may_do_more_than_the_one_it_comes_from(steps: Steps) -> None:
    for runs in lived(steps):
        granted, _ = booked(runs.known.values())
        for run in runs.known.values():
            assert run.contract.authority_needed
            for grant in run.contract.grants:
                assert (grant.principal, grant.scopes) == ("agent:refunds", ("*",))
                assert grant.budget is not None
                assert set(grant.budget) == {"EUR"}
                assert grant.budget["EUR"] <= granted


def test_an_outcome_that_costs_more_than_was_declared_is_recorded_and_overdraws() -> None:
    """It is a report of what happened: refusing it would lose a fact, and no act begins after it."""
    runs = Runs(
        {"run-1": given(x.opened(), x.granted(budget={"EUR": GRANTED}, scopes=("*",)), actor=PROGRAM)}
    )
    runs.amounts += [Decimal(60), Decimal(1)]
    runs.act("run-1", 0)
    ((_, key, _),) = runs.claimed
    assert runs.do("run-1", c.ReportSuccess(attempt=1, cost={"EUR": Decimal(130)}, key=key))
    (grant,) = runs.known["run-1"].contract.grants
    assert (grant.spent, left(grant, "EUR")) == ({"EUR": Decimal(130)}, NOTHING)
    assert booked(runs.known.values()) == (GRANTED, Decimal(130))
    runs.act("run-1", 1)
    assert len(runs.claimed) == 1
