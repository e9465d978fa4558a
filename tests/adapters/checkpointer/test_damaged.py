"""A checkpoint that cannot be read is told by its name; an older one is loaded where that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ledger.adapters.checkpointer import (
    Checkpointer,
    CheckpointNotFound,
    CorruptCheckpoint,
    NewerFormat,
    in_files,
    reading,
)
from ledger.adapters.checkpointer.codec import DataCodec
from ledger.adapters.threads import Threads, ThreadStates
from ledger.errors import IntegrityError, StateMoved
from tests.adapters.checkpointer.conftest import Place
from tests.adapters.checkpointer.damage import How, damage, flipped, gone

KINDS = ("memory", "sqlite", "files")


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, places: Callable[[str], Place]) -> Place:
    return places(request.param)


def state(turn: int) -> dict[str, Any]:
    said = [{"id": f"m{n}", "text": f"{n:0100}"} for n in range(turn)]
    return {"messages": said, "turn": turn, "big": f"{turn:0200}"}


def saved(place: Place, thread: str, turns: int, **options: Any) -> list[str]:
    saves = place(**options)
    return [saves.save(thread, state(n), at="loop_tail") for n in range(1, turns + 1)]


def damaged(place: Place, thread: str, id: str, how: How) -> None:
    (found,) = (one for one in place().list_checkpoints(thread) if one.id == id)
    damage(place, found, how)


@pytest.mark.parametrize("how", [flipped, gone])
def test_a_damaged_newest_is_an_error_with_both_names(place: Place, thread: str, how: How) -> None:
    ids = saved(place, thread, 4, every=2)
    damaged(place, thread, ids[3], how)
    saves = place(every=2)
    with pytest.raises(CorruptCheckpoint) as told:
        saves.load(thread)
    assert (told.value.thread, told.value.id, told.value.good) == (thread, ids[3], ids[2])
    assert isinstance(told.value, IntegrityError)
    for id in (ids[3], ids[2]):
        assert id in str(told.value)
    assert saves.load_checkpoint(thread, ids[2]).state == state(3)
    with pytest.raises(CorruptCheckpoint) as again:
        saves.load_checkpoint(thread, ids[3])
    assert again.value.data == told.value.data
    with pytest.raises(CorruptCheckpoint):
        list(saves.archive(thread))


def test_the_one_before_is_loaded_where_that_is_asked_for_and_says_so(place: Place, thread: str) -> None:
    ids = saved(place, thread, 5, every=100)
    for id in ids[3:]:
        damaged(place, thread, id, flipped)
    saves = place(every=100)
    loaded = saves.load(thread, fallback=True)
    assert loaded is not None
    assert (loaded.fell_back_from, loaded.checkpoint.id, loaded.state) == (ids[4], ids[2], state(3))
    new = saves.save(thread, {**state(3), "turn": "again"}, at="loop_tail")
    # It went on from the damaged one, and rests on nothing before it.
    for id in ids[:3]:
        damaged(place, thread, id, gone)
    found = place().load(thread)
    assert found is not None
    assert (found.checkpoint.id, found.checkpoint.parent, found.checkpoint.whole) == (new, ids[4], True)
    assert (found.state["turn"], found.fell_back_from) == ("again", None)
    saves.save(thread, state(4), at="loop_tail")
    place().load(thread)
    assert place().load(thread, fallback=True).fell_back_from is None  # type: ignore[union-attr]


def test_what_rests_on_a_damaged_one_is_damaged(place: Place, thread: str) -> None:
    ids = saved(place, thread, 5, every=100)
    damaged(place, thread, ids[1], flipped)
    with pytest.raises(CorruptCheckpoint) as told:
        place().load(thread)
    assert (told.value.id, told.value.good) == (ids[4], ids[0])


def test_a_whole_one_rests_on_none(place: Place, thread: str) -> None:
    ids = saved(place, thread, 5, every=4)
    for id in ids[:4]:
        damaged(place, thread, id, gone)
    assert place().load(thread).state == state(5)  # type: ignore[union-attr]
    with pytest.raises(CorruptCheckpoint) as told:
        place().load_checkpoint(thread, ids[2])
    assert told.value.good is None


def test_where_none_can_be_read_none_is_loaded(place: Place, thread: str) -> None:
    ids = saved(place, thread, 2, every=1)
    for id in ids:
        damaged(place, thread, id, gone)
    for fallback in (False, True):
        with pytest.raises(CorruptCheckpoint) as told:
            place().load(thread, fallback=fallback)
        assert (told.value.id, told.value.good) == (ids[1], None)


def test_nothing_is_saved_on_a_damaged_one_that_was_not_looked_at(place: Place, thread: str) -> None:
    ids = saved(place, thread, 3, every=1)
    damaged(place, thread, ids[2], flipped)
    with pytest.raises(CorruptCheckpoint) as told:
        place().save(thread, state(4), at="loop_tail", parent=ids[2])
    assert (told.value.id, told.value.good) == (ids[2], ids[1])
    with pytest.raises(StateMoved):
        place().save(thread, state(4), at="loop_tail", parent=ids[1])


def test_a_damaged_archive_is_told_and_the_state_is_loaded(place: Place, thread: str) -> None:
    ids = saved(place, thread, 40, every=1, window=2)
    saves = place(window=2)
    assert len(next(saves.archive(thread))) == 38
    for id in ids[:-1]:
        damaged(place, thread, id, gone)
    saves = place(window=2)
    loaded = saves.load(thread)
    assert loaded is not None
    assert [one["id"] for one in loaded.state["messages"]] == ["m38", "m39"]
    with pytest.raises(CorruptCheckpoint) as told:
        list(saves.archive(thread))
    assert told.value.id == ids[-1]
    with pytest.raises(CorruptCheckpoint):
        saves.save(thread, state(41), at="loop_tail")


def test_a_later_format_is_refused_and_no_older_one_taken_for_it(
    place: Place, thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = saved(place, thread, 2)
    saves = place()
    saves.load(thread)
    with monkeypatch.context() as later:
        later.setattr(reading, "VERSION", 2)
        newer = saves.save(thread, state(3), at="loop_tail")
    for fallback in (False, True):
        with pytest.raises(NewerFormat) as told:
            place().load(thread, fallback=fallback)
        assert (told.value.format, told.value.known) == (2, 1)
    with pytest.raises(NewerFormat):
        place().load_checkpoint(thread, newer)
    with pytest.raises(NewerFormat):
        place().save(thread, state(4), at="loop_tail", parent=newer)
    with pytest.raises(NewerFormat):
        list(place().archive(thread))
    assert place().load_checkpoint(thread, ids[1]).state == state(2)


def test_a_later_format_of_contents_is_refused(
    place: Place, thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves = place()
    saves.save(thread, state(1), at="loop_tail")
    with monkeypatch.context() as later:
        later.setattr("ledger.adapters.packs.format.MAGIC", b"ILP2")
        saves.save(thread, state(2), at="loop_tail")
    for fallback in (False, True):
        with pytest.raises(NewerFormat) as told:
            place().load(thread, fallback=fallback)
        assert (told.value.format, told.value.known) == ("ILP2", "ILP1")


def test_a_later_format_of_files_is_refused(
    places: Callable[[str], Place], thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = places("files")
    saves = place()
    saved_one = saves.save(thread, state(1), at="loop_tail")
    with monkeypatch.context() as later:
        later.setattr(in_files, "VERSION", 9)
        saves.save(thread, state(2), at="loop_tail")
    with pytest.raises(NewerFormat) as told:
        place().load(thread, fallback=True)
    assert (told.value.format, told.value.known) == (9, 1)
    assert place().load_checkpoint(thread, saved_one).state == state(1)


def test_a_state_that_something_else_saved_is_not_taken_for_a_checkpoint(
    places: Callable[[str], Place], thread: str
) -> None:
    place = places("memory")
    assert place.ledger is not None
    other = ThreadStates(Threads(place.ledger), DataCodec("json"))
    other.save(thread, "0000000001-loop_tail-x", {"=turn": 1}, b"{}", seen=0)
    with pytest.raises(CorruptCheckpoint, match="name another thread"):
        place().load(thread)
    other.save(f"{thread}-2", "theirs", {}, b"\xff", seen=0)
    with pytest.raises(CorruptCheckpoint, match="name another thread"):
        place().save(f"{thread}-2", {}, at="loop_head", parent="theirs")


def test_no_damaged_byte_of_a_file_passes(places: Callable[[str], Place], thread: str) -> None:
    place = places("files")
    saves: Checkpointer = place()
    good = saves.save(thread, {"turn": 1}, at="loop_tail")
    id = saves.save(thread, {"turn": 2, "said": ["yes", 7]}, at="loop_tail")
    (path,) = place.folder.glob(f"threads/*/packs/{id}.*")
    whole = path.read_bytes()
    other = place()

    def refused() -> tuple[str, str | None] | None:
        try:
            other.load(thread)
        except CorruptCheckpoint as told:
            return told.id, told.good
        return None

    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        assert refused() == (id, good), f"byte {at}"
    for length in (0, 1, 4, 40, 52, 60, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert refused() == (id, good), f"{length} bytes"
    path.write_bytes(whole[:60])
    assert other.list_checkpoints(thread)[0].damaged
    path.write_bytes(whole)
    assert refused() is None
    assert other.list_checkpoints(thread)[0].damaged is None
    with pytest.raises(CheckpointNotFound):
        other.load_checkpoint(thread, f"{id}-another")
