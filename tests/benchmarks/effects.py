"""Effects: claimed, called and settled, against the two commits that this takes at least."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

from ledger import Ledger, Run, open_ledger
from ledger.events import EffectIntended, EffectStarted, EffectSucceeded, Event, RunOpened
from ledger.record import Row
from ledger.run.keys import act_key, effect_key
from ledger.values import Payload, Recovery
from tests.benchmarks import raw, raw_postgres
from tests.benchmarks.measure import Result, compare, seconds, speed
from tests.benchmarks.workload import ACTOR, stored_rows

_TIMES = 100
_ROUNDS = 11
_SETTLED, _FEW = 100_000, 100
_ASKED = 20


def measure(folder: Path) -> list[Result]:
    """Measure an effect on SQLite, and what a settled key costs in a long run."""
    with open_ledger(folder / "effects.db", actor=ACTOR) as ledger:
        claim, outcome = sample_rows(ledger)
        with closing(raw.create(folder / "raw-effects.db")) as connection:
            theirs = in_turns(raw.writer(connection, "a", claim), raw.writer(connection, "b", outcome))
            return [_effect(ledger, theirs, claim, goal=">= 0.55"), _settled(ledger)]


def measure_postgres(url: str) -> list[Result]:
    """Measure an effect on PostgreSQL."""
    raw_postgres.create(url)
    with open_ledger(url, actor=ACTOR) as ledger, closing(raw_postgres.connect(url)) as connection:
        claim, outcome = sample_rows(ledger)
        theirs = in_turns(
            raw_postgres.writer(connection, "a", [claim]), raw_postgres.writer(connection, "b", [outcome])
        )
        return [_effect(ledger, theirs, claim, goal=">= 0.7")]


def _effect(ledger: Ledger, theirs: Callable[[], object], row: Row, *, goal: str) -> Result:
    step = acts(ledger.open_run("effects", "goal"))
    return speed(
        "an effect, full path / two raw INSERTs",
        lambda: seconds(repeated(step, _TIMES)),
        lambda: seconds(repeated(theirs, _TIMES)),
        rounds=_ROUNDS,
        goal=goal,
        note=f"2 commits; a claim of {len(row.record)} bytes",
    )


def acts(run: Run) -> Callable[[], object]:
    """Return a step that performs one effect: a claim, a call that does nothing, an outcome."""
    numbers = count()

    def refund(order: int, amount: str) -> dict[str, Any]:
        return {"id": f"re_{order}", "status": "done"}

    def step() -> object:
        number = next(numbers)
        return run.perform("refund", {"order": number, "amount": "10.00"}, refund, step="refund")

    return step


def _settled(ledger: Ledger) -> Result:
    """Ask for a settled key again, in a run with very many of them and in one with few."""
    runs = {size: _filled(ledger, f"settled-{size}", size) for size in (_SETTLED, _FEW)}

    def ask(size: int) -> float:
        run = runs[size]
        numbers = iter(range(_ASKED))

        def again() -> None:
            found = run.perform("refund", {"order": next(numbers)}, _never, step="refund")
            assert found == {"status": "done"}

        return seconds(repeated(again, _ASKED))

    return compare(
        f"a settled key in a run of {_SETTLED:,} effects / of {_FEW}, time",
        lambda: ask(_SETTLED),
        lambda: ask(_FEW),
        rounds=_ROUNDS,
        goal="<= 1.3",
    )


def _never(order: int) -> None:
    raise AssertionError("a settled effect is not performed again")


def _filled(ledger: Ledger, name: str, effects: int) -> Run:
    ledger.import_events(name, [RunOpened(goal="goal")], expected=0)
    at = 1
    for first in range(0, effects, 500):
        events: list[Event] = []
        for number in range(first, min(first + 500, effects)):
            events += _done(name, number)
        ledger.import_events(name, events, expected=at)
        at += len(events)
    return ledger.run(name)


def _done(run: str, number: int) -> list[Event]:
    args = f'{{"order":{number}}}'
    key = effect_key("default", run, "refund", "refund", None, args)
    intended = EffectIntended(
        act=act_key("default", run, "refund", args),
        args=args,
        key=key,
        key_scheme="v1",
        recovery=Recovery.AT_MOST_ONCE,
        step="refund",
        tool="refund",
    )
    until = "2030-01-01T00:00:00.000000Z"
    started = EffectStarted.model_validate(
        {"attempt": 1, "key": key, "lease_until": until, "root": run, "worker": "worker-1"}
    )
    result = Payload(json_text='{"status":"done"}')
    return [intended, started, EffectSucceeded(attempt=1, key=key, result=result)]


def sample_rows(ledger: Ledger) -> tuple[Row, Row]:
    """Return what one effect stores: its intention and its outcome, as rows of about 600 bytes."""
    acts(ledger.open_run("sample-effect", "goal"))()
    rows = stored_rows(ledger, "sample-effect", after=1)
    return rows[0], rows[-1]


def in_turns(*steps: Callable[[], object]) -> Callable[[], object]:
    """Return a step that takes all of these."""

    def both() -> None:
        for step in steps:
            step()

    return both


def repeated(step: Callable[[], object], times: int) -> Callable[[], None]:
    """Return what takes a step so many times."""

    def loop() -> None:
        for _ in range(times):
            step()

    return loop
