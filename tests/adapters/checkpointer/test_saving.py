"""What every place does: save on the newest, load it, list, delete; the same on each of them."""

from __future__ import annotations

import copy
import pickle
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest

from ledger import open_ledger
from ledger.adapters.checkpointer import (
    BOUNDARIES,
    Checkpointer,
    CheckpointNotFound,
    MidStream,
)
from ledger.errors import InvalidInput, PositionConflict, StateMoved
from tests.adapters.checkpointer.conftest import Place

STATE: dict[str, Any] = {
    "plan": ["look", {"do": "pay", "amount": 10.0}],
    "": None,
    "archive": "a name like any other",
    "turn": 3,
    "é": "ü",
}


def test_what_was_saved_is_loaded_by_who_remembers_nothing(place: Place, thread: str) -> None:
    id = place().save(thread, STATE, at="after_tool")
    loaded = place().load(thread)
    assert loaded is not None
    assert loaded.state == STATE
    assert list(loaded.state) == list(STATE)
    checkpoint = loaded.checkpoint
    assert (checkpoint.id, checkpoint.parent, checkpoint.boundary) == (id, None, "after_tool")
    assert checkpoint.saved_at == place.clock()
    assert checkpoint.size > 0
    assert len(checkpoint.digest) == 64
    assert (loaded.summaries, loaded.archived, loaded.fell_back_from) == ((), 0, None)


def test_nothing_is_loaded_where_nothing_was_saved(place: Place, thread: str) -> None:
    saves = place()
    assert saves.load(thread) is None
    assert saves.list_checkpoints(thread) == []
    assert list(saves.archive(thread)) == []
    assert saves.delete(thread) is False
    with pytest.raises(CheckpointNotFound) as told:
        saves.load_checkpoint(thread, "0000000001-loop_head-x")
    assert (told.value.thread, told.value.id) == (thread, "0000000001-loop_head-x")


def test_ids_sort_as_they_were_saved_and_name_their_parents(place: Place, thread: str) -> None:
    saves = place(every=3)
    ids = []
    for number, boundary in enumerate(BOUNDARIES * 2):
        place.clock.tick(-1)  # a clock that goes back changes nothing
        ids.append(saves.save(thread, {"turn": number}, at=boundary))
    assert sorted(ids) == ids
    assert len(set(ids)) == 12
    listed = place().list_checkpoints(thread)
    assert [one.id for one in listed] == ids[::-1]
    assert [one.parent for one in listed] == [*ids[-2::-1], None]
    assert [one.boundary for one in listed][::-1] == list(BOUNDARIES * 2)
    assert [one.damaged for one in listed] == [None] * 12
    assert listed[::-1] == [saves.load_checkpoint(thread, id).checkpoint for id in ids]
    assert [saves.load_checkpoint(thread, id).state["turn"] for id in ids] == list(range(12))
    assert [one.id for one in saves.list_checkpoints(thread, before=ids[4], limit=2)] == [ids[3], ids[2]]


@pytest.mark.parametrize("limit", [-1, True, "2"])
def test_a_limit_is_a_number(limit: Any) -> None:
    with Checkpointer.open(":memory:") as saves, pytest.raises(InvalidInput) as told:
        saves.list_checkpoints("chat", limit=limit)
    assert told.value.path == "limit"


def test_every_nth_is_whole_and_none_is_left_out(place: Place, thread: str) -> None:
    saves = place(every=3)
    state: dict[str, Any] = {"log": []}
    for number in range(10):
        state["log"].append(f"{number:0100}")
        saves.save(thread, state, at="loop_tail")
    listed = saves.list_checkpoints(thread)[::-1]
    assert [one.whole for one in listed] == [n % 3 == 0 for n in range(10)]
    assert listed[-2].size < listed[-1].size / 2, "a delta has what is new"
    assert len(listed) == 10


def test_who_saves_on_an_old_parent_is_told(place: Place, thread: str) -> None:
    saves = place()
    first = saves.save(thread, {"n": 1}, at="loop_head")
    other = place()
    with pytest.raises(PositionConflict):
        other.save(thread, {"n": 0}, at="loop_head")
    with pytest.raises(PositionConflict):
        other.save(thread, {"n": 0}, at="loop_head", parent=None)
    assert other.load(thread) is not None
    second = other.save(thread, {"n": 2}, at="loop_head")
    for parent in (first, "0000000009-loop_head-x", "no name of ours"):
        with pytest.raises(StateMoved) as told:
            saves.save(thread, {"n": 3}, at="loop_head", parent=parent)
    assert (told.value.run, told.value.actual, told.value.retryable) == (thread, 2, True)
    with pytest.raises(StateMoved):
        saves.save(thread, {"n": 3}, at="loop_head")
    saves.load_checkpoint(thread, first)
    with pytest.raises(StateMoved):
        saves.save(thread, {"n": 3}, at="loop_head")
    loaded = saves.load(thread)
    assert loaded is not None
    assert (loaded.checkpoint.id, loaded.state) == (second, {"n": 2})
    third = saves.save(thread, {"n": 3}, at="loop_head")
    assert saves.save(thread, {"n": 4}, at="loop_head", parent=third) > third


def test_threads_that_share_one_never_take_what_another_saved_for_what_they_have_read(
    place: Place, thread: str
) -> None:
    saves = place()
    saves.save(thread, {"n": 1}, at="loop_head")
    told: list[Exception] = []
    loaded, saved = threading.Event(), threading.Event()

    def rival() -> None:
        saves.load(thread)
        loaded.set()
        saved.wait(30)
        try:
            saves.save(thread, {"n": "lost"}, at="loop_head")
        except StateMoved as error:
            told.append(error)

    worker = threading.Thread(target=rival)
    worker.start()
    assert loaded.wait(30)
    saves.save(thread, {"n": 2}, at="loop_head")
    saved.set()
    worker.join()
    assert len(told) == 1
    assert place().load(thread).state == {"n": 2}  # type: ignore[union-attr]


def test_of_threads_that_save_at_once_one_wins(place: Place, thread: str) -> None:
    saves = place()
    parent = saves.save(thread, {"n": 0}, at="loop_head")
    barrier, won, lost = threading.Barrier(4), list[str](), list[Exception]()

    def race(mine: Checkpointer, number: int) -> None:
        barrier.wait()
        try:
            won.append(mine.save(thread, {"n": number}, at="after_tool", parent=parent))
        except StateMoved as error:
            lost.append(error)

    others = [saves, saves, place(), place()]
    workers = [threading.Thread(target=race, args=(one, n)) for n, one in enumerate(others, 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (len(won), len(lost)) == (1, 3)
    assert [one.id for one in place().list_checkpoints(thread)] == [won[0], parent]


@pytest.mark.parametrize("at", [None, "", "after_everything", "AFTER_MODEL", 1, ["after_model"]])
def test_nothing_is_saved_outside_a_boundary(place: Place, thread: str, at: Any) -> None:
    saves = place()
    with pytest.raises(InvalidInput) as told:
        saves.save(thread, {}, at=at)
    assert told.value.path == "at"
    assert saves.load(thread) is None


def test_nothing_is_saved_while_tokens_stream(place: Place, thread: str) -> None:
    saves = place()
    with saves.streaming(thread):
        saves.begin_stream(thread)
        with pytest.raises(MidStream):
            saves.save(thread, {}, at="after_model")
        saves.end_stream(thread)
        with pytest.raises(MidStream) as told:
            saves.summarise(thread, "said", through="m1", at="loop_head")
        assert told.value.thread == thread
        saves.save(f"{thread}-other", {}, at="after_model")
    with pytest.raises(RuntimeError, match="the model"), saves.streaming(thread):
        raise RuntimeError("the model broke off")
    saves.save(thread, {}, at="after_model")
    with pytest.raises(InvalidInput):
        saves.end_stream(thread)


def test_whoever_saves_in_the_same_place_is_told_that_tokens_stream(place: Place, thread: str) -> None:
    saves, other = place(), place()
    with saves.streaming(thread):
        with pytest.raises(MidStream):
            other.save(thread, {}, at="after_model")
        other.begin_stream(thread)
    with pytest.raises(MidStream):
        saves.save(thread, {}, at="after_model")
    saves.end_stream(thread)
    other.save(thread, {}, at="after_model")
    with pytest.raises(InvalidInput):
        saves.end_stream(thread)


def test_the_same_file_is_the_same_place_and_another_tenant_s_thread_another(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with ExitStack() as stack:
        saves, other, apart, files, more = (
            stack.enter_context(Checkpointer.open(where))
            for where in (
                tmp_path / "a.db",
                f"{tmp_path}/link/a.db",
                stack.enter_context(open_ledger(tmp_path / "a.db", tenant="acme")),
                f"files:{tmp_path}/saves",
                f"files:{tmp_path}/link/saves",
            )
        )
        with saves.streaming("chat"), files.streaming("talk"):
            for who, thread in ((other, "chat"), (more, "talk")):
                with pytest.raises(MidStream):
                    who.save(thread, {}, at="after_model")
            apart.save("chat", {}, at="after_model")
            other.save("talk", {}, at="after_model")
            more.save("chat", {}, at="after_model")


def test_a_checkpointer_tells_why_it_cannot_be_copied(place: Place) -> None:
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="open another one there"):
            copied(place())


@pytest.mark.parametrize("wrong", [5, b"x", ["x"], object()], ids=type)
def test_a_checkpoint_is_named_by_a_text(place: Place, thread: str, wrong: Any) -> None:
    saves = place()
    id = saves.save(thread, {}, at="loop_head")
    calls: list[tuple[str, Any]] = [
        ("checkpoint_id", lambda: saves.load_checkpoint(thread, wrong)),
        ("parent", lambda: saves.save(thread, {}, at="loop_head", parent=wrong)),
        ("before", lambda: saves.list_checkpoints(thread, before=wrong)),
    ]
    for path, call in calls:
        with pytest.raises(InvalidInput) as told:
            call()
        assert told.value.path == path
    assert saves.load(thread).checkpoint.id == id  # type: ignore[union-attr]


def test_a_name_that_is_none_is_not_the_newest(place: Place, thread: str) -> None:
    saves = place()
    saves.save(thread, {}, at="loop_head")
    with pytest.raises(InvalidInput, match="`load` has the newest"):
        saves.load_checkpoint(thread, cast(Any, None))
    for id in ("", "1", "1" * 5000, "\u0663-loop_head-x", "0000000001/../x", "0000000001-loop_head-x"):
        with pytest.raises(CheckpointNotFound):
            saves.load_checkpoint(thread, id)


def test_a_deleted_conversation_begins_anew(place: Place, thread: str) -> None:
    saves, other = place(), place()
    last = ""
    for number in range(3):
        last = saves.save(thread, {"secret": [f"told-{number}" * 30]}, at="loop_tail")
    other.load(thread)
    saves.save(f"{thread}-kept", {"n": 1}, at="loop_tail")
    assert saves.delete(thread, by="human:kim", reason="they asked for it") is True
    for one in (saves, other, place()):
        with pytest.raises(StateMoved):
            one.save(thread, {}, at="loop_tail", parent=last)
        assert one.load(thread) is None
        assert one.list_checkpoints(thread) == []
        with pytest.raises(CheckpointNotFound):
            one.load_checkpoint(thread, last)
    assert saves.delete(thread) is False
    state = {"secret": [f"told-{number}" * 30 for number in range(4)]}
    new = other.save(thread, state, at="loop_tail")
    assert new != last
    for one in (saves, other, place()):
        loaded = one.load(thread)
        assert loaded is not None
        assert (loaded.state, loaded.checkpoint.parent) == (state, None)
    assert saves.save(thread, state, at="loop_tail") > new
    assert place().load(f"{thread}-kept").state == {"n": 1}  # type: ignore[union-attr]


NAMES = [
    "a/../../b",
    "..",
    ".",
    "/etc/passwd",
    "x" * 3000,
    "nul\0l",
    "A",
    "a",
    "é",
    "e\u0301",
    "\ud800",
    "a#1",
]


def test_any_text_names_a_conversation(place: Place, thread: str) -> None:
    saves = place()
    names = [f"{name}{thread}" if name else name for name in NAMES]
    for number, name in enumerate(names):
        saves.save(name, {"n": number}, at="loop_head")
    other = place()
    assert [other.load(name).state["n"] for name in names] == list(range(len(names)))  # type: ignore[union-attr]
    nameless: list[Any] = ["", "  ", None, 7]
    for none in nameless:
        with pytest.raises(InvalidInput):
            saves.save(none, {}, at="loop_head")


def test_what_is_deleted_while_it_is_read_is_gone_and_not_damaged(
    place: Place, thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves, other = place(cache=None), place(cache=None)
    backend = saves._engine.backend
    read = backend.read

    def overtaken(*args: Any) -> Any:
        monkeypatch.undo()
        assert other.delete(thread)
        if anew:
            other.save(thread, {"anew": True}, at="loop_head")
        return read(*args)

    for anew in (False, True):
        for ask in ("load", "load_checkpoint", "archive"):
            other.delete(thread)
            id = other.save(thread, {"n": 1}, at="loop_head")
            monkeypatch.setattr(backend, "read", overtaken)
            if ask == "load_checkpoint":
                with pytest.raises(CheckpointNotFound):
                    saves.load_checkpoint(thread, id)
            elif ask == "archive":
                assert list(saves.archive(thread)) == []
            else:
                loaded = saves.load(thread)
                assert (None if loaded is None else loaded.state) == ({"anew": True} if anew else None)
