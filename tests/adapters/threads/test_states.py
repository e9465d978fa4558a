"""The states of threads: saved by what is new, read by whoever comes, across the runs of a thread."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Barrier, Thread
from typing import Any

import pytest

from ledger import Ledger
from ledger.adapters.packs import refers_to
from ledger.adapters.threads import Located, ThreadStates
from ledger.adapters.threads import knowing as module
from ledger.adapters.threads.dropping import delete, drop, prune
from ledger.application.saved_states import SavedState
from ledger.errors import IntegrityError, InvalidInput, RunIsClosed, StateMoved
from ledger.stores.memory import MemoryStore
from ledger.values import Ending
from tests.adapters.threads.plain import BY, chat, opened, states_of


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with opened(MemoryStore()) as ledger:
        yield ledger


@pytest.fixture
def states(ledger: Ledger) -> ThreadStates:
    return states_of(ledger)


def put(
    states: ThreadStates, id: str, parent: str | None = None, *, seen: int | None = 0, **values: Any
) -> int:
    return states.save("chat", id, values, b"head", parent=parent, seen=seen)[1]


def newest(states: ThreadStates, line: str = "") -> Located:
    found = states.newest("chat", line)
    assert found is not None
    return found


def close(states: ThreadStates) -> None:
    entry = states.threads.current("chat")
    assert entry is not None
    entry.run.close(Ending.CANCELLED)


def ids(states: ThreadStates) -> list[tuple[str, str]]:
    return [(found.state.run, found.state.id) for found in states.all("chat")]


# --- one run -------------------------------------------------------------------------------------


def test_a_state_is_saved_and_read_by_another_process(ledger: Ledger, states: ThreadStates) -> None:
    put(states, "1", messages=["a"], count=1)
    put(states, "2", "1", messages=["a", "b"], count=2)
    other = states_of(ledger)
    found = newest(other)
    assert (found.state.id, found.state.parent, found.seen, found.dropped) == ("2", "1", 3, None)
    read = other.read(found)
    assert (read.head, read.values) == (b"head", {"messages": ["a", "b"], "count": 2})
    assert other.read(found, names=["count"]).values == {"count": 2}
    assert other.newest("none") is None
    assert other.find("chat", "9") is None
    assert other.find("none", "1") is None
    assert list(other.all("none")) == []


def test_of_two_that_go_on_from_one_state_one_reads_again(ledger: Ledger, states: ThreadStates) -> None:
    put(states, "1")
    mine, theirs = newest(states), newest(states_of(ledger))
    put(states, "2", "1", seen=mine.seen)
    with pytest.raises(StateMoved):
        put(states_of(ledger), "2b", "1", seen=theirs.seen)
    put(states_of(ledger), "2b", "1", seen=None)
    assert newest(states).state.branch


def test_of_two_that_begin_a_thread_one_reads_again(ledger: Ledger, states: ThreadStates) -> None:
    put(states_of(ledger), "1b")
    with pytest.raises(StateMoved):
        put(states, "1")


def test_lines_have_any_name_and_are_apart(states: ThreadStates) -> None:
    for line in ("", "a:b|c:d", "#", "%23", "x" * 500, "\ud800", "$"):
        states.save("chat", "1", {"line": line}, b"", line=line, seen=0)
    for line in ("", "a:b|c:d", "#", "%23", "x" * 500, "\ud800", "$"):
        assert states.read(newest(states, line)).values == {"line": line}
    assert states.newest("chat", "a:b") is None


def size_of(found: Located) -> int:
    return found.state.size


def test_who_read_the_newest_state_stores_what_is_new_only(ledger: Ledger, states: ThreadStates) -> None:
    chat(states, "chat", 50, size=1000)
    knows, ignorant = states_of(ledger), states_of(ledger)
    messages = knows.read(newest(knows), learn=True).values["list"]
    put(knows, "51", "50", list=[*messages, "new"])
    assert size_of(newest(knows)) < 5000
    put(ignorant, "52", "51", list=[*messages, "new", "newer"])
    assert size_of(newest(ignorant)) > 50_000
    put(knows, "53", "52", list=[*messages, "new", "newest"])
    assert knows.read(newest(states_of(ledger))).values["list"][-1] == "newest"
    assert knows.find("chat", "53").state.whole is False  # type: ignore[union-attr]


def test_a_state_that_shall_be_whole_rests_on_nothing(states: ThreadStates) -> None:
    chat(states, "chat", 3, size=500)
    states.save("chat", "4", {"list": ["x" * 500]}, b"head", parent="3", whole=True)
    found = newest(states)
    contents = found.entry.run.states.contents
    content = contents([found.state.digest])[found.state.digest]
    assert found.state.whole
    assert refers_to(found.state.digest, content, contents) == {found.state.digest}


def test_a_value_that_is_no_data_saves_nothing(states: ThreadStates) -> None:
    class Refusing:
        def dumps(self, value: Any, path: str) -> bytes:
            raise InvalidInput(f"{path}: no data", path=path)

        def __getattr__(self, name: str) -> Any:
            return getattr(codec, name)

    codec = states.codec
    put(states, "1", a=1)
    states.codec = Refusing()
    with pytest.raises(InvalidInput):
        put(states, "2", "1", a=2)
    states.codec = codec
    assert newest(states).state.id == "1"


def test_a_line_begins_however_many_others_moved(states: ThreadStates) -> None:
    for number in range(70):
        states.save("chat", "1", {"n": number}, b"head", line=f"line-{number}", seen=0)
    for number in range(70):
        found = newest(states, f"line-{number}")
        states.save("chat", "2", {"n": number}, b"head", line=f"line-{number}", parent="1", seen=found.seen)
    with pytest.raises(StateMoved):
        states.save("chat", "1b", {}, b"head", line="line-0", seen=0)
    assert newest(states, "line-0").state.id == "2"


@pytest.mark.parametrize("seen", [0, None], ids=["newest", "branch"])
@pytest.mark.parametrize("between", ["read", "process", "closed", "pruned"])
def test_a_state_said_again_is_where_it_is_however_it_was_stored(
    ledger: Ledger, states: ThreadStates, between: str, seen: int | None
) -> None:
    chat(states, "chat", 40, size=100)
    found = newest(states)
    said = {"list": [*states.read(found, learn=True).values["list"], "new" * 50], "count": 1}
    mark = seen if seen is None else found.seen
    states.save("chat", "41", said, b"head", parent="40", seen=mark)
    again = states_of(ledger) if between == "process" else states
    if between == "read":
        again.read(newest(again), learn=True)
    elif between == "closed":
        close(states)
    elif between == "pruned":
        prune(states_of(ledger).threads, "chat", by=BY)
    reordered = {"count": 1, "list": said["list"]}
    entry, position = again.save("chat", "41", reordered, b"head", parent="40", seen=mark)
    assert ids(again)[0][1] == "41"
    if seen == 0 or between == "pruned":
        assert len([one for one in ids(again) if one[1] == "41"]) == 1
        assert len(list(ledger.log("chat#1"))) == 42 + (between == "closed") + (between == "pruned")
    again.save("chat", "42", {}, b"head", parent="41", seen=position)
    assert newest(states_of(ledger)).state.run == entry.run.id or between == "closed"


def test_another_state_of_the_same_name_is_none_that_is_said_again(
    ledger: Ledger, states: ThreadStates
) -> None:
    put(states, "1")
    put(states, "2", "1", list=["a"], count=1)
    for parent, head, said in (
        ("0", b"head", {"count": 1, "list": ["a"]}),
        ("1", b"head", {"list": ["a"], "count": 2}),
        ("1", b"head", {"list": ["b"], "count": 1}),
        ("1", b"head", {"list": ["a"]}),
        ("1", b"other", {"list": ["a"], "count": 1}),
    ):
        with pytest.raises(StateMoved):
            states_of(ledger).save("chat", "2", said, head, parent=parent, seen=2)
    assert states.read(newest(states)).values == {"list": ["a"], "count": 1}


# --- what was given up ---------------------------------------------------------------------------


def test_who_knows_of_no_drop_stores_again_what_was_freed(ledger: Ledger, states: ThreadStates) -> None:
    chat(states, "chat", 40, size=200)
    before = states.read(newest(states)).values["list"]
    other = states_of(ledger)
    drop(other.threads, "chat", [("", str(number)) for number in range(1, 41)], by=BY)
    states.save("chat", "41", {"list": [*before, "new"]}, b"head")
    assert states_of(ledger).read(newest(states_of(ledger))).values["list"] == [*before, "new"]


@pytest.mark.parametrize("seen", [True, False], ids=["newest", "branch"])
@pytest.mark.parametrize("deed", ["delete", "delete and begin anew", "drop", "restart"])
@pytest.mark.parametrize("same", [True, False], ids=["same program", "another"])
def test_nobody_goes_on_from_what_was_given_up(
    ledger: Ledger, states: ThreadStates, same: bool, deed: str, seen: bool
) -> None:
    chat(states, "chat", 3)
    found = newest(states)
    other = states if same else states_of(ledger)
    if deed == "drop":
        drop(other.threads, "chat", [("", "3")], by=BY)
    elif deed == "restart":
        ledger.restart("chat#1", as_="chat#2", by=BY, reason="the rules changed")
    else:
        delete(other.threads, "chat", by=BY)
    if deed == "delete and begin anew":
        put(other, "rival")
    before = ids(states_of(ledger))
    for _ in range(2):
        with pytest.raises(StateMoved):
            put(states, "4", "3", seen=found.seen if seen else None, secret="x")
    assert ids(states_of(ledger)) == before


def test_a_branch_goes_on_from_what_was_never_here(states: ThreadStates) -> None:
    put(states, "1", "of another ledger", seen=None)
    put(states, "2", "of another thread", seen=None)
    assert [id for _, id in ids(states)] == ["2", "1"]


def test_a_rival_in_a_later_run_is_seen_by_who_looked_in_an_earlier_one(
    ledger: Ledger, states: ThreadStates
) -> None:
    """Where the earlier run stood says nothing of the later one."""
    chat(states, "chat", 80)
    found = newest(states)
    close(states)
    rival = states_of(ledger)
    put(rival, "81", "80", seen=newest(rival).seen)
    for number in range(64):
        rival.save("chat", "1", {}, b"", line=f"line-{number}", seen=0)
    assert rival.threads.current("chat") is not None
    assert newest(states).state.id == "81"
    with pytest.raises(StateMoved):
        put(states, "81b", "80", seen=found.seen)


def test_who_goes_on_from_a_state_that_was_kept_goes_on(ledger: Ledger, states: ThreadStates) -> None:
    chat(states, "chat", 40, size=200)
    found = newest(states)
    prune(states_of(ledger).threads, "chat", by=BY)
    put(states, "41", "40", seen=found.seen, list=[*states.read(found).values["list"], "new"])
    assert len(states_of(ledger).read(newest(states_of(ledger))).values["list"]) == 41


def test_what_was_learnt_before_a_drop_is_not_relied_on(ledger: Ledger, states: ThreadStates) -> None:
    chat(states, "chat", 3, size=200)
    found = newest(states)
    prune(states_of(ledger).threads, "chat", by=BY)
    put(states, "4", "3", list=["x" * 200])
    states.read(found, learn=True)
    assert found.entry.memo.dropped is not None, "what is older than that says nothing"
    assert states_of(ledger).read(newest(states)).values == {"list": ["x" * 200]}


def test_a_content_that_is_gone_is_said_to_be(states: ThreadStates) -> None:
    put(states, "1")
    found = newest(states)
    gone = found._replace(state=found.state._replace(digest=bytes(32)))
    with pytest.raises(IntegrityError, match="gone"):
        states.read(gone)


# --- run after run -------------------------------------------------------------------------------


def test_a_thread_goes_on_in_its_next_run(ledger: Ledger, states: ThreadStates) -> None:
    chat(states, "chat", 3)
    found = newest(states)
    close(states)
    assert newest(states_of(ledger)).state.id == "3"
    put(states, "4", "3", seen=found.seen, list=["new"])
    assert ids(states) == [("chat#2", "4"), ("chat#1", "3"), ("chat#1", "2"), ("chat#1", "1")]
    for one in (states, states_of(ledger)):
        assert one.read(newest(one)).values == {"list": ["new"]}
        older = one.find("chat", "2")
        assert older is not None
        assert len(one.read(older).values["list"]) == 2
    for line, seen in (("", 3), ("sub", 2)):
        assert states.newest("chat", line) is None or newest(states, line).state.id == "4", (line, seen)


def test_a_rival_is_seen_across_a_closed_run(ledger: Ledger, states: ThreadStates) -> None:
    put(states, "1")
    found = newest(states)
    rival = states_of(ledger)
    close(rival)
    put(rival, "2b", "1", seen=newest(rival).seen)
    with pytest.raises(StateMoved):
        put(states, "2", "1", seen=found.seen)
    assert newest(states).state.id == "2b"


def test_the_newest_state_of_an_older_run_was_seen_where_the_present_one_stood(states: ThreadStates) -> None:
    """It is in the present run that the next state is saved, and there that others are first."""
    chat(states, "chat", 9, line="sub")
    close(states)
    put(states, "1")
    found = newest(states, "sub")
    assert (found.state.run, found.seen) == ("chat#1", 2)
    states.save("chat", "10", {}, b"", line="sub", parent="9", seen=found.seen)
    with pytest.raises(StateMoved):
        states.save("chat", "10b", {}, b"", line="sub", parent="9", seen=found.seen)


def test_a_run_that_is_closed_again_and_again_is_an_error(
    states: ThreadStates, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(states, "1")
    close(states)
    entry = states.threads.current("chat")
    assert entry is not None
    monkeypatch.setattr(states.threads, "open", lambda thread: entry)
    with pytest.raises(RunIsClosed):
        put(states, "2", "1", seen=None)


def test_a_thread_that_was_restarted_begins_anew(ledger: Ledger, states: ThreadStates) -> None:
    put(states, "1")
    ledger.restart("chat#1", as_="chat#2", by=BY, reason="the rules changed")
    assert states.newest("chat") is None
    put(states, "1b", seen=0)
    assert ids(states) == [("chat#2", "1b")]


# --- many at once --------------------------------------------------------------------------------


def test_threads_of_a_program_save_side_by_side(ledger: Ledger, states: ThreadStates) -> None:
    start, failed = Barrier(6), []

    def work(number: int) -> None:
        try:
            start.wait(30)
            chat(states, "chat", 12, line=f"line-{number}", size=100)
            for _ in range(5):
                states.read(newest(states, f"line-{number}"), learn=True)
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    workers = [Thread(target=work, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert failed == []
    other = states_of(ledger)
    for number in range(6):
        assert len(other.read(newest(other, f"line-{number}")).values["list"]) == 12
    assert len(list(other.all("chat"))) == 72


def test_of_lines_without_end_those_that_were_used_last_are_known(
    states: ThreadStates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LISTS_KNOWN", 3)
    for number in range(5):
        chat(states, "chat", 2, line=f"line-{number}")
        put(states, f"main-{number}", seen=None, list=[number])
    memo = newest(states).entry.memo
    assert [line for line, _ in memo.lists] == ["line-3", "line-4", None]
    states.read(newest(states, "line-3"), learn=True)
    states.read(newest(states, "line-0"), learn=True)
    assert [line for line, _ in memo.lists] == [None, "line-3", "line-0"]


def test_parts_are_read_with_their_state(states: ThreadStates) -> None:
    put(states, "1")
    found = newest(states)
    found.entry.run.save_state_part("1", "t", b"part")
    assert [part.task for part in states.parts(found)] == ["t"]
    assert isinstance(found.state, SavedState)
