"""A random sample of effects that everybody draws alike."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest

from ledger import Ledger
from ledger import events as e
from ledger.errors import InvalidInput
from projections.questions.sample import LARGEST, SampleOfEffects
from tests.projections.conftest import SetClock
from tests.projections.questions.telling import answered, explained, scans, told
from tests.run.examples import intended, opened

QUESTION = SampleOfEffects()
START = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)
KEYS = [f"{number:064x}" for number in range(12)]
ERROR = {"message": "no", "type": "No"}


def minute(number: int) -> datetime:
    return START + timedelta(minutes=number)


@pytest.fixture
def desk(ledger: Ledger, clock: SetClock) -> Ledger:
    """Intend an effect each minute, the odd ones in another run, and the first one twice."""
    for run in ("run-0", "run-1"):
        ledger.import_events(run, [opened()], expected=0)
    for number, key in enumerate(KEYS):
        clock.now = minute(number)
        ledger.import_events(f"run-{number % 2}", [intended(key)], expected=1 + number // 2)
    failed = e.EffectFailed(key=KEYS[0], attempt=1, error=ERROR)  # type: ignore[arg-type]
    ledger.import_events("run-0", [failed, intended(KEYS[0])], expected=7)
    return ledger


def drawn(desk: Ledger, seed: str, size: int, **given: Any) -> list[str]:
    return [key for (key,) in told(desk, QUESTION, "key", seed=seed, size=size, **given)]


def by_hand(seed: str, numbers: range) -> list[str]:
    """Rank as the question says it does."""

    def rank(number: int) -> str:
        return sha256(f"{seed}\nrun-{number % 2}\n{KEYS[number]}".encode()).hexdigest()

    return [KEYS[number] for number in sorted(numbers, key=rank)]


def test_a_sample_is_what_its_seed_says(desk: Ledger) -> None:
    everything = by_hand("audit", range(12))
    assert drawn(desk, "audit", 12) == drawn(desk, "audit", 99) == everything
    assert drawn(desk, "audit", 5) == everything[:5]
    assert drawn(desk, "other", 12) == by_hand("other", range(12)) != everything
    assert sorted(everything) == KEYS
    first = told(desk, QUESTION, seed="audit", size=1)
    number = KEYS.index(everything[0])
    assert first == [
        (
            *(1, f"run-{number % 2}", 2 + number // 2, f"2026-01-31T09:{number:02}:00.000000Z"),
            *(everything[0], "refund", None, "{}", int(number == 0)),
            sha256(f"audit\nrun-{number % 2}\n{everything[0]}".encode()).hexdigest(),
        )
    ]


def test_it_is_drawn_from_a_period_and_as_of_a_moment(desk: Ledger) -> None:
    assert drawn(desk, "s", 9, since=minute(3), before=minute(8)) == by_hand("s", range(3, 8))
    assert drawn(desk, "s", 9, as_of=minute(4)) == by_hand("s", range(5))
    answer = answered(desk, QUESTION, seed="s", size=2, since=minute(3), before=minute(8))
    assert answer.notes == ("drawn from 5 effects of the period",)


def test_an_effect_of_several_attempts_counts_once_by_its_first(desk: Ledger) -> None:
    [row] = told(desk, QUESTION, "position", "key", seed="s", size=9, before=minute(1))
    assert row == (2, KEYS[0])
    # In a period that holds the second attempt only, that is the one.
    found = told(desk, QUESTION, "position", "key", seed="s", size=9, since=minute(11))
    assert sorted(found) == [(7, KEYS[11]), (9, KEYS[0])]


@pytest.mark.parametrize("size", [0, -1, LARGEST + 1])
@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_a_size_that_is_no_sample_is_refused(ledger: Ledger, size: int) -> None:
    with pytest.raises(InvalidInput, match=r"size= -?[0-9]+: a sample has 1 to 10,000 effects"):
        drawn(ledger, "s", size)


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_it_reads_no_whole_table(desk: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = explained(monkeypatch)
    assert len(drawn(desk, "s", 3, since=minute(3), before=minute(8))) == 3
    assert plans
    assert scans(plans) == []
