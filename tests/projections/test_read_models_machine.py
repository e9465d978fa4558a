"""Whatever happens to runs and to runners, every read model is what its records say, and nothing else.

Life goes on at random in two tenants while all projections that come with the ledger are run, crash, are made
anew, changed back, set aside what they cannot handle and take it up again. Then each row of each build is
compared with what a plain reading of the records comes to, up to where the build's cursor stands.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from ledger import Actor, Ledger, Recovery
from ledger import commands as c
from ledger import events as e
from ledger.application.edge import Edge
from ledger.events import Event
from ledger.stores.base import FullStore
from ledger.stores.memory import MemoryStore
from ledger.stores.sqlite import SQLiteStore
from ledger.values import Payload, Published, Rule
from projections.base import Projection
from projections.built_in import BUILT_IN
from projections.checking import check
from projections.errors import NoPreviousBuild, ProjectionStopped
from projections.rebuilding import drop, rebuild, serve_previous
from projections.runner import Progress, Runner
from projections.standing import forget, resume_projection
from tests.projections.conftest import SetClock
from tests.projections.frail import Crash, Crashing, Frail
from tests.projections.living import Deed, Life, deeds, one_of_each
from tests.projections.plain_models import PlainModels, check_builds, kept_rows
from tests.projections.samples import Place
from tests.stores.builder import in_memory, shown
from tests.stores.conftest import postgres

TENANTS = st.sampled_from(["acme", "Acme"])
ALL = list(BUILT_IN)
NAMES = st.lists(st.sampled_from(ALL), min_size=1, max_size=4, unique=True) | st.just(ALL)
PAGES = st.integers(1, 9) | st.just(500)
SPOKESMAN = Actor(
    "human:kim", session="s", authenticated_by="oidc", role="clerk", on_behalf_of=("human:max",)
)
LEASE = 31
"""Seconds after which nobody waits for who was killed."""


class Machine(RuleBasedStateMachine):
    """Two tenants on one store."""

    def __init__(self, store: FullStore) -> None:
        super().__init__()
        self.store = store
        self.clock = SetClock()
        self.life = Life(self.clock)
        self.plain = {"acme": PlainModels(), "Acme": PlainModels()}
        self.poison: set[Place] = set()
        self.projections: dict[str, Projection] = {
            name: Frail(whole, self.poison) for name, whole in BUILT_IN.items()
        }

    def ledger(self, tenant: str, store: Any = None) -> Ledger:
        actor = Actor("service:tests")
        return Ledger(Edge(store or self.store, tenant, actor, self.clock, pause=lambda attempt: None))

    @initialize(some=st.lists(deeds(), min_size=15, max_size=30))
    def life_begins(self, some: list[Deed]) -> None:
        for tenant in self.plain:
            self.life.live(self.ledger(tenant), some)

    @rule(tenant=TENANTS, some=st.lists(deeds(), min_size=6, max_size=20))
    def life_goes_on(self, tenant: str, some: list[Deed]) -> None:
        self.life.live(self.ledger(tenant), some)

    @rule(tenant=TENANTS, page=PAGES, names=NAMES, park=st.booleans())
    def catch_up(self, tenant: str, page: int, names: list[str], park: bool) -> None:
        self.going(
            tenant, names, lambda ledger, some: self.run(ledger, some, page=page, park=park), whole=True
        )

    @rule(tenant=TENANTS, page=PAGES, names=NAMES, left=st.integers(1, 12), stored=st.booleans())
    def crash(self, tenant: str, page: int, names: list[str], left: int, stored: bool) -> None:
        store = Crashing(self.store, left, stored=stored)
        self.going(tenant, names, lambda ledger, some: self.run(ledger, some, page=page), store)

    @rule(tenant=TENANTS, page=PAGES, names=NAMES, fresh=st.booleans(), park=st.booleans())
    def make_anew(self, tenant: str, page: int, names: list[str], fresh: bool, park: bool) -> None:
        self.going(
            tenant,
            names,
            lambda ledger, some: rebuild(ledger, some, page=page, fresh=fresh, park=park),
            whole=True,
        )

    @rule(tenant=TENANTS, page=PAGES, names=NAMES, left=st.integers(1, 16), stored=st.booleans())
    def crash_in_making_anew(self, tenant: str, page: int, names: list[str], left: int, stored: bool) -> None:
        store = Crashing(self.store, left, stored=stored)
        self.going(tenant, names, lambda ledger, some: rebuild(ledger, some, page=page), store)

    @rule(tenant=TENANTS, names=NAMES, pages=st.integers(1, 6))
    def stop_making_anew(self, tenant: str, names: list[str], pages: int) -> None:
        stop, progress = _after(pages)
        self.going(
            tenant, names, lambda ledger, some: rebuild(ledger, some, page=2, stop=stop, progress=progress)
        )

    @rule(tenant=TENANTS, names=NAMES)
    def go_back(self, tenant: str, names: list[str]) -> None:
        def back(ledger: Ledger, some: list[Projection]) -> None:
            for one in some:
                with suppress(NoPreviousBuild):
                    serve_previous(ledger, one)

        self.going(tenant, names, back)

    @rule(tenant=TENANTS, names=NAMES, whole=st.booleans())
    def delete(self, tenant: str, names: list[str], whole: bool) -> None:
        def deleted(ledger: Ledger, some: list[Projection]) -> None:
            for one in some:
                (forget if whole else drop)(ledger, one)

        self.going(tenant, names, deleted)

    @rule(
        tenant=TENANTS,
        some=st.lists(deeds(), min_size=4, max_size=10),
        number=st.integers(0, 9),
        page=PAGES,
        park=st.booleans(),
    )
    def something_is_said_that_cannot_be_handled(
        self, tenant: str, some: list[Deed], number: int, page: int, park: bool
    ) -> None:
        end = self.store.end()
        self.life.live(self.ledger(tenant), some)
        shown(self.store)
        said = self.store.tail(after=end, limit=100, tenant=tenant)
        self.poison.clear()
        if said:
            wrong = said[number % len(said)]
            self.poison.add((wrong.stream, wrong.position))
        self.catch_up(tenant, page, ALL, park)

    @rule(tenant=TENANTS, page=PAGES, names=st.just(ALL) | NAMES)
    def mend(self, tenant: str, page: int, names: list[str]) -> None:
        self.poison.clear()

        def mended(ledger: Ledger, some: list[Projection]) -> None:
            for one in some:
                resume_projection(ledger, one)
            self.run(ledger, some, page=page)

        self.going(tenant, names, mended, whole=True)
        for name in names:
            models = self.store.read_models()
            assert all(
                models.parked(tenant, self.projections[name].model._replace(slot=slot)) == []
                for slot in (0, 1)
                if (name, slot) in self.worked_on
            )

    @rule(
        tenant=TENANTS,
        some=st.lists(deeds(), min_size=6, max_size=12),
        more=st.lists(deeds(), min_size=6, max_size=12),
        number=st.integers(0, 9),
        page=PAGES,
        handled=st.booleans(),
    )
    def set_aside_and_mended(
        self, tenant: str, some: list[Deed], more: list[Deed], number: int, page: int, handled: bool
    ) -> None:
        self.something_is_said_that_cannot_be_handled(tenant, some, number, page, park=True)
        self.life.live(self.ledger(tenant), more)
        if handled:
            self.catch_up(tenant, page, ALL, park=True)
        self.mend(tenant, page, ALL)

    @rule(tenant=TENANTS, page=PAGES, names=NAMES)
    def verify(self, tenant: str, page: int, names: list[str]) -> None:
        """Find all as it has to be, wherever it stands."""
        shown(self.store)
        found = check(self.ledger(tenant), [BUILT_IN[name] for name in names], page=page)
        assert {one.state for one in found} <= {"same", "new", "going"}, found

    def run(self, ledger: Ledger, some: list[Projection], **options: Any) -> None:
        Runner(ledger, some, **options).run(until_current=True)

    def going(
        self,
        tenant: str,
        names: list[str],
        work: Callable[[Ledger, list[Projection]], object],
        store: Any = None,
        *,
        whole: bool = False,
    ) -> None:
        """Let something be done to projections, then compare all that is kept of them."""
        # Who crashed has left a lease behind.
        self.clock.tick(LEASE)
        shown(self.store)
        some = [self.projections[name] for name in names]
        stopped = True
        with suppress(Crash, *([ProjectionStopped] if self.poison else [])):
            work(self.ledger(tenant, store), some)
            stopped = False
        self.worked_on = set()
        for one in some:
            cursors = check_builds(self.ledger(tenant), one, self.plain[tenant])
            if whole and not stopped:
                ahead = [cursor for cursor in cursors if cursor.reached.position >= self.store.end()]
                assert ahead, f"{one.name} has not caught up"
                self.worked_on |= {(one.name, cursor.slot) for cursor in ahead}


def _after(pages: int) -> tuple[threading.Event, Callable[[Progress], None]]:
    stop, told = threading.Event(), list[Progress]()

    def progress(now: Progress) -> None:
        told.append(now)
        if len(told) >= pages:
            stop.set()

    return stop, progress


class OnMemory(Machine):
    def __init__(self) -> None:
        super().__init__(MemoryStore())


class OnSQLite(Machine):
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=in_memory()))
        super().__init__(SQLiteStore(self.folder / "ledger.db"))

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)


class OnPostgres(Machine):
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        super().__init__(postgres("postgres", self.folder))

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)


def test_on_memory() -> None:
    run_state_machine_as_test(OnMemory, settings=settings(max_examples=8, stateful_step_count=25))


@pytest.mark.slow
def test_on_sqlite() -> None:
    run_state_machine_as_test(OnSQLite, settings=settings(max_examples=6, stateful_step_count=20))


@pytest.mark.slow
def test_on_postgres() -> None:
    run_state_machine_as_test(OnPostgres, settings=settings(max_examples=2, stateful_step_count=20))


def filled(ledger: Ledger) -> set[str]:
    """Name the columns that hold something somewhere."""
    return {
        f"{one.name}.{table}.{column}"
        for one in BUILT_IN.values()
        for table, cells in kept_rows(ledger, one.model)
        for column, _ in cells
    }


_NAMED = {"asserted_by": "human:lee", "id": "a", "revision": "one", "source": "policy:refunds"}


def said_in_full(ledger: Ledger) -> None:
    """Say what events that are drawn may leave empty, and what is said to sources."""
    source = ledger.source("policy:refunds")
    source.open(owners=["human:kim"])
    for text in ("one", "two"):
        source.publish(
            text, [Published(id="a", text=text, rule=Rule(deny=("pay",)))], by="human:kim", reason="so"
        )
    source.withdraw("a", by="human:kim", reason="gone")
    run = ledger.open_run("full", "go", labels={"team": "refunds"})
    run.do(c.OpenObligation(id="a", owed_to="human:kim", text="do"), causation="x", correlation="y")
    digest, written = Payload(digest="d" * 64, size=9), Payload(json_text="1")
    amounts = {"EUR": Decimal("1.50")}
    effect: dict[str, Any] = {
        "act": "a" * 64, "args": "{}", "authority": ("g",), "key_scheme": "given", "tool": "pay",
        "recovery": Recovery.IDEMPOTENT, "reserved": amounts, "source_positions": {"policy:refunds": 1},
    }  # fmt: skip
    events: list[Event] = [
        e.AuthorityGranted(
            budget={"EUR": Decimal(9)}, granted_by="human:kim", id="g", principal="agent:a", scopes=("pay",)
        ),
        e.EffectIntended(key="b" * 64, **effect),
        e.EffectIntended(key="c" * 64, **effect),
        e.EffectSucceeded(attempt=1, cost=amounts, key="c" * 64, result=digest),
        e.EffectSucceeded(attempt=2, key="c" * 64, result=written),
        e.EffectRefused(evidence={"limit": "100"}, rule="off_plan", tool="pay"),
        e.EffectRefused(evidence=_NAMED, rule="constraint_violated", tool="pay"),
        e.EffectRefused(evidence={"approval": "q", "by": "human:lee"}, rule="approval_denied", tool="pay"),
        e.ObservationRecorded(cost=amounts, key="o", tool="look", value=digest.with_fields({"type": "Seen"})),
        e.ApprovalRequested(id="q", key="b" * 64, question="May it?"),
        e.ObservationRecorded(key="p", tool="look", value=written),
        e.MessageRecorded(content=digest, id="m", role="user"),
        e.MessageRecorded(content=written, id="n", role="user"),
    ]
    ledger.import_events("full", events, expected=2)
    answer = e.ApprovalAnswered(answer="approved", by="human:lee", id="q", reason="it is owed")
    ledger.import_events("full", [answer], expected=2 + len(events), actor=Actor("human:lee"))


@given(one_of_each())
@settings(max_examples=2, phases=[Phase.generate])
def test_every_column_is_compared_where_it_holds_something(events: list[Event]) -> None:
    """A run of one event of every class, each with all that it may hold, compared after each of them."""
    clock, plain, found = SetClock(), PlainModels(), set[str]()
    with closing(MemoryStore()) as store:
        ledger = Ledger(Edge(store, "acme", SPOKESMAN, clock))
        said_in_full(ledger)
        runner = Runner(ledger, BUILT_IN.values())
        for position, event in enumerate(events):
            ledger.import_events("old", [event], expected=position, about=["customer:17"])
            runner.run(until_current=True)
            found |= filled(ledger)
            for one in BUILT_IN.values():
                check_builds(ledger, one, plain)
    columns = {
        f"{one.name}.{table.name}.{column.name}"
        for one in BUILT_IN.values()
        for table in one.tables
        for column in table.columns
    }
    assert columns - found == set()
