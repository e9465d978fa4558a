"""Lets runs live as programs and people do, at random, so that all comes up of which read models tell.

What the ledger refuses is refused, and life goes on.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from functools import cache
from itertools import count
from typing import Any, NamedTuple

from hypothesis import strategies as st

from ledger import Actor, Ledger, Outcome, Recovery, Rule, Source
from ledger import commands as c
from ledger import events as e
from ledger.errors import LedgerError, OutcomeUnknown, RunNotFound
from ledger.events import Event
from ledger.values import Ending, Published
from tests.projections.conftest import SetClock
from tests.run.histories import INSIDE, acts, asked
from tests.strategies import FEW, event, model

WORDS = replace(
    FEW,
    text=st.sampled_from(["one", "an\0other"]),
    amount=st.sampled_from([Decimal("1.00"), Decimal("2.5"), Decimal("0.00"), Decimal(3)]),
)
FULL = replace(WORDS, absent=False)
"""The same, with every optional field given."""

SOLE = replace(
    FULL, id=st.just("a"), text=st.just("one"), digest=st.just("a" * 64), ref=st.just("assumption:a")
)
"""The same, where all that is named is one and the same."""

KIM = Actor("human:kim", session="web-7", authenticated_by="oidc", role="lead")
AGENT = Actor("agent:refunds", session="s-1")
ACTORS = st.sampled_from(
    [KIM, KIM, AGENT, Actor("service:api", on_behalf_of=("agent:refunds",)), Actor("agent:refunds")]
)
RUNS = st.sampled_from(["run-1", "run-2", "RUN-2", "run-3", "run-4", "run-5"])
OLD = st.sampled_from(["old-1", "old-2"])
SOURCES = st.sampled_from(["policy:refunds", "policy:mail"])
TOOLS = st.sampled_from(["pay", "mail"])
SECONDS = st.sampled_from([0, 0, 1, 60, 7200])


_LIVES = 8


class Refused(Exception):
    """What an outside says that did nothing."""


class Deed(NamedTuple):
    """One thing that is done, by somebody, in a run."""

    what: str
    run: str
    actor: Actor = KIM
    how: Any = None
    after: int = 0
    """Seconds that pass before."""


@cache
def deeds() -> st.SearchStrategy[Deed]:
    """Draw one thing that may be done."""
    said = _deed("say", asked())
    act = st.tuples(
        TOOLS, st.integers(1, 3), st.sampled_from(["done", "done", "refused", "lost"]), st.booleans()
    )
    items = st.lists(model(Published, WORDS), max_size=2, unique_by=lambda one: one.id)
    granted = st.sampled_from([None, {"EUR": Decimal("2.00")}, {"EUR": Decimal(9), "tokens": Decimal("0.5")}])
    ids = st.sampled_from(["a", "b", "c"])
    return st.one_of(
        said, said, said,
        _deed("perform", act), _deed("perform", act), _deed("grant", granted), _deed("settle", st.booleans()),
        _deed("look", st.integers(1, 3)), _deed("accept", st.tuples(SOURCES, ids)), _deed("let_go", ids),
        _deed("publish", st.tuples(SOURCES, items)), _deed("withdraw", st.tuples(SOURCES, ids)),
        _deed("resume", st.booleans()), _deed("restart", RUNS), _deed("fork", RUNS), _deed("child", RUNS),
        _deed("close", st.sampled_from([one for one in Ending if one != "restarted"])),
        st.builds(Deed, st.just("import"), OLD, ACTORS, _happened(), SECONDS),
    )  # fmt: skip


def _deed(what: str, how: st.SearchStrategy[Any]) -> st.SearchStrategy[Deed]:
    return st.builds(Deed, st.just(what), RUNS, ACTORS, how, SECONDS)


def _happened() -> st.SearchStrategy[tuple[Event, ...]]:
    """Draw what happened elsewhere: events of every class, in any order."""
    singly = st.sampled_from(INSIDE).flatmap(lambda kind: event(kind, WORDS) | event(kind, FULL))
    one = singly.map(lambda found: (found,))
    return st.lists(st.one_of(one, one, acts(WORDS)), min_size=1, max_size=3).map(
        lambda several: tuple(found for some in several for found in some)
    )


class Life:
    """Does what is to be done in the ledgers of one store; `clock` is theirs."""

    def __init__(self, clock: SetClock) -> None:
        self._clock = clock
        self._attempts = count(1)
        self._revisions = count(1)

    def live(self, ledger: Ledger, deeds: Iterable[Deed]) -> None:
        """Do one thing after the other."""
        for deed in deeds:
            self._clock.tick(deed.after)
            with suppress(LedgerError):
                getattr(self, f"_{deed.what}")(ledger, deed)

    def _say(self, ledger: Ledger, deed: Deed) -> None:
        said: c.Command = deed.how
        # Sources are published to, and gates asked, below.
        if said.stream != "source" and not isinstance(said, c.ResumeRun):
            self._run(ledger, deed).do(said)

    def _run(self, ledger: Ledger, deed: Deed) -> Any:
        """Return a handle on a run; one that waits is let go on if there is time for it."""
        try:
            run = ledger.run(deed.run, actor=deed.actor)
            if deed.after and run.contract.status in ("suspended", "held"):
                ledger.resume(deed.run, actor=KIM)
            return ledger.run(deed.run, actor=deed.actor)
        except RunNotFound:
            goal = f"goal of {deed.run}"
            return ledger.open_run(deed.run, goal, actor=deed.actor, owner="human:kim", about=["customer:17"])

    def _perform(self, ledger: Ledger, deed: Deed) -> None:
        tool, number, end, costly = deed.how

        def act(number: int) -> Outcome:
            if end == "refused":
                raise Refused("not today")
            if end == "lost":
                raise OutcomeUnknown("the line was cut")
            return Outcome({"number": number}, external_ref=f"r-{number}", cost={"EUR": "0.50"})

        self._run(ledger, deed).perform(
            tool,
            {"number": number},
            act,
            recovery=Recovery.AT_MOST_ONCE,
            definite_errors=Refused,
            cost={"EUR": Decimal("1.00")} if costly else None,
            wait_seconds=0,
            about=["customer:17"],
        )

    def _look(self, ledger: Ledger, deed: Deed) -> None:
        seen = {"seen": deed.how, "at": deed.after}
        fresh = {"recovery": Recovery.READ_ONLY, "fresh_for": 60}
        self._run(ledger, deed).perform("look", {"number": deed.how}, lambda number: seen, **fresh)

    def _grant(self, ledger: Ledger, deed: Deed) -> None:
        self._run(ledger, deed._replace(actor=KIM)).grant(
            "g",
            principal=deed.actor.id,
            scopes=["pay", "mail"],
            granted_by="human:kim",
            budget=deed.how,
        )

    def _settle(self, ledger: Ledger, deed: Deed) -> None:
        for one in ledger.effects(deed.run)[:1]:
            ledger.settle(
                one.effect.key, happened=deed.how, evidence="looked it up", by="human:kim", actor=KIM
            )

    def _publish(self, ledger: Ledger, deed: Deed) -> None:
        name, items = deed.how
        source = ledger.source(name, actor=KIM)
        gone = {one.id for one in source.state.items} - {one.id for one in items}
        source.publish(f"{next(self._revisions)}", items, withdraw=sorted(gone), by="human:kim", reason="why")

    def _withdraw(self, ledger: Ledger, deed: Deed) -> None:
        name, id = deed.how
        ledger.source(name, actor=KIM).withdraw(id, reason="gone", by="human:kim")

    def _accept(self, ledger: Ledger, deed: Deed) -> None:
        name, id = deed.how
        kind, _, source = name.partition(":")
        item = ledger.source(name).state.item(id)
        text = f"as of {deed.after}" if item is None else item.text
        rule = Rule(deny=("mail",)) if deed.after else None
        origin = Source(kind, source) if deed.after or item is not None else None
        self._run(ledger, deed).accept(id, text, source=origin, asserted_by="human:kim", rule=rule)

    def _let_go(self, ledger: Ledger, deed: Deed) -> None:
        self._run(ledger, deed._replace(actor=KIM)).withdraw(deed.how, reason="it was wrong", by="human:kim")

    def _resume(self, ledger: Ledger, deed: Deed) -> None:
        self._run(ledger, deed)
        ledger.resume(deed.run, actor=deed.actor, take_over=deed.how)

    def _restart(self, ledger: Ledger, deed: Deed) -> None:
        self._run(ledger, deed)
        ledger.restart(deed.run, as_=deed.how, reason="begin anew", by="human:kim", actor=KIM)

    def _fork(self, ledger: Ledger, deed: Deed) -> None:
        self._run(ledger, deed)
        ledger.fork(deed.run, as_=deed.how, at=1, by="human:kim", reason="what if", actor=deed.actor)

    def _child(self, ledger: Ledger, deed: Deed) -> None:
        grants = [{"id": "g", "budget": {"EUR": "1.00"}}] if deed.after else []
        self._run(ledger, deed).open_child(deed.how, "do a part", grants=grants, by="human:kim")

    def _close(self, ledger: Ledger, deed: Deed) -> None:
        run = self._run(ledger, deed)
        # A life that ends soon tells little.
        if run.position > _LIVES:
            run.close(deed.how, reason="enough", by="human:kim")

    def _import(self, ledger: Ledger, deed: Deed) -> None:
        # No attempt is claimed twice.
        events = [
            one.with_fields({"attempt": next(self._attempts)}) if isinstance(one, e.EffectStarted) else one
            for one in deed.how
        ]
        try:
            expected = ledger.contract(deed.run).position
        except RunNotFound:
            expected = 0
            events.insert(0, e.RunOpened(goal="as it was", owner="human:kim"))
        ledger.import_events(deed.run, events, expected=expected, actor=deed.actor, about=["customer:17"])


def one_of_each() -> st.SearchStrategy[list[Event]]:
    """Draw an event of every class that has a place in a run, with all that it may hold, about one thing."""
    kinds: tuple[type[Event], ...] = (e.RunOpened, *INSIDE)
    return st.tuples(*(event(kind, SOLE) for kind in kinds)).map(list)
