"""Catching up, page by page: the rows are those of one fold over all records, whatever the pages."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest

from ledger import Ledger
from ledger.errors import InvalidInput, StoreUnavailable
from ledger.record import Record
from projections.base import Projection, Rows
from projections.runner import Progress, Runner
from projections.standing import forget
from tests.projections.conftest import OpenLedger, SetClock
from tests.projections.samples import Counts, Fragile, Goals, catch_up, fill, kept, naive, standing
from tests.stores.builder import shown, until


@pytest.mark.parametrize("page", [1, 2, 7, 500])
def test_rows_are_those_of_one_fold_whatever_the_size_of_pages(ledger: Ledger, page: int) -> None:
    fill(ledger)
    ledger.source("policy:refunds").publish("1", {"a": "Refund once"}, by="human:kim")
    for projection in (Counts(), Goals()):
        catch_up(ledger, projection, page=page)
        assert kept(ledger, projection) == naive(ledger, projection)
        one = standing(ledger, projection)
        assert (one.state, one.events, one.lag_events, one.holder) == ("active", 17, 0, None)


def test_rows_are_the_same_after_every_rebuild(ledger: Ledger) -> None:
    fill(ledger)
    counts = Counts()
    found = []
    for page in (3, 1, 100):
        catch_up(ledger, counts, page=page)
        found.append(kept(ledger, counts))
        forget(ledger, counts)
        assert kept(ledger, counts) == {"said": [], "runs": []}
        assert standing(ledger, counts).state == "new"
    assert found[0] == found[1] == found[2] != {"said": [], "runs": []}


def test_what_is_appended_later_is_added_and_nothing_is_handled_twice(ledger: Ledger) -> None:
    run = ledger.open_run("run", "goal")
    fragile = Fragile()
    catch_up(ledger, fragile)
    catch_up(ledger, fragile)
    run.revise_goal("other", reason="it changed", by="human:kim")
    catch_up(ledger, fragile)
    assert fragile.handled == [("run", 1), ("run", 2)]
    assert kept(ledger, fragile) == naive(ledger, Counts())


def test_an_empty_ledger_is_caught_up_with(ledger: Ledger) -> None:
    catch_up(ledger, Goals())
    assert standing(ledger, Goals())[2:5] == ("active", 0, 0)


def test_a_projection_is_given_the_events_it_wants_and_gets_past_the_others(ledger: Ledger) -> None:
    run = ledger.open_run("run", "goal")
    for number in range(5):
        run.record_message(f"m-{number}", "user", "hello")
    catch_up(ledger, Goals(), page=2)
    assert [row[:2] for row in kept(ledger, Goals())["goals"]] == [("run", "goal")]
    one = standing(ledger, Goals())
    assert (one.events, one.lag_events) == (6, 0)
    run.revise_goal("gone", reason="it changed", by="human:kim")
    catch_up(ledger, Goals())
    assert kept(ledger, Goals()) == {"goals": []}


def test_tenants_with_equal_names_do_not_meet(open_on: OpenLedger) -> None:
    ledgers = [open_on(tenant) for tenant in ("acme", "Acme", "acme ", "b")[:2]] + [open_on("b")]
    for number, ledger in enumerate(ledgers):
        fill(ledger, runs=2, events=2 + number)
        ledger.open_run(f"only-{number}", ledger.tenant)
    counts, goals = Counts(), Goals()
    for ledger in ledgers:
        catch_up(ledger, counts, goals, page=3)
    found = [kept(ledger, counts) for ledger in ledgers]
    assert found == [naive(ledger, counts) for ledger in ledgers]
    assert len({str(one) for one in found}) == 3
    forget(ledgers[0], goals)
    assert kept(ledgers[0], goals) == {"goals": []}
    assert [kept(ledger, goals) for ledger in ledgers[1:]] == [naive(ledger, goals) for ledger in ledgers[1:]]
    assert standing(ledgers[1], goals).events == 7


def test_records_of_other_tenants_are_passed_and_not_read_again(open_on: OpenLedger) -> None:
    mine, others = open_on("mine"), open_on("others")
    mine.open_run("run", "goal")
    fill(others)
    catch_up(mine, Goals())
    one = standing(mine, Goals())
    assert (one.position, one.events) == (mine.store.end(), 1)
    reads: list[int] = []
    watched = _Watched(mine.store, reads)
    catch_up(open_on("mine", watched), Goals())
    # A look at the record where it stands, whosever it is, and one behind it.
    assert reads == [one.position - 1, one.position]


class _Watched:
    """Notes from where the global order is read."""

    def __init__(self, store: Any, reads: list[int]) -> None:
        self._store = store
        self._reads = reads

    def tail(self, *, after: int = 0, **more: Any) -> Any:
        self._reads.append(after)
        return self._store.tail(after=after, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def test_pages_are_cut_by_bytes(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ledger.open_run("run", "goal")
    for number in range(12):
        run.revise_goal(f"{number}" * 2000, reason="it changed", by="human:kim")
    models = type(ledger.store.read_models())
    advance, pages = models.advance, list[int]()

    def counted(self: Any, tenant: str, model: Any, page: Any, **more: Any) -> None:
        pages.append(page.reached.events)
        advance(self, tenant, model, page, **more)

    monkeypatch.setattr(models, "advance", counted)
    counts = Counts()
    catch_up(ledger, counts, page_bytes=7_000)
    sizes = [later - earlier for earlier, later in zip([0, *pages], pages, strict=False)]
    assert sum(sizes) == 13
    assert max(sizes) <= 3
    # A record that is larger than a page is one.
    forget(ledger, counts)
    pages.clear()
    catch_up(ledger, counts, page_bytes=10)
    assert list(dict.fromkeys(pages)) == list(range(1, 14))
    assert kept(ledger, counts) == naive(ledger, counts)


def test_several_projections_share_what_is_read_and_decoded(open_on: OpenLedger) -> None:
    ledger = open_on()
    fill(ledger)
    reads: list[int] = []
    watched = open_on("default", _Watched(ledger.store, reads))
    catch_up(watched, Counts(), Goals(), Fragile(), page=5)
    assert len(reads) == len(set(reads)) + 2  # all three look for more at the end
    for one in (Counts(), Goals(), Fragile()):
        assert kept(ledger, one) == naive(ledger, one)


def test_a_follower_shows_what_is_appended_while_it_runs(ledger: Ledger) -> None:
    goals = Goals()
    with Runner(ledger, [goals, Counts()]).in_background():
        run = ledger.open_run("run", "goal")
        for number in range(20):
            run.revise_goal(f"goal {number}", reason="it changed", by="human:kim")
        until(lambda: [row[1] for row in kept(ledger, goals)["goals"]] == ["goal 19"])
        until(lambda: kept(ledger, Counts()) == naive(ledger, Counts()))
        assert standing(ledger, goals).holder is not None
    # Whoever comes next need not wait for the end of a lease.
    assert standing(ledger, goals).holder is None


def test_closing_the_ledger_ends_a_follower(ledger: Ledger) -> None:
    ledger.open_run("run", "goal")
    begun = Event()

    class Told(Goals):
        def handle(self, record: Record, rows: Rows) -> None:
            begun.set()

    with Runner(ledger, [Told()]).in_background():
        assert begun.wait(60)
        ledger.close()


def test_a_ledger_that_is_closed_is_told_where_somebody_waits_for_the_end(ledger: Ledger) -> None:
    runner = Runner(ledger, [Goals()])
    ledger.close()
    with pytest.raises(StoreUnavailable):
        runner.run(until_current=True)


def test_progress_tells_how_many_there_are(ledger: Ledger) -> None:
    fill(ledger)
    shown(ledger.store)
    told: list[Progress] = []
    Runner(ledger, [Goals()], page=4).run(until_current=True, progress=told.append)
    assert told[0] == Progress("goals", 4, 15)
    assert told[-1] == Progress("goals", 15, 15)


def test_lag_is_counted_in_events_and_in_the_age_of_the_first(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("run", "goal")
    assert standing(ledger, Goals())[2:9] == ("new", 0, 0, None, 1, 0.0, None)
    catch_up(ledger, Goals())
    opened = clock.now
    clock.tick(10)
    run.revise_goal("other", reason="it changed", by="human:kim")
    clock.tick(5)
    run.revise_goal("third", reason="it changed", by="human:kim")
    clock.tick(2.5)
    one = standing(ledger, Goals())
    assert (one.state, one.events, one.at, one.lag_events, one.lag_seconds) == ("active", 1, opened, 2, 7.5)
    catch_up(ledger, Goals())
    one = standing(ledger, Goals())
    assert (one.lag_events, one.lag_seconds, one.events) == (0, 0.0, 3)


def test_a_projection_that_was_never_caught_up_is_being_built(ledger: Ledger) -> None:
    fill(ledger)
    shown(ledger.store)
    stop = Event()
    Runner(ledger, [Goals()], page=2).run(stop=stop, progress=lambda now: stop.set())
    one = standing(ledger, Goals())
    assert (one.state, one.events) == ("building", 2)
    catch_up(ledger, Goals())
    fill_more = ledger.run("run-0")
    fill_more.revise_goal("later", reason="it changed", by="human:kim")
    assert standing(ledger, Goals()).state == "active"


@pytest.mark.parametrize(
    ("projections", "options"),
    [
        ([], {}),
        ([Goals(), Goals()], {}),
        ([Goals()], {"page": 0}),
        ([Goals()], {"page_bytes": 0}),
        ([Goals()], {"lease_seconds": 0}),
    ],
)
def test_what_cannot_be_run_is_refused(
    ledger: Ledger, projections: list[Projection], options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput):
        Runner(ledger, projections, **options)
