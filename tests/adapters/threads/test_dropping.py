"""Deleting, dropping and pruning threads: what goes is freed, what stays reads as before, and facts stay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Ledger
from ledger.adapters.checkpointer import Checkpointer
from ledger.adapters.packs import pack
from ledger.adapters.threads import Located, ThreadStates, run_name
from ledger.adapters.threads.dropping import delete, drop, prune
from ledger.adapters.threads.raw import RAW
from ledger.errors import (
    IntegrityError,
    InvalidInput,
    NotForAgents,
    OutcomeUnknown,
    StateMoved,
    StillOpen,
    StoreBusy,
    StoreUnavailable,
    UndecodableRecord,
)
from ledger.events import StatesDropped
from ledger.integrity.findings import Standing
from ledger.stores.postgres.store import PostgresStore
from tests.adapters.threads.plain import BY, chat, ids, kept, opened, save, states_of, values, verified
from tests.servers.cluster import Cluster, Server
from tests.stores.builder import one, part
from tests.stores.conftest import KINDS
from tests.stores.secured import secured
from tests.stores.uncommitted import held_open


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    with opened(KINDS[request.param](tmp_path)) as ledger:
        yield ledger


@pytest.fixture
def states(ledger: Ledger) -> ThreadStates:
    return states_of(ledger)


def said(ledger: Ledger, run: str) -> list[StatesDropped]:
    return [record.event for record in ledger.log(run) if isinstance(record.event, StatesDropped)]


# --- pruning -----------------------------------------------------------------------------------------


def test_who_prunes_looks_again_where_another_took_what_was_about_to_be_read(
    ledger: Ledger, states: ThreadStates
) -> None:
    chat(states, "t", 40)
    looks: list[int] = []

    def needed(listed: Sequence[Located], stays: Collection[Located]) -> Iterator[Located]:
        looks.append(len(listed))
        if len(looks) == 1:
            prune(states_of(ledger).threads, "t", by=BY)
            states_of(ledger).read(listed[-1], names=())
        yield from ()

    assert prune(states.threads, "t", keep=2, by=BY, needed=needed).states == 0
    assert looks == [40, 1]
    assert ids(states, "t") == [(None, "40")]


def test_the_newest_of_each_line_stays_and_reads_as_before(ledger: Ledger, states: ThreadStates) -> None:
    chat(states, "t", 40)
    chat(states, "t", 3, line="sub")
    before, full = values(states, "t"), kept(ledger)
    freed = prune(states.threads, "t", by=BY, reason="old")
    assert ids(states, "t") == [("sub", "3"), (None, "40")]
    for face in (states, states_of(ledger)):
        assert values(face, "t") == {place: before[place] for place in ids(face, "t")}
    left = kept(ledger)
    assert (freed.states, freed.events) == (41, 1)
    assert (freed.contents, freed.bytes) == (full.contents - left.contents, full.bytes - left.bytes)
    # The first 32 messages are together in one pack; those after it, and the other line's, are not.
    assert 0 < left.contents < 15
    (event,) = said(ledger, run_name("t", 1))
    assert (event.by, event.reason, len(event.states)) == (BY, "old", 41)
    assert verified(ledger).standing is Standing.SOUND


def test_what_goes_on_from_a_pruned_thread_is_read_by_others(ledger: Ledger, states: ThreadStates) -> None:
    chat(states, "t", 5)
    other = states_of(ledger)
    assert other.newest("t") is not None
    prune(states.threads, "t", by=BY)
    # The other face knows of packs that are gone: what it saves rests on none of them.
    save(other, "t", "6", parent="5", list=[f"new {turn}" for turn in range(40)], more="x" * 100)
    save(states, "t", "7", parent="6", list=[f"new {turn}" for turn in range(41)], more="x" * 100)
    found = values(states_of(ledger), "t")
    assert found[None, "7"] == {"list": [f"new {turn}" for turn in range(41)], "more": "x" * 100}
    assert [id for _, id in found] == ["7", "6", "5"]


def test_as_many_stay_of_each_line_as_are_asked_for(states: ThreadStates) -> None:
    chat(states, "t", 5)
    chat(states, "t", 1, line="sub")
    assert prune(states.threads, "t", keep=2, by=BY).states == 3
    assert ids(states, "t") == [("sub", "1"), (None, "5"), (None, "4")]


def test_what_those_that_stay_need_stays_as_well(states: ThreadStates) -> None:
    chat(states, "t", 5)

    def parents(every: Any, stays: Any) -> Any:
        found = {one.state.id: one for one in every}
        return [found[one.state.parent] for one in stays]

    assert prune(states.threads, "t", by=BY, needed=parents).states == 3
    assert ids(states, "t") == [(None, "5"), (None, "4")]


def test_pruning_reaches_into_runs_that_were_closed_before(ledger: Ledger, states: ThreadStates) -> None:
    chat(states, "t", 4)
    chat(states, "t", 2, line="sub")
    ledger.run(run_name("t", 1)).close("completed")
    save(states, "t", "5", parent="4", list=["anew"])
    assert prune(states.threads, "t", by=BY).states == 5
    assert ids(states, "t") == [(None, "5"), ("sub", "2")]
    assert values(states_of(ledger), "t")["sub", "2"] == {
        "list": ["t sub 1".ljust(100, "."), "t sub 2".ljust(100, ".")]
    }


def test_pruning_again_writes_nothing(ledger: Ledger, states: ThreadStates) -> None:
    chat(states, "t", 4)
    prune(states.threads, "t", by=BY)
    position = ledger.contract(run_name("t", 1)).position
    again = prune(states.threads, "t", by=BY)
    assert (again.states, again.contents, again.events) == (0, 0, 0)
    assert ledger.contract(run_name("t", 1)).position == position


def test_nothing_at_all_is_no_number_of_states_to_keep(states: ThreadStates) -> None:
    with pytest.raises(InvalidInput, match="delete the thread"):
        prune(states.threads, "t", keep=0, by=BY)


def test_a_dry_run_says_what_goes_and_changes_nothing(ledger: Ledger, states: ThreadStates) -> None:
    chat(states, "t", 40)
    before = kept(ledger)
    asked = prune(states.threads, "t", by=BY, dry_run=True)
    whole = delete(states.threads, "t", by=BY, dry_run=True)
    assert (kept(ledger), said(ledger, run_name("t", 1)), len(ids(states, "t"))) == (before, [], 40)
    assert (whole.contents, whole.bytes, whole.states) == (*before, 40)
    freed = prune(states.threads, "t", by=BY)
    assert (asked.contents, asked.bytes, asked.states) == (freed.contents, freed.bytes, freed.states)


def test_a_long_thread_goes_in_batches_each_said(ledger: Ledger, states: ThreadStates) -> None:
    fill(states, "t", 1010)
    seen: list[int] = []
    freed = prune(states.threads, "t", keep=505, by=BY, progress=lambda now: seen.append(now.dropped))
    assert (freed.states, freed.contents, freed.events) == (505, 505, 2)
    assert [len(event.states) for event in said(ledger, run_name("t", 1))] == [500, 5]
    assert seen == [500, 505]
    # Where few stay one event is enough.
    assert prune(states.threads, "t", by=BY).events == 1
    assert (ids(states_of(ledger), "t"), kept(ledger).contents) == ([(None, "1009")], 1)
    (_, _, event) = said(ledger, run_name("t", 1))
    assert (event.all, [one.id for one in event.kept]) == (True, ["1009"])


def fill(states: ThreadStates, thread: str, count: int) -> None:
    """Save many small states, each whole, quickly."""
    run = states.threads.open(thread).run
    content = pack({}, b"", RAW).content
    for number in range(count):
        run.save_state(str(number), content, branch=True)


# --- dropping ----------------------------------------------------------------------------------------


def test_a_state_goes_and_what_others_rest_on_stays(ledger: Ledger, states: ThreadStates) -> None:
    chat(states, "t", 6)
    before = values(states, "t")
    freed = drop(states.threads, "t", [("", "3"), ("", "9"), ("other", "4")], by=BY)
    # The third message is in the third state's content, which those after it rest on.
    assert (freed.states, freed.contents, freed.events) == (1, 0, 1)
    assert states.find("t", "3") is None
    left = {place: found for place, found in before.items() if place != (None, "3")}
    assert values(states_of(ledger), "t") == left
    drop(states.threads, "t", [("", id) for id in "123456"], by=BY)
    assert (ids(states, "t"), kept(ledger).contents) == ([], 0)


def test_a_name_that_is_used_again_is_a_new_state(ledger: Ledger, states: ThreadStates) -> None:
    chat(states, "t", 3)
    drop(states.threads, "t", [("", "3")], by=BY)
    save(states, "t", "3", parent="2", list=["another"])
    assert prune(states.threads, "t", by=BY).states == 2
    assert values(states_of(ledger), "t") == {(None, "3"): {"list": ["another"]}}


def test_parts_go_with_their_state_and_those_of_what_stays_stay(ledger: Ledger, states: ThreadStates) -> None:
    chat(states, "t", 2)
    run = states.threads.open("t").run
    for state in ("1", "2", "unsaved"):
        run.save_state_part(state, "task", f"part of {state}".encode())
    prune(states.threads, "t", by=BY)
    found = states_of(ledger).newest("t")
    assert found is not None
    (part,) = states.parts(found)
    assert run.states.contents([part.digest]) == {part.digest: b"part of 2"}
    # One that is kept late, of a state that is gone, goes the next time something does.
    run.save_state_part("1", "late", b"late")
    save(states, "t", "3", parent="2", list=[])
    assert kept(ledger).contents == 6
    prune(states.threads, "t", by=BY)
    save(states, "t", "unsaved", parent="3", list=[])
    found = states_of(ledger).find("t", "unsaved")
    assert found is not None
    assert [one.task for one in states.parts(found)] == ["task"]
    assert kept(ledger).contents == 3
    assert verified(ledger).standing is Standing.SOUND


def test_who_reads_what_is_given_up_meanwhile_is_told_to_look_again(ledger: Ledger) -> None:
    states = states_of(ledger)
    chat(states, "t", 1)
    found = states.newest("t")
    assert found is not None
    save(states, "t", "2", parent="1", list=[])
    prune(states.threads, "t", by=BY)
    with pytest.raises(StateMoved) as told:
        states.read(found)
    assert told.value.retryable
    assert values(states, "t") == {(None, "2"): {"list": []}}


# --- deleting ----------------------------------------------------------------------------------------


def test_a_thread_that_was_deleted_begins_anew_and_its_facts_stay(
    ledger: Ledger, states: ThreadStates
) -> None:
    """Case-056: a name that is used again is given nothing of what was."""
    chat(states, "t", 3)
    paid = [0]

    def charge(amount: str) -> int:
        paid[0] += 1
        return paid[0]

    states.threads.open("t").run.perform("charge", {"amount": "10"}, charge)
    other = states_of(ledger)
    found = other.newest("t")
    assert found is not None
    freed = delete(states.threads, "t", by=BY)
    assert (freed.states, freed.contents, kept(ledger).contents) == (3, 3, 0)
    for face in (states, other, states_of(ledger)):
        assert (ids(face, "t"), face.newest("t"), face.find("t", "3")) == ([], None, None)
    # Whoever goes on from what was deleted is told, whoever begins anew is not.
    with pytest.raises(StateMoved):
        other.save("t", "4", {"list": []}, b"", parent="3", seen=found.seen)
    save(other, "t", "1", list=["anew"])
    assert values(states, "t") == {(None, "1"): {"list": ["anew"]}}
    # Nor is what was done in the old one taken for what is to be done in the new.
    assert states.threads.open("t").run.perform("charge", {"amount": "10"}, charge) == 2
    assert ledger.contract(run_name("t", 1)).closed is not None
    effects = [record.name for record in ledger.log(run_name("t", 1)) if record.name.startswith("effect.")]
    assert effects == ["effect.intended", "effect.started", "effect.succeeded"]
    assert verified(ledger).standing is Standing.SOUND


def test_a_checkpointer_frees_what_a_deletion_has_left(ledger: Ledger) -> None:
    store: Any = ledger.store
    checkpointer = Checkpointer.open(ledger)
    checkpointer.save("t", {"turn": 1}, at="loop_tail")
    free = store.drop_blobs

    def fail(*arguments: Any, **options: Any) -> Any:
        if arguments[1]:
            raise ConnectionError
        return free(*arguments, **options)

    store.drop_blobs = fail
    with pytest.raises(ConnectionError):
        checkpointer.delete("t", by=BY)
    store.drop_blobs = free
    assert (checkpointer.load("t"), kept(ledger).contents) == (None, 1)
    checkpointer.delete("t", by=BY)
    assert kept(ledger).contents == 0


def test_all_runs_of_a_thread_go(ledger: Ledger, states: ThreadStates) -> None:
    for turn in range(3):
        save(states, "t", str(turn), list=[turn])
        if turn < 2:
            ledger.run(run_name("t", turn + 1)).close("completed")
    save(states, "other", "1", list=[1])
    assert delete(states.threads, "t", by=BY).states == 3
    assert (ids(states, "t"), ids(states, "other")) == ([], [(None, "1")])
    again = delete(states.threads, "t", by=BY)
    assert (again.states, again.contents, again.events) == (0, 0, 0)
    assert delete(states.threads, "never", by=BY) == again
    assert kept(ledger).contents == 1


def test_a_thread_with_unsettled_effects_stays_unless_it_is_forced(
    ledger: Ledger, states: ThreadStates
) -> None:
    chat(states, "t", 2)
    run = states.threads.open("t").run
    with pytest.raises(OutcomeUnknown):
        run.perform("charge", {"amount": "10"}, lost)
    with pytest.raises(StillOpen) as refused:
        delete(states.threads, "t", by=BY)
    assert len(refused.value.evidence["unsettled"]) == 1
    assert (len(ids(states, "t")), run.contract.closed) == (2, None)
    delete(states.threads, "t", by=BY, force=True)
    assert ids(states, "t") == []
    (effect,) = ledger.contract(run_name("t", 1)).effects
    assert effect.key in refused.value.evidence["unsettled"]


def lost(amount: str) -> None:
    raise ConnectionError


# --- who may, and what stands in the way -------------------------------------------------------------


@pytest.mark.parametrize("deed", [delete, prune], ids=["delete", "prune"])
def test_agents_give_up_nothing(ledger: Ledger, states: ThreadStates, deed: Any) -> None:
    chat(states, "t", 3)
    position = ledger.contract(run_name("t", 1)).position
    for who in ({"by": "agent:a"}, {"by": BY, "actor": Actor("agent:a")}):
        with pytest.raises(NotForAgents):
            deed(states.threads, "t", **who)
    assert ledger.contract(run_name("t", 1)).position == position


def test_a_state_that_cannot_be_read_is_told_before_anything_goes(
    ledger: Ledger, states: ThreadStates
) -> None:
    chat(states, "t", 3)
    found = states.find("t", "1")
    assert found is not None
    places = [row.place for row in ledger.store.blob_rows("default", [found.state.digest])]
    ledger.store.drop_blobs("default", places, since=ledger.store.end(newest=True), but="")
    position = ledger.contract(run_name("t", 1)).position
    with pytest.raises(UndecodableRecord, match=r"'3'.*would stay and cannot be read") as refused:
        prune(states.threads, "t", by=BY)
    assert (refused.value.data["state"], kept(ledger).contents) == ("3", 2)
    with pytest.raises((UndecodableRecord, IntegrityError)):
        drop(states.threads, "t", [("", "2")], by=BY)
    assert ledger.contract(run_name("t", 1)).position == position
    # Verify knows what no event explains; what is given up with it needs no explanation any more.
    assert verified(ledger).missing_blobs == 1
    delete(states.threads, "t", by=BY)
    report = verified(ledger)
    assert (report.standing, report.missing_blobs, report.expired_blobs) == (Standing.SOUND, 0, 3)


def test_who_may_only_append_is_told_before_anything_is_written(postgres: Cluster) -> None:
    place = secured(postgres)
    with opened(PostgresStore(place.writer())) as ledger:
        states = states_of(ledger)
        chat(states, "t", 3)
        position = ledger.contract(run_name("t", 1)).position
        for deed in (delete, prune):
            with pytest.raises(StoreUnavailable) as refused:
                deed(states.threads, "t", by=BY)
            assert refused.value.data["reason"] == "no_privilege"
        assert ledger.contract(run_name("t", 1)).position == position
        assert prune(states.threads, "t", by=BY, dry_run=True).states == 2
    with closing(PostgresStore(place.migrator)) as store:
        assert prune(states_of(opened(store)).threads, "t", by=BY).states == 2


def test_an_open_transaction_holds_the_freeing_back_and_not_the_giving_up(
    other_cluster: Callable[..., Server],
) -> None:
    url = other_cluster().cluster.fresh_database()
    with closing(PostgresStore(url, stall_seconds=0.01)) as store, opened(store) as ledger:
        states = states_of(ledger)
        chat(states, "t", 3)
        with held_open(store, one(part("another", "a"))) as session:
            with pytest.raises(StoreBusy) as busy:
                delete(states.threads, "t", by=BY)
            assert [holder["pid"] for holder in busy.value.data["holders"]] == [
                session.connection.info.backend_pid
            ]
            assert (ids(states_of(ledger), "t"), kept(ledger).contents) == ([], 3)
            session.command(b"ROLLBACK")
        assert (delete(states.threads, "t", by=BY).contents, kept(ledger).contents) == (3, 0)
