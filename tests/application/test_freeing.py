"""Freeing contents of saved states: only what nothing needs, and what is gone is explained."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pytest

from ledger import Actor, Ledger, Run
from ledger.application.edge import Edge
from ledger.application.expiring import expire
from ledger.application.exporting import export
from ledger.application.freeing import Asked, Freed, give_up
from ledger.application.importing_runs import import_runs
from ledger.application.resting_on import Fetch, Resting
from ledger.application.saved_states import SavedState
from ledger.application.verifying import verify
from ledger.errors import InvalidInput, RunNotFound, UndecodableRecord
from ledger.integrity.findings import Standing
from ledger.stores.memory import MemoryStore
from ledger.testing import Clock
from ledger.values import SavedName

KIM: dict[str, Any] = {"by": "human:kim", "reason": "old"}


class Chained:
    """A state is the digest of the one that it rests on, and a word."""

    def read(self, state: SavedState, content: bytes, fetch: Fetch) -> list[bytes]:
        before, word = content.split(b" ")
        if not before:
            return [word]
        digest = bytes.fromhex(before.decode())
        found = fetch([digest])
        if digest not in found:
            raise UndecodableRecord("what it rests on is gone")
        return [*self.read(state, found[digest], fetch), word]


CHAINED = Chained()


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with opened() as ledger:
        yield ledger


def opened(clock: Clock | None = None) -> Ledger:
    edge = Edge(
        MemoryStore(), "default", Actor("service:tests"), clock or Clock(), pause=lambda attempt: None
    )
    return Ledger(edge)


def save(run: Run, id: str, on: str | None = None, *, word: str = "word") -> None:
    before = b"" if on is None else digest(run, on).hex().encode()
    saved = run.contract.saved
    dropped = None if saved is None else saved.dropped
    content = before + b" " + word.encode()
    run.save_state(id, content, branch=True, whole=on is None, dropped=dropped)


def digest(run: Run, id: str) -> bytes:
    state = run.states.find(id).state
    assert state is not None
    return state.digest


def chain(ledger: Ledger, run: str, *ids: str) -> Run:
    """Save states each of which rests on the one before."""
    handle = ledger.open_run(run, "goal")
    for id, on in zip(ids, (None, *ids), strict=False):
        save(handle, id, on)
    return handle


def names(*ids: str) -> list[SavedName]:
    return [SavedName(id=id) for id in ids]


def free(
    ledger: Ledger,
    run: str,
    ids: Collection[str] | None,
    *,
    upto: int | None = None,
    resting: Resting | None = CHAINED,
) -> Freed:
    named = None if ids is None else names(*ids)
    return give_up(ledger, run, named, Asked(**KIM), upto=upto, resting=resting)


def kept(ledger: Ledger) -> int:
    return len(ledger.store.list_blobs("default"))


# --- what goes -----------------------------------------------------------------------------------------


def test_what_a_state_that_stays_rests_on_stays(ledger: Ledger) -> None:
    run = chain(ledger, "r", "a", "b", "c")
    save(run, "d")
    assert (free(ledger, "r", ["a", "d"]).contents, kept(ledger)) == (1, 3)
    assert [one.id for one in run.states.all()] == ["c", "b"]
    assert (free(ledger, "r", ["c"]).contents, kept(ledger)) == (1, 2)
    assert (free(ledger, "r", ["b"]).contents, kept(ledger)) == (2, 0)


def test_of_states_that_rest_on_others_somebody_has_to_say_on_which(ledger: Ledger) -> None:
    run = chain(ledger, "r", "a", "b")
    with pytest.raises(InvalidInput, match="'b' rests on others"):
        free(ledger, "r", ["a"], resting=None)
    assert [one.id for one in run.states.all()] == ["b", "a"]
    # Where none stays, or those that stay are whole, nobody has to.
    assert free(ledger, "r", ["b"], resting=None).contents == 1
    assert free(ledger, "r", None, resting=None).contents == 1


def test_a_state_that_stays_and_cannot_be_read_stands_in_the_way(ledger: Ledger) -> None:
    """Case-055: a state that stays is read before anything goes."""
    run = chain(ledger, "r", "a", "b", "c", "d")
    places = [row.place for row in ledger.store.blob_rows("default", [digest(run, "a")])]
    ledger.store.drop_blobs("default", places, since=ledger.store.end(newest=True), but="")
    with pytest.raises(UndecodableRecord, match="'c' of 'r' would stay") as refused:
        free(ledger, "r", ["a", "b", "d"])
    assert refused.value.data == {"run": "r", "state": "c", "position": 4}
    assert (len(list(run.states.all())), kept(ledger), run.contract.position) == (4, 3, 5)
    # Who accepts the loss says so by its name.
    assert free(ledger, "r", ["a", "b", "c", "d"]).contents == 3


def test_a_state_that_stays_is_read_once(ledger: Ledger) -> None:
    """Though it is looked a second time what goes, when that was said."""
    run = chain(ledger, "r", "a", "b", "c")
    save(run, "d")
    reads: list[str] = []

    class Counted(Chained):
        def read(self, state: SavedState, content: bytes, fetch: Fetch) -> list[bytes]:
            reads.append(content.decode())
            return super().read(state, content, fetch)

    assert free(ledger, "r", ["a", "b", "d"], resting=Counted()).contents == 1
    assert len(reads) == 3


def test_what_was_saved_after_it_was_decided_stays(ledger: Ledger) -> None:
    run = chain(ledger, "r", "a", "b")
    position = run.contract.position
    save(run, "b", "a", word="another")
    save(run, "c", "b")
    free(ledger, "r", ["b"], upto=position)
    assert [one.id for one in run.states.all()] == ["c", "b", "a"]
    free(ledger, "r", None, upto=position)
    assert [one.id for one in run.states.all()] == ["c", "b"]
    assert kept(ledger) == 3
    assert Chained().read(*stored(run, "c")) == [b"word", b"another", b"word"]


def stored(run: Run, id: str) -> tuple[SavedState, bytes, Fetch]:
    state = run.states.find(id).state
    assert state is not None

    def fetch(digests: Collection[bytes]) -> Mapping[bytes, bytes]:
        return run.states.contents(digests)

    return state, fetch([state.digest])[state.digest], fetch


def test_what_is_saved_again_just_as_it_was_stays(ledger: Ledger) -> None:
    run = chain(ledger, "r", "a", "b")
    store: Any = ledger.store
    drop = store.drop_blobs

    def late(*arguments: Any, **options: Any) -> Any:
        if arguments[1]:
            save(run, "a")
        return drop(*arguments, **options)

    store.drop_blobs = late
    # The same content under the same name is the same digest: it is named by a later event now.
    assert free(ledger, "r", None).contents == 1
    store.drop_blobs = drop
    assert ([one.id for one in run.states.all()], kept(ledger)) == (["a"], 1)
    assert free(ledger, "r", ()).contents == 0


def test_a_run_that_was_resumed_meanwhile_is_found_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain(ledger, "r", "a")
    old, find = [ledger.run("r")], ledger.run
    assert ledger.resume("r", actor=Actor("service:tests")).run is not None
    monkeypatch.setattr(ledger, "run", lambda run, actor: old.pop() if old else find(run, actor=actor))
    assert (free(ledger, "r", ["a"]).contents, old) == (1, [])


def test_there_has_to_be_a_run(ledger: Ledger) -> None:
    with pytest.raises(RunNotFound):
        free(ledger, "r", None)


def test_an_expiry_takes_neither_what_stays_nor_what_is_left(ledger: Ledger) -> None:
    chain(ledger, "r", "a", "b").drop_states(states=names("b"), **KIM)
    assert expire(ledger, run="r", **KIM).total.contents == 0
    assert kept(ledger) == 2
    # Dropped by hand it is not freed; asked for nothing more, what is left goes.
    freed = free(ledger, "r", ())
    assert (freed.states, freed.contents, freed.events) == (0, 1, 0)


# --- where it is missed --------------------------------------------------------------------------------


def written(ledger: Ledger) -> tuple[bytes, int, int]:
    out = io.BytesIO()
    done = export(ledger, out.write)
    return out.getvalue(), done.missing, done.dropped


def test_verify_names_what_a_state_that_stays_misses_and_nothing_else(ledger: Ledger) -> None:
    run = chain(ledger, "r", "a", "b")
    save(run, "c")
    run.save_state_part("c", "task", b"part")
    free(ledger, "r", ["b"])
    report = verify(ledger)
    assert (report.standing, report.missing_blobs, report.expired_blobs) == (Standing.SOUND, 0, 1)
    state, _, _ = stored(run, "c")
    (part,) = run.states.parts(state)
    for one in (state, part):
        places = [row.place for row in ledger.store.blob_rows("default", [one.digest])]
        ledger.store.drop_blobs("default", places, since=ledger.store.end(newest=True), but="")
    report = verify(ledger, "r")
    assert (report.standing, report.missing_blobs, report.expired_blobs) == (Standing.UNSUPPORTED, 2, 1)
    assert [finding.position for finding in report.findings] == [state.position, part.position]


def test_what_is_given_up_while_a_verification_reads_is_not_missed(ledger: Ledger) -> None:
    run = chain(ledger, "r", "first")
    for number in range(70):
        save(run, str(number))
    free(ledger, "r", ["first"])
    store: Any = ledger.store
    read, calls = store.blobs, []

    def freed_meanwhile(*arguments: Any, **options: Any) -> Any:
        # What was given up has been looked up once, for the first of them, when the others go.
        calls.append(arguments)
        if len(calls) == 2:
            store.blobs = read
            free(ledger, "r", None)
        return read(*arguments, **options)

    store.blobs = freed_meanwhile
    report = verify(ledger, "r")
    assert (report.standing, report.missing_blobs, report.expired_blobs) == (Standing.SOUND, 0, 8)
    assert len(calls) == 2


def test_what_was_freed_is_told_where_runs_are_moved_and_does_not_come_back() -> None:
    clock = Clock()
    with opened(clock) as origin, opened(clock) as target:
        chain(origin, "r", "a", "b", "c")
        full, missing, dropped = written(origin)
        assert (missing, dropped) == (0, 0)
        import_runs(target, io.BytesIO(full))
        assert kept(target) == 3
        free(origin, "r", ["c"])
        later, missing, dropped = written(origin)
        assert (missing, dropped) == (1, 1)
        # The other ledger learns that it was given up, and frees it where it is asked.
        done = import_runs(target, io.BytesIO(later))
        assert (done.added, done.missing, done.dropped, kept(target)) == (1, 1, 1, 3)
        assert free(target, "r", ()).contents == 1
        # Neither ledger takes back from an older file what was given up in it.
        for ledger in (origin, target):
            assert import_runs(ledger, io.BytesIO(full)).contents == 0
            assert (kept(ledger), verify(ledger).standing) == (2, Standing.SOUND)
        with opened(clock) as anew:
            import_runs(anew, io.BytesIO(later))
            assert verify(anew).standing is Standing.SOUND
            assert [one.id for one in anew.run("r").states.all()] == ["b", "a"]
