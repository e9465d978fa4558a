"""A time needs a zone, is kept in UTC with microseconds, and is written in exactly one way."""

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from ledger.values import Instant, read_time, utc, write_time

INSTANT: TypeAdapter[datetime] = TypeAdapter(Instant)
PLUS_14, MINUS_12 = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))


def refusal(value: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        INSTANT.validate_python(value)
    return caught.value.errors()[0]["msg"]


class NoOffset(tzinfo):
    def utcoffset(self, moment: datetime | None) -> None:
        return None

    def dst(self, moment: datetime | None) -> None:
        return None

    def tzname(self, moment: datetime | None) -> str:
        return "nowhere"


def test_a_time_without_zone_is_refused() -> None:
    for value in (
        datetime(2026, 1, 31, 9, 15),  # noqa: DTZ001
        "2026-01-31T09:15:00",
        "2026-01-31",
        datetime(2026, 1, 31, tzinfo=NoOffset()),
    ):
        assert "time zone" in refusal(value)


@pytest.mark.parametrize(
    "value", [0, 1769850900, 1769850900000, 1.5, True, None, date(2026, 1, 31), b"2026", ["x"]]
)
def test_what_could_be_seconds_or_milliseconds_is_no_time(value: object) -> None:
    assert "ISO 8601" in refusal(value)


@pytest.mark.parametrize(
    "text", ["", "1769850900", "now", "31.01.2026", "2026-13-01T00:00:00Z", "2026-01-31T25:00:00Z"]
)
def test_text_that_is_no_time_is_refused(text: str) -> None:
    refusal(text)


@pytest.mark.parametrize(
    "moment",
    [
        datetime.min.replace(tzinfo=PLUS_14),
        datetime.max.replace(tzinfo=MINUS_12),
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59.999999-00:01",
    ],
)
def test_a_time_beyond_the_years_1_to_9999_is_refused(moment: object) -> None:
    assert "years 1 to 9999" in refusal(moment)


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
        (datetime.max.replace(tzinfo=UTC), "9999-12-31T23:59:59.999999Z"),
        (datetime(2026, 1, 31, 9, 15, tzinfo=UTC), "2026-01-31T09:15:00.000000Z"),
        (datetime(2026, 1, 31, 9, 15, 0, 1, tzinfo=PLUS_14), "2026-01-30T19:15:00.000001Z"),
        ("2026-01-31 09:15+02:00", "2026-01-31T07:15:00.000000Z"),
        ("2026-01-31T09:15:00.5Z", "2026-01-31T09:15:00.500000Z"),
        ("2026-01-31T09:15:00.123456789Z", "2026-01-31T09:15:00.123456Z"),
    ],
)
def test_a_time_is_written_in_one_way(moment: object, text: str) -> None:
    found = INSTANT.validate_python(moment)
    assert INSTANT.dump_json(found).decode() == f'"{text}"'
    assert write_time(found) == text
    assert read_time(text) == found


# Hypothesis takes bounds without a zone and adds one.
EARLY, LATE = datetime(1, 1, 2), datetime(9999, 12, 30)  # noqa: DTZ001


@given(st.datetimes(EARLY, LATE, timezones=st.timezones()))
def test_a_moment_is_kept_in_utc(moment: datetime) -> None:
    found = INSTANT.validate_python(moment)
    # Python calls no two times equal of which one stands in an hour that a clock change left out or repeated.
    assert found == moment.astimezone(UTC)
    assert found.tzinfo is UTC
    assert INSTANT.validate_json(INSTANT.dump_json(found)) == found
    assert len(write_time(moment)) == 27


@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
def test_written_times_sort_as_the_moments_do(one: datetime, other: datetime) -> None:
    assert (write_time(one) < write_time(other)) == (one < other)


def test_an_ambiguous_hour_keeps_its_moment() -> None:
    zone = timezone(timedelta(hours=1))
    assert utc(datetime(2026, 10, 25, 2, 30, tzinfo=zone, fold=1)).fold == 0


class Special(datetime):
    """What a library puts in the place of datetime."""


def test_a_subclass_of_datetime_becomes_a_plain_one() -> None:
    for zone in (UTC, PLUS_14):
        found = INSTANT.validate_python(Special(2026, 1, 31, 9, 15, 0, 7, tzinfo=zone))
        assert type(found) is datetime
        assert found == datetime(2026, 1, 31, 9, 15, 0, 7, tzinfo=zone)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31T09:15:00Z",
        "2026-01-31T09:15:00.000000+00:00",
        "2026-01-31 09:15:00.000000Z",
        "2026-01-31T09:15:00,000000Z",
        "2026-01-31T09:15:00.000000z",
        "2026-02-31T09:15:00.000000Z",
        "",
    ],
)
def test_only_the_one_form_is_read_from_a_record(text: str) -> None:
    with pytest.raises(ValueError, match=r"time|day|isoformat|month"):
        read_time(text)


def test_the_zone_of_the_machine_does_not_matter() -> None:
    code = (
        "from datetime import datetime, timezone, timedelta;"
        "from ledger.values import write_time;"
        "print(write_time(datetime(2026, 1, 31, 9, 15, tzinfo=timezone(timedelta(hours=2)))))"
    )
    for zone in ("UTC", "Asia/Kolkata", "America/St_Johns"):
        found = subprocess.run(
            [sys.executable, "-c", code], env={"TZ": zone}, capture_output=True, text=True, check=True
        )
        assert found.stdout.strip() == "2026-01-31T07:15:00.000000Z"
