"""Reading from PostgreSQL: a contract with its snapshot, and a replay without one."""

from __future__ import annotations

import os
from contextlib import closing
from itertools import count

import msgspec

from ledger import Ledger, open_ledger
from ledger.events import RunOpened
from tests.benchmarks import raw_postgres as raw
from tests.benchmarks.measure import Result, compare, seconds, speed
from tests.benchmarks.replay import story
from tests.benchmarks.workload import ACTOR, moves

_RUNS, _SHORTEST = 16, 100
_LOADS = 5
_PAGES, _PAGE_BYTES = 2_000, 4096
_LONG, _IMPORTED = 20_000, 5_000


def measure(url: str) -> list[Result]:
    """Measure both against what psycopg alone needs to read as much."""
    with open_ledger(url, actor=ACTOR) as ledger, closing(raw.connect(url)) as connection:
        return [_loading(ledger, connection), _replay(ledger, connection)]


def _loading(ledger: Ledger, connection: raw.Connection) -> Result:
    # Run n has n events more than the first: a snapshot is anything from none to as many events behind.
    for number in range(_RUNS):
        _ordinary(ledger, f"run-{number}", _SHORTEST + number)
    connection.execute("CREATE TABLE public.pages (id text PRIMARY KEY, content bytea NOT NULL)")
    with connection.cursor().copy("COPY public.pages FROM STDIN") as copy:
        for number in range(_PAGES):
            copy.write_row((f"page-{number}", os.urandom(_PAGE_BYTES)))
    cursor = connection.cursor(binary=True)

    def ours() -> None:
        for number in range(_LOADS * _RUNS):
            ledger.contract(f"run-{number % _RUNS}")

    def theirs() -> None:
        for number in range(_LOADS * _RUNS):
            page = f"page-{number * 17 % _PAGES}"
            assert cursor.execute("SELECT content FROM public.pages WHERE id = %s", [page]).fetchone()

    saved = len(ledger.store.snapshots("default", "run-0")[-1].state)
    return compare(
        "loading a contract / primary-key SELECT of 4 KB, time",
        lambda: seconds(ours),
        lambda: seconds(theirs),
        rounds=15,
        goal="<= 3",
        note=f"snapshot of {saved} bytes and 0 to 15 events",
    )


def _ordinary(ledger: Ledger, name: str, events: int) -> None:
    run = ledger.open_run(name, "Refund order 17")
    for number in range(3):
        run.accept(f"limit-{number}", f"Never refund more than {number} EUR", asserted_by="human:kim")
        run.promise(f"tell-{number}", "Mail the customer", owed_to=f"customer:{number}")
    step = moves(run, count())
    while run.position < events:
        step()


def _replay(ledger: Ledger, connection: raw.Connection) -> Result:
    ledger.import_events("long", [RunOpened(goal="goal 0")], expected=0)
    for at in range(1, _LONG, _IMPORTED):
        size = min(_IMPORTED, _LONG - at)
        ledger.import_events("long", [story(at + n) for n in range(size)], expected=at)
    ledger.store.drop_snapshots()
    cursor, decoder = connection.cursor(binary=True), msgspec.json.Decoder()
    query = (
        "SELECT record FROM intent_ledger.events WHERE tenant = 'default' AND run = 'long' ORDER BY position"
    )

    def ours() -> None:
        assert ledger.contract("long").position == _LONG

    def theirs() -> None:
        last = None
        for (record,) in cursor.execute(query):
            last = decoder.decode(record)
        assert last is not None
        assert last["position"] == _LONG

    return speed(
        f"replay of {_LONG:,} events / raw SELECT + msgspec",
        lambda: seconds(ours),
        lambda: seconds(theirs),
        rounds=7,
        goal=">= 0.6",
    )
