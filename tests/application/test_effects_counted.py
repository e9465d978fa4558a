"""How often the store is asked: an effect is two appends and no read, however many the run has."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from ledger.errors import PossibleRepeat
from tests.application.conftest import SetClock
from tests.application.performing import Outside, Waiting, opened

MANY = {"memory": 2_000, "sqlite": 500, "postgres": 200}
COUNTED = (
    "append",
    "read",
    "load",
    "find",
    "find_all",
    "lease",
    "renew",
    "release",
    "heads",
    "blobs",
    "tail",
)


class Counted:
    """A store that counts what it is asked."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.asked: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in COUNTED:
            return found

        def counted(*args: Any, **more: Any) -> Any:
            self.asked[name] += 1
            return found(*args, **more)

        return counted

    def since(self) -> dict[str, int]:
        asked, self.asked = dict(self.asked), Counter()
        return asked


@pytest.fixture
def counted(store: Any) -> Counted:
    return Counted(store)


def perform(run: Any, number: int, **options: Any) -> Any:
    return run.perform("refund", {"order": number}, Outside(number), **options)


def measured(run: Any, counted: Counted, number: int) -> dict[str, dict[str, int]]:
    """Count what each kind of call asks of the store, beside the snapshots that are due now and then."""
    found = {}
    perform(run, number)
    counted.since()
    perform(run, number + 1)
    found["new"] = counted.since()
    perform(run, number)
    found["settled"] = counted.since()
    with pytest.raises(PossibleRepeat):
        perform(run, number, step="again")
    found["repeat"] = counted.since()
    return found


def test_an_effect_is_two_appends_and_no_read_however_many_there_are(
    store: Any, counted: Counted, clock: SetClock, request: pytest.FixtureRequest
) -> None:
    many = next(count for kind, count in MANY.items() if kind in request.node.name)
    ledger = Waiting(counted, clock)()
    run = opened(ledger)
    few = measured(run, counted, 0)
    assert few["new"] == {"append": 2}
    for number in range(10, many):
        perform(run, number)
    assert measured(run, counted, many) == few
    assert sum(few["settled"].values()) <= 7
    assert sum(few["repeat"].values()) <= 7
    assert run.contract.effects == ()
