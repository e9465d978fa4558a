"""Appending to PostgreSQL by one writer: a command, an effect, what relies on a source, a thousand events."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from itertools import count

from ledger import Actor, Ledger, Recovery, open_ledger
from ledger.events import CursorMoved, EffectIntended, EffectStarted, EffectSucceeded, Event, RunOpened
from ledger.run.keys import act_key, effect_key
from ledger.values import Payload
from tests.benchmarks import raw_postgres as raw
from tests.benchmarks.held import Held
from tests.benchmarks.measure import Result, compare, seconds, speed
from tests.benchmarks.workload import ACTOR, moves, sample_row, stored_rows

_TIMES = 200
_ROUNDS = 11
_BATCH = 1_000
_BATCHES = 3
_SOURCE = "policy:refunds"


def measure(url: str) -> list[Result]:
    """Measure each against psycopg with the same bytes; the guarded append against a plain one."""
    raw.create(url)
    with open_ledger(url, actor=ACTOR) as ledger, closing(raw.connect(url)) as connection:
        return [
            _one(ledger, connection),
            _effect(ledger, connection),
            _guarded(ledger),
            _batch(ledger, connection),
        ]


def _one(ledger: Ledger, connection: raw.Connection) -> Result:
    row = sample_row(ledger)
    step = moves(ledger.open_run("one", "goal"), count())
    return speed(
        "one append, full path / raw INSERT",
        _repeated(step),
        _repeated(raw.writer(connection, "one", [row])),
        rounds=_ROUNDS,
        goal=">= 0.85",
        note=f"record of {len(row.record)} bytes",
    )


def _effect(ledger: Ledger, connection: raw.Connection) -> Result:
    _acts(ledger, "sample-effect")()
    *claim, outcome = stored_rows(ledger, "sample-effect", after=1)
    ours = _acts(ledger, "effects")
    claims, outcomes = (
        raw.writer(connection, run, rows) for run, rows in (("claims", claim), ("outcomes", [outcome]))
    )
    return speed(
        "an effect: claim and outcome, from the events / raw INSERTs",
        _repeated(ours),
        _repeated(lambda: (claims(), outcomes())),
        rounds=_ROUNDS,
        goal=">= 0.7",
        note="2 commits, 3 rows with key columns; 3 indexes more than raw",
    )


def _acts(ledger: Ledger, run: str) -> Callable[[], None]:
    """Return a step that appends what one effect does: intended and started together, then its outcome."""
    held, numbers = Held(ledger, run), count()

    def step() -> None:
        args = f'{{"amount":"10.00","order":{next(numbers)}}}'
        key = effect_key("default", run, "refund", "refund", None, args)
        act = act_key("default", run, "refund", args)
        intended = EffectIntended(
            act=act,
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
        held.append([intended, started])
        result = Payload(json_text='{"status":"done"}')
        held.append([EffectSucceeded(attempt=1, external_ref="re-1", key=key, result=result)])

    return step


def _guarded(ledger: Ledger) -> Result:
    ledger.source(_SOURCE, actor=Actor("human:kim")).publish(
        "1", {"limit-100": "Never refund more than 100 EUR"}
    )
    standing = {_SOURCE: ledger.sources()[_SOURCE].position}
    guarded, plain = Held(ledger, "guarded"), Held(ledger, "plain")
    numbers = count(1)
    return compare(
        "append guarded by a source / unguarded, time",
        _repeated(lambda: guarded.append([_move(next(numbers))], standing)),
        _repeated(lambda: plain.append([_move(next(numbers))])),
        rounds=_ROUNDS,
        goal="<= 1.3",
    )


def _batch(ledger: Ledger, connection: raw.Connection) -> Result:
    events: list[Event] = [RunOpened(goal="goal"), *map(_move, range(1, _BATCH))]
    ledger.import_events("batch", events, expected=0)
    rows = stored_rows(ledger, "batch", after=0)
    names = count()

    def ours() -> None:
        for _ in range(_BATCHES):
            ledger.import_events(f"batch-{next(names)}", events, expected=0)

    def theirs() -> None:
        for _ in range(_BATCHES):
            raw.copy(connection, f"batch-{next(names)}", rows)

    return speed(
        f"{_BATCH:,} events in one append / COPY",
        lambda: seconds(ours),
        lambda: seconds(theirs),
        rounds=_ROUNDS,
        goal=">= 0.3",
        note="from the events on",
    )


def _move(number: int) -> CursorMoved:
    """Return the event that a step of `moves` leads to."""
    return CursorMoved.model_validate(
        {
            "node": "refund",
            "round": number,
            "next": ("tell-customer", "file-receipt"),
            "budget_left": {"EUR": "90.00", "tokens": "120000"},
            "state": f"{number:064x}",
        }
    )


def _repeated(step: Callable[[], object]) -> Callable[[], float]:
    def loop() -> None:
        for _ in range(_TIMES):
            step()

    return lambda: seconds(loop)
