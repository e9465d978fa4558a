"""Where the same model, version or policy was used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger import Ledger
from ledger.application.edge import Edge
from ledger.errors import InvalidInput
from tests.projections.questions.telling import explained, scans, told
from tests.projections.questions.trip import AGENT, STORES, Trip, minute, trip_on, written

ASKED = "same-runtime"


@pytest.fixture(scope="module", params=STORES)
def trip(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trip]:
    with trip_on(request.param, tmp_path_factory.mktemp("trip")) as trip:
        yield trip


OPENED = ("trip-1", 1, written(1), "opened", "model", "m-1", None)
AGAIN = ("trip-2", 1, written(21), "opened", "model", "m-1", None)


def test_a_model_is_found_in_every_run_and_at_every_call(trip: Trip) -> None:
    assert told(trip.ledger, ASKED, model="m-1") == [OPENED, AGAIN]
    assert told(trip.ledger, ASKED, model="m-3") == [
        ("trip-1", 12, written(10), "observed", "model", "m-3", "atlas")
    ]
    assert told(trip.ledger, ASKED, model="p-1") == []


def test_a_version_is_found_where_it_was_opened_adopted_or_asked_with(trip: Trip) -> None:
    assert told(trip.ledger, ASKED, digest="p-1") == [
        ("trip-1", 1, written(1), "opened", "prompt", "p-1", None),
        ("trip-1", 11, written(9), "adopted", "prompt", "p-1", None),
    ]
    assert told(trip.ledger, ASKED, "position", "field", digest="t-1") == [
        (1, "tool_schema"),
        (11, "tool_schema"),
    ]
    assert told(trip.ledger, ASKED, digest="m-1") == []


def test_a_revision_is_found_where_it_was_accepted_from_or_read(trip: Trip) -> None:
    policy = {"source": "policy:travel"}
    accepted = ("trip-2", 2, written(21), "accepted", "revision", "1", "cheap")
    read = ("trip-2", 3, written(23), "acknowledged", "revision", "2", None)
    assert told(trip.ledger, ASKED, **policy, revision="1") == [accepted]
    assert told(trip.ledger, ASKED, **policy, revision="2") == [read]
    assert told(trip.ledger, ASKED, **policy, revision="2", before=minute(23)) == []
    assert told(trip.ledger, ASKED, source="policy:other", revision="1") == []


def test_a_period_and_a_moment_bound_it(trip: Trip) -> None:
    assert told(trip.ledger, ASKED, model="m-1", since=minute(2)) == [AGAIN]
    assert told(trip.ledger, ASKED, model="m-1", before=minute(21)) == [OPENED]
    assert told(trip.ledger, ASKED, model="m-1", as_of=trip.gid(24)) == [OPENED]
    assert told(trip.ledger, ASKED, model="m-1", as_of=minute(21)) == [OPENED, AGAIN]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"model": "m-1", "digest": "p-1"},
        {"source": "policy:travel"},
        {"revision": "1"},
        {"model": "m-1", "revision": "1"},
    ],
)
def test_one_thing_is_asked_about(trip: Trip, given: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        told(trip.ledger, ASKED, **given)


def test_another_tenant_is_told_nothing(trip: Trip) -> None:
    edge = Edge(trip.ledger.store, "other", AGENT, lambda: minute(30), pause=lambda attempt: None)
    assert told(Ledger(edge), ASKED, model="m-1") == []
    assert told(Ledger(edge), ASKED, source="policy:travel", revision="1") == []


def test_only_rows_of_it_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ({"model": "m-1"}, {"digest": "p-1"}, {"source": "policy:travel", "revision": "1"})
    with trip_on("sqlite", tmp_path) as trip:
        told(trip.ledger, ASKED, model="m-1")
        plans = explained(monkeypatch)
        for given in asked:
            told(trip.ledger, ASKED, **given)
            told(trip.ledger, ASKED, **given, since=minute(2), before=minute(22))
    assert not scans(plans)
    entered = [plan for plan in plans if plan.startswith("SEARCH") and "position=?" not in plan]
    assert len(entered) == 8
    assert all("value=? AND field=?" in plan or "source=?" in plan for plan in entered)
