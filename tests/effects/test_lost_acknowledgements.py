"""The store keeps an append and its answer is lost, or the other way round: nothing is executed twice for it.

Of the outcome nobody hears of that; a claim's error reaches the caller, who says the same again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger import Ledger, open_ledger
from ledger.application import performing
from ledger.errors import EffectFailed, StoreBusy, StoreUnavailable
from ledger.testing import Clock
from tests.effects.deeds import DEEDS, LEASE, before_each_call
from tests.effects.hooked import CLAIM, FAILURE, OUTCOME, Hooked, hooked
from tests.effects.scene import EXECUTES, IN_FLIGHT, TELLS, Scene
from tests.outside.manners import refused
from tests.outside.outside import Outside
from tests.servers.cluster import Cluster
from tests.servers.proxy import Proxy

pytestmark = pytest.mark.slow


class Failing:
    """Fails the next calls with these errors."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    def __call__(self) -> None:
        if self.errors:
            raise self.errors.pop(0)


def lost() -> StoreUnavailable:
    return StoreUnavailable("the connection was lost at COMMIT")


def opened(
    place: Path | str, outside: Callable[[str], Outside], name: str, recovery: str = "queryable"
) -> tuple[Scene, Hooked]:
    clock, deed = Clock(), DEEDS[recovery]
    ledger, store = hooked(place, clock)
    # The key is made of it, and a client knows for its thread what it sent under a key.
    run = f"{name}, in {type(place).__name__}"
    ledger.open_run(run, "Do it once")
    return Scene(ledger, run, clock, deed, outside(deed.outside), []), store


@pytest.mark.parametrize("stored", [True, False])
def test_a_claim_whose_answer_was_lost_is_executed_once_when_it_is_said_again(
    place: Path | str, outside: Callable[[str], Outside], stored: bool
) -> None:
    there, store = opened(place, outside, f"claim, stored: {stored}")
    failing = Failing(lost())
    (store.after if stored else store.before)(CLAIM, failing)
    with there.ledger:
        kept = there.ledger.run(there.run)  # the doubt is kept with the run
        with pytest.raises(StoreUnavailable):
            there.perform()
        assert there.calls == []
        with open_ledger(place, clock=there.clock) as other:
            # Who does not know of the doubt leaves alone what may be under way.
            again = there._replace(ledger=other).perform()
            assert again == (IN_FLIGHT if stored else EXECUTES)
        assert there.perform() == (EXECUTES if stored else TELLS)
        assert there.acts() == 1
        assert there.names().count("effect.started") == 1
        assert there.outcomes() == 1
        assert kept.contract.effects == ()


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("recovery", list(DEEDS))
def test_an_outcome_whose_answers_were_lost_is_stored_once_and_told(
    place: Path | str, outside: Callable[[str], Outside], stored: bool, recovery: str
) -> None:
    there, store = opened(place, outside, f"outcome, stored: {stored}, {recovery}", recovery)
    (store.after if stored else store.before)(OUTCOME, Failing(lost(), lost(), lost()))
    store.before(OUTCOME, Failing(StoreBusy("too many wait")))
    with there.ledger:
        assert there.perform() == EXECUTES
        assert there.perform() == TELLS
        assert there.acts() == 1
        assert there.outcomes() == 1
        assert there.ledger.effects(there.run) == []


def test_a_failure_whose_answer_was_lost_is_one_failure(
    place: Path | str, outside: Callable[[str], Outside]
) -> None:
    there, store = opened(place, outside, "failure", "idempotent")
    store.after(FAILURE, Failing(lost()))
    there.server.expect(refused())
    with there.ledger:
        with pytest.raises(EffectFailed):
            there.perform()
        assert there.perform() == EXECUTES
        assert there.acts() == 1
        assert there.names().count("effect.failed") == 1


def test_what_a_store_that_stays_away_does_not_keep_is_found_out_later(
    place: Path | str, outside: Callable[[str], Outside], monkeypatch: pytest.MonkeyPatch
) -> None:
    there, store = opened(place, outside, "away")
    monkeypatch.setattr(performing, "REPORT_SECONDS", 0.0)
    store.before(OUTCOME, Failing(lost()))
    with there.ledger:
        with pytest.raises(StoreUnavailable):
            there.perform()
        assert there.acts() == 1
        assert there.perform() == IN_FLIGHT
        there.at(LEASE)
        assert there.perform() == TELLS
        assert there.acts() == 1


@pytest.mark.parametrize("moment", ["cut_after", "cut_before"])
@pytest.mark.parametrize("append", ["claim", "outcome"])
def test_a_connection_to_postgres_that_breaks_at_an_append_executes_nothing_twice(
    postgres: Cluster, proxy: Proxy, outside: Callable[[str], Outside], moment: str, append: str
) -> None:
    """The store itself looks for what it sent where it can, so that the caller need not hear of it."""
    url = postgres.url(postgres.fresh_database().rpartition("/")[2], port=proxy.port)
    deed, clock = DEEDS["queryable"], Clock()
    server = outside(deed.outside)

    def cut() -> None:
        getattr(proxy, moment)(r"INSERT INTO [^.]+\.events")

    with open_ledger(url, clock=clock) as ledger:
        there = Scene(ledger, "r", clock, deed, server, [])
        kept = ledger.open_run("r", "Do it once")
        if append == "claim":
            cut()
        assert until_told(ledger, there, cut if append == "outcome" else lambda: None)
        assert proxy.cuts == 1
        assert there.acts() == 1
        assert there.names().count("effect.started") == 1
        assert there.outcomes() == 1
        assert kept.contract.effects == ()


def until_told(ledger: Ledger, there: Scene, hook: Callable[[], object]) -> Any:
    """Perform the act, again where the store was not there; return its result."""
    tool = before_each_call(there.deed.tool(there.server.port), hook)
    for _ in range(2):
        try:
            return ledger.run(there.run).perform(tool, there.deed.args)
        except StoreUnavailable:
            continue
    return ledger.run(there.run).perform(tool, there.deed.args)
