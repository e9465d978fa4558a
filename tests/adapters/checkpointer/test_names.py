"""Names in a folder behind which something else is: none is followed, emptied or passed over."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ledger.adapters.checkpointer import Checkpointer, CorruptCheckpoint, folder
from ledger.adapters.checkpointer.folder import MAGIC, content_of
from ledger.errors import StateMoved, StoreUnavailable

DIGEST = hashlib.sha256(b"chat").hexdigest()


@pytest.fixture
def saves(tmp_path: Path) -> Iterator[Checkpointer]:
    with Checkpointer.open(f"files:{tmp_path}/saves") as opened:
        yield opened


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return tmp_path / "saves" / "threads" / DIGEST


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("precious")
    return path


def crafted(fields: Any) -> bytes:
    """Return a file whose digests are right and whose header is none."""
    content = content_of(fields, b"")
    head = int.from_bytes(content[:4], "big")
    front = MAGIC + hashlib.sha256(content).digest() + hashlib.sha256(content[4 : 4 + head]).digest()[:16]
    return front + content


def linked_to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


def a_socket(path: Path) -> None:
    with ExitStack() as stack, socket.socket(socket.AF_UNIX) as made:
        stack.callback(os.chdir, Path.cwd())
        os.chdir(path.parent)  # the name of a socket is short
        made.bind(path.name)


BEHIND: dict[str, Callable[[Path], Any]] = {
    "a folder": Path.mkdir,
    "a dangling link": linked_to("/nonexistent/file"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a link to the one before": linked_to("0000000001"),
    "a pipe": os.mkfifo,
    "a socket": a_socket,
    "an empty file": Path.touch,
    "a header without names": lambda path: path.write_bytes(crafted({"v": 1})),
    "a header of other types": lambda path: path.write_bytes(
        crafted({"at": 5, "id": [1], "parent": {}, "root": None, "whole": 1})
    ),
}


@pytest.mark.parametrize("behind", BEHIND)
def test_the_newest_is_damaged_where_its_name_is_something_else_s(
    saves: Checkpointer, there: Path, behind: str
) -> None:
    good = saves.save("chat", {"n": 1}, at="loop_tail")
    BEHIND[behind](there / "places" / "0000000002")
    for load in (saves.load, lambda thread: saves.load_checkpoint(thread, "0000000002")):
        with pytest.raises(CorruptCheckpoint) as told:
            load("chat")
        assert (told.value.id, told.value.good) == ("0000000002", good)
    newest, before = saves.list_checkpoints("chat")
    assert newest.damaged
    assert (before.id, before.damaged) == (good, None)
    with pytest.raises(StateMoved):
        saves.save("chat", {"n": 2}, at="loop_tail", parent=good)
    loaded = saves.load("chat", fallback=True)
    assert loaded is not None
    assert (loaded.state, loaded.fell_back_from) == ({"n": 1}, "0000000002")
    third = saves.save("chat", {"n": 3}, at="loop_tail")
    assert third.startswith("0000000003-")
    assert saves.load("chat").state == {"n": 3}  # type: ignore[union-attr]


def test_a_lock_that_is_a_link_is_not_followed(saves: Checkpointer, tmp_path: Path, victim: Path) -> None:
    lock = tmp_path / "saves" / "locks" / DIGEST[:2]
    for make in (linked_to(str(victim)), linked_to(f"{tmp_path}/nothing"), os.mkfifo):
        make(lock)
        with pytest.raises(StoreUnavailable, match="cannot be locked"):
            saves.save("chat", {"n": 1}, at="loop_tail")
        lock.unlink()
    assert victim.read_text() == "precious"
    assert not (tmp_path / "nothing").exists()
    lock.hardlink_to(victim)
    saves.save("chat", {"n": 1}, at="loop_tail")
    assert victim.read_text() == "precious"


def test_a_file_that_is_written_is_a_new_one(
    saves: Checkpointer, tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = tmp_path / "saves" / "new"
    (new / f"{DIGEST[:2]}-left").symlink_to(victim)
    first = saves.save("chat", {"n": 1}, at="loop_tail")
    assert not list(new.iterdir())
    # Whoever puts a link there as it is about to be written wins nothing.
    made = folder._made

    def planted(path: Path) -> bool:
        if path.name == "packs":
            (new / f"{DIGEST[:2]}-0000000002-loop_tail-x").symlink_to(victim)
        return made(path)

    with monkeypatch.context() as patched:
        patched.setattr(folder, "_made", planted)
        with Checkpointer.open(f"files:{tmp_path}/saves", ids=lambda: "x") as other:
            other.load("chat")
            with pytest.raises(StoreUnavailable) as told:
                other.save("chat", {"n": 2}, at="loop_tail")
    assert told.value.data["reason"] == "eexist"
    assert victim.read_text() == "precious"
    assert saves.save("chat", {"n": 2}, at="loop_tail", parent=first)


@pytest.mark.parametrize("name", ["", "places", "packs"])
def test_a_folder_that_is_a_link_is_not_followed(
    saves: Checkpointer, tmp_path: Path, there: Path, name: str
) -> None:
    id = saves.save("chat", {"n": 1}, at="loop_tail")
    moved = tmp_path / "moved"
    (there / name).rename(moved)
    (there / name).symlink_to(moved)
    listed = sorted(path.name for path in moved.rglob("*"))
    with Checkpointer.open(f"files:{tmp_path}/saves") as other:
        calls: list[Callable[[], Any]] = [
            lambda: other.load("chat"),
            lambda: other.save("chat", {"n": 2}, at="loop_tail", parent=id),
        ]
        for call in calls:
            with pytest.raises(StoreUnavailable) as told:
                call()
            assert told.value.data["reason"] == "eloop"
        if name == "places":
            assert other.delete("chat")
    assert sorted(path.name for path in moved.rglob("*")) == listed


def test_what_a_link_among_deleted_threads_leads_to_stays(saves: Checkpointer, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").touch()
    (tmp_path / "saves" / "gone" / "left").symlink_to(tmp_path / "elsewhere")
    saves.save("chat", {"n": 1}, at="loop_tail")
    assert saves.delete("chat")
    assert (tmp_path / "elsewhere" / "file").exists()
    assert not list((tmp_path / "saves" / "gone").iterdir())


def test_a_part_of_the_folder_that_is_a_link_is_told_as_it_is_opened(tmp_path: Path) -> None:
    (tmp_path / "saves").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "saves" / "threads").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnavailable) as told:
        Checkpointer.open(f"files:{tmp_path}/saves")
    assert told.value.data["reason"] == "enotdir"
    # The folder itself may be behind one: whoever opens it named it.
    (tmp_path / "saves" / "threads").unlink()
    (tmp_path / "link").symlink_to(tmp_path / "saves")
    with Checkpointer.open(f"files:{tmp_path}/link") as saves:
        saves.save("chat", {}, at="loop_tail")


def test_what_is_made_is_for_its_owner_alone(saves: Checkpointer, tmp_path: Path) -> None:
    saves.save("chat", {"n": 1}, at="loop_tail")
    made = [tmp_path / "saves", *(tmp_path / "saves").rglob("*")]
    assert len(made) > 8
    for path in made:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.parametrize("number", [errno.EACCES, errno.EMFILE])
@pytest.mark.parametrize("call", ["open", "listdir"])
def test_what_cannot_be_read_now_is_no_damage(
    saves: Checkpointer, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    saves.save("chat", {"n": 1}, at="loop_tail")

    def refused(*args: Any, **options: Any) -> Any:
        raise OSError(number, os.strerror(number))

    asked: list[Callable[[], Any]] = [
        lambda: saves.load("chat"),
        lambda: saves.load("chat", fallback=True),
        lambda: saves.list_checkpoints("chat"),
        lambda: list(saves.archive("chat")),
        lambda: saves.save("chat", {"n": 2}, at="loop_tail"),
        lambda: saves.delete("chat"),
    ]
    with monkeypatch.context() as patched:
        patched.setattr(os, call, refused)
        for ask in asked:
            with pytest.raises(StoreUnavailable) as told:
                ask()
            assert told.value.data["reason"] == errno.errorcode[number].lower()
    assert saves.load("chat").state == {"n": 1}  # type: ignore[union-attr]


def test_a_disk_that_cannot_read_a_checkpoint_leaves_the_one_before(
    saves: Checkpointer, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = saves.save("chat", {"n": 1}, at="loop_tail")
    bad = saves.save("chat", {"n": 2}, at="loop_tail")
    opened = os.open

    def failing(path: Any, *args: Any, **options: Any) -> int:
        if Path(path).name == "0000000002":
            raise OSError(errno.EIO, "Input/output error")
        return opened(path, *args, **options)

    monkeypatch.setattr(os, "open", failing)
    with pytest.raises(CorruptCheckpoint) as told:
        saves.load("chat")
    assert (told.value.id, told.value.good) == (bad, good)
    assert json.loads(json.dumps(told.value.data))["good"] == good
