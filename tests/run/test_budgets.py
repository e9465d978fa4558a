"""Whatever a run, its children and its successors do, they spend no more than was granted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from hypothesis import given as draws
from hypothesis import strategies as st

from ledger import commands as c
from ledger.commands import Carve
from ledger.run.authority import left
from ledger.run.contract import Contract
from ledger.run.decision import Admitted
from ledger.testing import History, given
from ledger.values import Actor, Ending, Recovery
from tests.run import examples as x

Run = History[Contract | None]

PROGRAM = Actor("agent:refunds")
KIM = Actor("human:kim")
GRANTED = Decimal(100)


@dataclass
class Runs:
    """All runs of a lineage, and what their acts have cost."""

    known: dict[str, Run] = field(default_factory=dict)
    claimed: list[tuple[str, str, Decimal]] = field(default_factory=list)
    acts: int = 0
    cost: Decimal = Decimal(0)

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

    def act(self, run: str, amount: Decimal) -> None:
        """Claim an act that may cost so much."""
        args = f'{{"n":{self.acts}}}'
        claim = c.ClaimEffect(
            args=args, recovery=Recovery.QUERYABLE, reserved={"EUR": amount}, tool="pay", worker="w-1"
        )
        self.acts += 1
        if self.do(run, claim):
            self.claimed.append((run, self.known[run].contract.effects[-1].key, amount))

    def settle(self, number: int, share: Decimal) -> None:
        """Report what became of an act, once: it cost a share of what was set aside."""
        if not self.claimed:
            return
        run, key, amount = self.claimed.pop(number % len(self.claimed))
        cost = (amount * share).quantize(Decimal("0.01"))
        if self.do(run, c.ReportSuccess(attempt=1, cost={"EUR": cost}, key=key)):
            self.cost += cost

    def left(self) -> Decimal:
        """Add up what may still be spent or is set aside, over all runs that go on."""
        grants = (
            grant
            for run in self.known.values()
            if run.contract.closed is None
            for grant in run.contract.grants
        )
        return sum(
            (left(grant, "EUR") + (grant.reserved or {}).get("EUR", Decimal(0)) for grant in grants),
            Decimal(0),
        )


AMOUNTS = st.sampled_from([Decimal(5), Decimal("12.50"), Decimal(40), Decimal(100)])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["act", "act", "settle", "child", "child", "close", "restart"]),
        st.integers(0, 9),
        st.none() | AMOUNTS,
        st.sampled_from([Decimal(0), Decimal("0.5"), Decimal(1)]),
    ),
    min_size=8,
    max_size=24,
)


def lived(steps: Iterable[tuple[str, int, Decimal | None, Decimal]]) -> Iterable[Runs]:
    """Let the runs of a lineage live through these steps."""
    granted = x.granted(budget={"EUR": GRANTED}, scopes=("*",))
    runs = Runs({"run-1": given(x.opened(), granted, actor=PROGRAM)})
    for what, number, amount, share in steps:
        run = sorted(runs.known)[number % len(runs.known)]
        name = f"run-{len(runs.known) + 1}"
        if what == "act":
            runs.act(run, amount or Decimal(1))
        elif what == "settle":
            runs.settle(number, share)
        elif what == "child":
            carve = Carve(id="refunds", budget=None if amount is None else {"EUR": amount})
            runs.do(run, c.OpenChild(as_run=name, goal="Do a part", grants=(carve,)))
        elif what == "close":
            runs.do(run, c.CloseRun(outcome=Ending.COMPLETED if share else Ending.FAILED))
        else:
            runs.do(run, c.RestartRun(as_run=name, by="human:kim", reason="it cannot go on"), KIM)
        yield runs


@draws(steps=STEPS)
def test_a_lineage_never_spends_more_than_was_granted(
    steps: list[tuple[str, int, Decimal | None, Decimal]],
) -> None:
    for runs in lived(steps):
        assert runs.cost + runs.left() <= GRANTED


@draws(steps=STEPS)
def test_no_run_of_a_lineage_may_do_more_than_the_one_it_comes_from(
    steps: list[tuple[str, int, Decimal | None, Decimal]],
) -> None:
    for runs in lived(steps):
        for run in runs.known.values():
            assert run.contract.authority_needed
            for grant in run.contract.grants:
                assert (grant.principal, grant.scopes) == ("agent:refunds", ("*",))
                assert grant.budget is not None
                assert set(grant.budget) == {"EUR"}
                assert grant.budget["EUR"] <= GRANTED
