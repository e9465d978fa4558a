"""Rivals on PostgreSQL whose transactions are open: who waits for whom, and what becomes of both."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from ledger.errors import ActKnown, GuardMoved, PositionConflict
from ledger.stores.base import Append, Appended, Guard
from ledger.stores.postgres.errors import Trouble
from ledger.stores.postgres.session import Session
from ledger.stores.postgres.store import PostgresStore
from ledger.stores.postgres.writer import Writer
from tests.stores.builder import TENANT, Spec, assert_whole, ids, one, part
from tests.stores.place import address, schema_of
from tests.stores.uncommitted import held_open, until_waited_for

POLICY = "$source:policy"
ACT, OTHER = b"a" * 16, b"o" * 16


@pytest.fixture
def url(tmp_path: Path) -> str:
    return address("postgres", tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(url, busy_seconds=30)) as store:
        yield store


@pytest.fixture
def troubles(monkeypatch: pytest.MonkeyPatch) -> list[Trouble]:
    """Return what writers run into, as it happens."""
    found: list[Trouble] = []
    recovered = Writer._recovered

    def spy(writer: Writer, session: Session, error: Exception) -> Trouble:
        found.append(recovered(writer, session, error))
        return found[-1]

    monkeypatch.setattr(Writer, "_recovered", spy)
    return found


def patient(holder: Session) -> None:
    """Let the server end others, never this one, when it finds a deadlock."""
    holder.command(b"SET LOCAL deadlock_timeout = '600s'")


def store_also(url: str, holder: Session, run: str, event: str) -> None:
    """Store the first event of a run as the second one of a transaction."""
    row = part(run, event).rows[0]
    schema = schema_of(url)
    holder.connection.execute(
        f"INSERT INTO {schema}.events (gid, position, tenant, run, hash, record) "
        "SELECT ((epoch + pg_current_xact_id()::text::bigint) << 20) + 1, 1, $1, $2, $3, $4 "
        f"FROM {schema}.epoch",
        [TENANT, run, row.hash, row.record],
    )


# --- deadlocks ---------------------------------------------------------------------------------------

RUNS = ["run-a", "run-b", "run-c"]
WHOLE = [one(*(part(name, f"mine of {name}") for name in RUNS))]
GROUP = [one(part(name, f"mine of {name}")) for name in RUNS]


@pytest.mark.parametrize("batch", [WHOLE, GROUP], ids=["one append", "a group"])
@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_who_is_ended_for_a_deadlock_is_settled_by_what_becomes_of_the_rival(
    url: str,
    store: PostgresStore,
    troubles: list[Trouble],
    monkeypatch: pytest.MonkeyPatch,
    batch: list[Append],
    end: str,
) -> None:
    """The rival takes the same places in the opposite order, as no ledger does."""
    store.append(one(part("run-0", "before")))
    taken = Event()
    recovered = Writer._recovered

    def after_the_rival(writer: Writer, session: Session, error: Exception) -> Trouble:
        """Recover, and let the rival have what was given up before it is asked for again."""
        trouble = recovered(writer, session, error)
        assert taken.wait(60)
        return trouble

    monkeypatch.setattr(Writer, "_recovered", after_the_rival)
    with (
        ThreadPoolExecutor(2) as pool,
        held_open(store, one(part("run-c", "rival-c"))) as rival,
        held_open(store, one(part("run-b", "gate"))) as gate,
    ):
        patient(rival)
        settling = pool.submit(store._writer.commit, batch)
        until_waited_for(url, gate)
        mine = store._writer._session
        assert mine is not None
        taking = pool.submit(store_also, url, rival, "run-a", "rival-a")
        until_waited_for(url, mine)
        # The batch goes on to the last place, and is the one that closes the circle.
        gate.command(b"ROLLBACK")
        taking.result(60)
        taken.set()
        rival.command(end.encode())
        outcomes = settling.result(60)
    assert troubles[0] is Trouble.COLLISION
    won = [name == "run-b" or end == "ROLLBACK" for name in RUNS]
    won = won if batch is GROUP else [all(won)]
    assert [type(outcome) for outcome in outcomes] == [Appended if each else PositionConflict for each in won]
    stored = {"before"} if end == "ROLLBACK" else {"before", "rival-a", "rival-c"}
    stored |= {f"mine of {name}" for name in RUNS if all(won) or (batch is GROUP and name == "run-b")}
    assert set(ids(assert_whole(store))) == stored


@pytest.mark.parametrize(
    "batch",
    [[one(part("run-b", "b"), part("run-a", "a"))], [one(part("run-b", "b")), one(part("run-a", "a"))]],
    ids=["one append", "a group"],
)
def test_places_are_taken_in_their_order_whatever_the_order_they_are_given_in(
    url: str, store: PostgresStore, troubles: list[Trouble], batch: list[Append]
) -> None:
    """Who waits for the first holds none of the others, so a rival in the same order never waits for it."""
    with ThreadPoolExecutor(1) as pool, held_open(store, one(part("run-a", "rival-a"))) as rival:
        patient(rival)
        settling = pool.submit(store._writer.commit, batch)
        until_waited_for(url, rival)
        store_also(url, rival, "run-b", "rival-b")
        rival.command(b"COMMIT")
        outcomes = settling.result(60)
    assert [type(outcome) for outcome in outcomes] == [PositionConflict] * len(batch)
    assert set(troubles) == {Trouble.PLACE_TAKEN}
    assert ids(assert_whole(store)) == ["rival-a", "rival-b"]


NAMES = [f"$source:{letter}" for letter in "abcdef"]


@pytest.mark.parametrize(
    "batch",
    [
        [one(part("run-1", "x"), guards=[Guard(name, 0) for name in NAMES[::-1]])],
        [one(part(f"run-{name}", name), guards=[Guard(name, 0)]) for name in NAMES[::-1]],
        [one(part(NAMES[-1], "x"), guards=[Guard(name, 0) for name in NAMES[-2::-1]])],
    ],
    ids=["one append", "a group", "a source"],
)
def test_heads_are_locked_by_name_whatever_the_order_they_are_given_in(
    url: str, store: PostgresStore, batch: list[Append]
) -> None:
    """Who waits for the first holds none of the others."""
    for name in NAMES[::-1]:
        store.open_head(TENANT, name)
    with ThreadPoolExecutor(1) as pool, closing(store._server.writer()) as rival:
        rival.command(b"BEGIN")
        rival.fetch("head_for_update", TENANT, NAMES[0])
        settling = pool.submit(store._writer.commit, batch)
        until_waited_for(url, rival)
        rival.command(b"SET LOCAL lock_timeout = '100ms'")
        for name in NAMES[1:]:
            assert rival.fetch("head_for_update", TENANT, name)
        rival.command(b"ROLLBACK")
        assert all(isinstance(outcome, Appended) for outcome in settling.result(60))
    assert_whole(store)


# --- rivals that come first --------------------------------------------------------------------------


def test_a_group_that_loses_to_a_rival_each_time_goes_append_by_append(
    url: str, store: PostgresStore, troubles: list[Trouble], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left whole of it is stored whole, the rest is refused."""
    contested = ["run-1", "run-2", "run-3"]
    batch = [one(part(name, f"mine of {name}")) for name in contested]
    batch += [one(part("run-4", "c"), part("run-5", "d")), one(part("run-6", "e"))]
    names: list[str] = []
    with ExitStack() as rivals, ThreadPoolExecutor(1) as pool:
        held = [
            rivals.enter_context(held_open(store, one(part(name, f"rival of {name}")))) for name in contested
        ]
        run = Session.run

        def spy(session: Session, name: str, values: Any) -> Any:
            names.append(name)
            return run(session, name, values)

        monkeypatch.setattr(Session, "run", spy)
        settling = pool.submit(store._writer.commit, batch)
        for rival in held:
            until_waited_for(url, rival)
            rival.command(b"COMMIT")
        outcomes = settling.result(60)
    assert troubles == [Trouble.PLACE_TAKEN] * 3
    assert names == ["append_batch"] * 3 + ["append_one"] * 3 + ["append_batch", "append_one"]
    assert [type(outcome) for outcome in outcomes] == [PositionConflict] * 3 + [Appended] * 2
    assert ids(assert_whole(store)) == [*(f"rival of {name}" for name in contested), "c", "d", "e"]


@pytest.mark.parametrize("company", [0, 2])
@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_a_claim_waits_for_a_withdrawal_of_what_it_relies_on(
    url: str, store: PostgresStore, end: str, company: int
) -> None:
    """An attempt that was admitted comes before the withdrawal, and behind it none does."""
    published = part(POLICY, "p-1")
    store.append(one(published))
    claim = b"c" * 32
    attempt = one(part("run-1", Spec("attempt", claim=claim)), guards=[Guard(POLICY, 1)])
    batch = [attempt, *(one(part(f"run-x{number}", f"x-{number}")) for number in range(company))]
    with ThreadPoolExecutor(1) as pool, held_open(store, one(part(POLICY, "w", after=published))) as holder:
        settling = pool.submit(store._writer.commit, batch)
        until_waited_for(url, holder)
        assert store.find(TENANT, claim=claim) == []
        holder.command(end.encode())
        outcome, *others = settling.result(60)
    assert isinstance(outcome, GuardMoved if end == "COMMIT" else Appended)
    assert all(isinstance(other, Appended) for other in others)
    claimed = ids(store.find(TENANT, claim=claim))
    assert claimed == ([] if end == "COMMIT" else ["attempt"])
    assert ("w" in ids(assert_whole(store))) == (end == "COMMIT")


# --- acts that must be new ---------------------------------------------------------------------------


def intends(run: str) -> Append:
    """Build the intention of an act that has to be fresh."""
    return one(part(run, Spec(f"{run}.a", act=ACT)), fresh=[ACT])


def test_of_a_group_the_first_that_can_be_stored_has_the_fresh_act(store: PostgresStore) -> None:
    batch = [
        intends("run-1")._replace(guards=(Guard(POLICY, 0),)),
        *map(intends, ("run-2", "run-3", "run-4")),
    ]
    outcomes = store._writer.commit([*batch, one(part("run-5", "x"))])
    kinds = [GuardMoved, Appended, ActKnown, ActKnown, Appended]
    assert [type(outcome) for outcome in outcomes] == kinds
    assert sorted(ids(assert_whole(store))) == ["run-2.a", "x"]


@pytest.mark.parametrize("company", [0, 2])
@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_who_needs_a_fresh_act_waits_for_who_is_about_to_store_it(
    store: PostgresStore, url: str, end: str, company: int
) -> None:
    """So the second of two finds what the first stored, in whatever process it is."""
    others = [one(part(f"run-x{number}", f"x-{number}")) for number in range(company)]
    with ThreadPoolExecutor(1) as pool, held_open(store, intends("run-1")) as holder:
        settling = pool.submit(store._writer.commit, [intends("run-2"), *others])
        until_waited_for(url, holder)
        # Another act waits for nobody, and neither does what needs none to be fresh.
        with closing(PostgresStore(url)) as third:
            third.append(one(part("run-3", Spec("other", act=OTHER)), fresh=[OTHER]))
            third.append(one(part("run-4", Spec("plain", key=ACT))))
        holder.command(end.encode())
        outcome, *rest = settling.result(60)
    assert isinstance(outcome, ActKnown if end == "COMMIT" else Appended)
    assert all(isinstance(each, Appended) for each in rest)
    assert ids(store.find(TENANT, act=ACT)) == (["run-1.a"] if end == "COMMIT" else ["run-2.a"])
    assert_whole(store)
