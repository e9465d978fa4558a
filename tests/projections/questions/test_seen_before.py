"""What a run had seen before it acted."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from ledger import Ledger, Runtime, open_ledger
from ledger.errors import EffectNotFound, InvalidInput
from ledger.events import (
    EffectFailed,
    EffectIntended,
    EffectStarted,
    MessageRecorded,
    MessagesSummarised,
    ObservationRecorded,
    RunOpened,
    RunResumed,
    RuntimeAdopted,
)
from ledger.values import ErrorSaid, Payload, Recovery
from projections.questions.seen_before import SeenBeforeEffect
from tests.projections.questions.telling import explained, scans, told
from tests.projections.questions.trip import AGENT, STORES, Trip, minute, trip_on, written

ASKED = "seen-before-effect"
COLUMNS = [column.name for column in SeenBeforeEffect.columns]
MESSAGE = sha256(b'"Book me a hotel"').hexdigest()


@pytest.fixture(scope="module", params=STORES)
def trip(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trip]:
    with trip_on(request.param, tmp_path_factory.mktemp("trip")) as trip:
        yield trip


def rows(ledger: Ledger, **given: object) -> list[dict[str, object]]:
    """Ask, and leave out the cells that are empty."""
    found = told(ledger, ASKED, **given)
    return [{n: c for n, c in zip(COLUMNS, row, strict=True) if c is not None} for row in found]


def seen(position: int, at: int, kind: str, name: str, **more: object) -> dict[str, object]:
    return {"run": "trip-1", "position": position, "at": written(at), "kind": kind, "name": name, **more}


FIRST_LOOK = seen(
    4, 4, "observation", "look_rooms", key="rooms", value='{"free":3}', observed_at=written(4)
)  # fmt: skip
WORDS = seen(3, 3, "message", "user", key="msg-1", digest=MESSAGE)


def test_of_an_act_is_told_what_was_seen_said_and_in_force(trip: Trip) -> None:
    assert rows(trip.ledger, key=trip.booked) == [
        {"effect_position": 7, **one}
        for one in (
            seen(1, 1, "model", "opened", value="m-1"),
            seen(1, 1, "prompt", "opened", value="p-1"),
            seen(1, 1, "tool_schema", "opened", value="t-1"),
            WORDS,
            FIRST_LOOK,
            seen(7, 7, "tool", "book_room", **_schema(trip, 7)),
        )
    ]


def test_a_later_act_has_seen_more_and_is_in_the_hands_of_another_model(trip: Trip) -> None:
    """An adoption names the whole runtime; what a single call was answered by is told with its answer."""
    found = rows(trip.ledger, key=trip.mailed_late[:8])
    assert found == [
        {"effect_position": 19, **one}
        for one in (
            WORDS,
            {**FIRST_LOOK, "invalidated": 17},
            seen(11, 9, "model", "adopted", value="m-2"),
            seen(11, 9, "prompt", "adopted", value="p-1"),
            seen(11, 9, "tool_schema", "adopted", value="t-1"),
            seen(
                12, 10, "observation", "atlas", key="answer", value='"station"', observed_at=written(10),
                model="m-3", prompt_digest="p-9",
            ),
            seen(
                13, 11, "observation", "look_rooms", key="rooms", value='{"free":1}', observed_at=written(11),
                invalidated=17,
            ),
            seen(19, 15, "tool", "send_mail", **_schema(trip, 19)),
        )
    ]  # fmt: skip
    before = rows(trip.ledger, key=trip.mailed)
    assert [one["position"] for one in before] == [3, 4, 11, 11, 11, 12, 13, 14]
    assert not any("invalidated" in one for one in before)


def _schema(trip: Trip, position: int) -> dict[str, object]:
    (record,) = trip.ledger.log("trip-1", after=position - 1, limit=1)
    assert isinstance(record.event, EffectIntended)
    return {"tool_schema": record.event.tool_schema} if record.event.tool_schema else {}


def test_an_earlier_moment_does_not_know_the_act(trip: Trip) -> None:
    assert rows(trip.ledger, key=trip.booked, as_of=trip.gid(7)) == rows(trip.ledger, key=trip.booked)
    with pytest.raises(EffectNotFound):
        told(trip.ledger, ASKED, key=trip.booked, as_of=trip.gid(6))
    with pytest.raises(EffectNotFound):
        told(trip.ledger, ASKED, key="0" * 64)
    with pytest.raises(InvalidInput):
        told(trip.ledger, ASKED, key="room")


def test_only_rows_of_the_run_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with trip_on("sqlite", tmp_path) as trip:
        told(trip.ledger, ASKED, key=trip.mailed)
        plans = explained(monkeypatch)
        told(trip.ledger, ASKED, key=trip.mailed)
    assert not scans(plans)
    # The runtimes of model calls are not walked through for that of the run.
    assert [plan for plan in plans if "v1_runtimes_1 (tenant=? AND run=? AND how=?)" in plan]


KEY, OTHER = "a" * 64, "b" * 64


def _intended(key: str) -> EffectIntended:
    return EffectIntended(
        act=key,
        args="{}",
        key=key,
        key_scheme="v1",
        recovery=Recovery.AT_MOST_ONCE,
        tool="pay",
        tool_schema="c" * 64,
    )


def _observed(key: str, **more: object) -> ObservationRecorded:
    return ObservationRecorded(key=key, tool="look", **more)  # type: ignore[arg-type]


def test_each_attempt_has_seen_what_came_before_it() -> None:
    with open_ledger(":memory:") as ledger:
        ledger.import_events(
            "run",
            [
                RunOpened(goal="go", runtime=Runtime(model="m-1", config="c-1")),  # 1
                _intended(KEY),  # 2
                EffectStarted(attempt=1, key=KEY, lease_until=minute(1), root="run", worker="w"),  # 3
                EffectFailed(attempt=1, error=ErrorSaid(message="busy", type="Busy"), key=KEY),  # 4
                _observed("service", value=Payload(digest="d" * 64, size=9)),  # 5
                RunResumed(
                    gap_seconds=1, incarnation=2, prompt_digest="e" * 64, runtime=Runtime(model="m-2")
                ),
                _intended(OTHER),  # 7
                _intended(KEY),  # 8
            ],
            expected=0,
            actor=AGENT,
        )
        found = told(ledger, ASKED, "effect_position", "position", "kind", "name", "value", "digest", key=KEY)
    runtime = [(1, "config", "opened", "c-1", None), (1, "model", "opened", "m-1", None)]
    resumed = [
        (1, "config", "opened", "c-1", None),
        (5, "observation", "look", None, "d" * 64),
        (6, "model", "resumed", "m-2", None),
    ]
    tools = [(2, "tool", "pay", None, None), (8, "tool", "pay", None, None)]
    assert found == [
        *((2, *one) for one in (*runtime, tools[0])),
        *((8, *one) for one in (*resumed, tools[1])),
    ]


def test_what_an_adoption_does_not_name_is_in_force_no_more() -> None:
    with open_ledger(":memory:") as ledger:
        ledger.import_events(
            "run",
            [
                RunOpened(goal="go", runtime=Runtime(model="m-1", config="c-1")),
                RuntimeAdopted(by="human:kim", reason="anew", runtime=Runtime()),
                MessageRecorded(id="one", role="user", content=Payload(json_text='"hello"')),
                MessagesSummarised(count=1, through="one", content=Payload(digest="d" * 64, size=5)),
                _intended(KEY),
            ],
            expected=0,
            actor=AGENT,
        )
        assert ledger.contract("run").runtime == Runtime()
        found = told(ledger, ASKED, "position", "kind", "name", "key", "value", "digest", key=KEY)
    assert found == [
        (3, "message", "user", "one", '"hello"', None),
        (4, "summary", None, "one", None, "d" * 64),
        (5, "tool", "pay", None, None, None),
    ]
