"""Files: whatever moment a writer dies at, what is there is whole, and of two writers one wins."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor
from ledger.adapters.checkpointer import Checkpointer, folder
from ledger.errors import InvalidInput, NotForAgents, StateMoved, StoreBusy, StoreUnavailable
from tests.adapters.checkpointer import killed
from tests.conftest import ROOT

Open = Callable[..., Checkpointer]


@pytest.fixture
def open_(tmp_path: Path) -> Any:
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(Checkpointer.open(f"files:{tmp_path}/saves", **options))


@pytest.mark.slow
def test_a_writer_killed_at_any_step_leaves_the_last_state_or_the_new_one(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", killed.__file__, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for line in lines:
        assert line["found"] in {line["saved"], line["saved"] + 1}, line
        assert line["then"] == line["found"] + 1 == line["listed"], line
        assert line["left"] == [], line
    reached = {(line["step"]["step"], line["step"]["after"]) for line in lines if line["step"] is not None}
    assert {name for name, _ in reached} == {"fsync", "link", "rename", "flock", "mkdir"}
    # It is there from the link on, and never before.
    links = [line for line in lines if line["step"] is not None and line["step"]["step"] == "link"]
    assert [line["found"] - line["saved"] for line in links] == [0, 1, 0, 1]
    assert all(line["found"] > line["saved"] for line in lines if line["step"] is None)


def test_it_is_synced_and_complete_before_it_gets_its_place(
    open_: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves = open_()
    saves.save("chat", {"n": 1}, at="loop_tail")
    steps: list[str] = []

    def noted(name: str, call: Any) -> Any:
        def called(*args: Any, **options: Any) -> Any:
            target = args[0]
            if isinstance(target, int):
                target = Path(f"/proc/self/fd/{target}").readlink() if sys.platform == "linux" else ""
            steps.append(f"{name} {Path(target).parent.name if name != 'fsync' else Path(target).name}")
            return call(*args, **options)

        return called

    monkeypatch.setattr(os, "fsync", noted("fsync", os.fsync))
    monkeypatch.setattr(os, "link", noted("link", os.link))
    monkeypatch.setattr(Path, "rename", noted("rename", Path.rename))
    id = saves.save("chat", {"n": 2}, at="loop_tail")
    assert [step.split()[0] for step in steps] == ["fsync", "rename", "fsync", "link", "fsync"]
    assert steps[1:] == ["rename new", "fsync packs", "link packs", "fsync places"]
    if sys.platform == "linux":
        assert steps[0].endswith(id)


def test_a_half_written_file_is_never_read(open_: Open, tmp_path: Path) -> None:
    saves = open_()
    id = saves.save("chat", {"n": 1}, at="loop_tail")
    (there,) = (tmp_path / "saves" / "threads").iterdir()
    (tmp_path / "saves" / "new" / f"{there.name[:2]}-{id}").write_bytes(b"ILC1half")
    (there / "packs" / "stray").write_bytes(b"")
    (there / "packs" / f"0000000002-loop_tail-x.{'ab' * 32}").write_bytes(b"ILC1ha")
    (there / "places" / "0000000002.part").write_bytes(b"ILC1ha")
    loaded = open_().load("chat")
    assert loaded is not None
    assert (loaded.checkpoint.id, loaded.state) == (id, {"n": 1})
    second = saves.save("chat", {"n": 2}, at="loop_tail")
    assert open_().load("chat").checkpoint.id == second  # type: ignore[union-attr]
    assert not list((tmp_path / "saves" / "new").iterdir())


def test_one_wins_even_where_locks_do_nothing(open_: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    saves, other = open_(), open_()
    parent = saves.save("chat", {"n": 1}, at="loop_tail")
    monkeypatch.setattr(fcntl, "flock", lambda *args: None)
    link = os.link

    def overtaken(*args: Any) -> None:
        monkeypatch.setattr(os, "link", link)
        other.save("chat", {"n": "other"}, at="loop_tail", parent=parent)
        link(*args)

    monkeypatch.setattr(os, "link", overtaken)
    with pytest.raises(StateMoved) as told:
        saves.save("chat", {"n": "lost"}, at="loop_tail")
    assert (told.value.expected, told.value.actual) == (1, 2)
    loaded = saves.load("chat")
    assert loaded is not None
    assert loaded.state == {"n": "other"}
    saves.save("chat", {"n": 3}, at="loop_tail")
    assert len(open_().list_checkpoints("chat")) == 3


def test_who_writes_all_the_time_is_waited_for_and_told(tmp_path: Path) -> None:
    waited: list[float] = []
    place = folder.Folder(tmp_path / "saves", busy_seconds=0.1, wait=waited.append)
    with place.writing("chat"), pytest.raises(StoreBusy) as told, place.writing("chat"):
        pass
    assert told.value.retryable
    assert 0.1 <= sum(waited) < 0.2
    with place.writing("chat"):
        pass


@pytest.mark.parametrize("call", ["fsync", "link", "mkdir"])
def test_what_the_disk_refuses_is_told_and_nothing_is_half_there(
    open_: Open, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    saves = open_()

    def full(*args: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(Path if call == "mkdir" else os, call, full)
        with pytest.raises(StoreUnavailable) as told:
            saves.save("chat", {"n": 1}, at="loop_tail")
    assert told.value.data["reason"] == "enospc"
    assert open_().load("chat") is None
    saves.save("chat", {"n": 1}, at="loop_tail")
    assert open_().load("chat").state == {"n": 1}  # type: ignore[union-attr]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable) as told:
        Checkpointer.open(f"files:{tmp_path}/none/saves")
    assert told.value.data["reason"] == "enoent"
    with pytest.raises(InvalidInput):
        Checkpointer.open("files:")
    with pytest.raises(InvalidInput) as wrong:
        Checkpointer.open(f"files:{tmp_path}", actor=Actor("agent:a"))
    assert wrong.value.path == "actor"


def test_files_have_no_runs(open_: Open) -> None:
    for ask in (open_().run, open_().resume):
        with pytest.raises(InvalidInput, match="save in a ledger"):
            ask("chat")


def test_an_agent_deletes_nothing_in_files_either(tmp_path: Path) -> None:
    with Checkpointer.open(f"files:{tmp_path}") as saves:
        saves.save("chat", {"n": 1}, at="loop_tail")
        with pytest.raises(NotForAgents):
            saves.delete("chat", by="agent:clerk")
        with pytest.raises(InvalidInput, match="kind:name"):
            saves.delete("chat", by="kim")
        assert saves.load("chat") is not None
        assert saves.delete("chat", by="human:kim")
    with pytest.raises(InvalidInput, match="no record of who"):
        Checkpointer.open(f"files:{tmp_path}", custodian=Actor("human:kim"))


def test_a_thread_deleted_by_who_was_killed_is_gone_and_its_files_go_later(
    open_: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves = open_()
    for thread in ("chat", "other"):
        saves.save(thread, {"n": 1}, at="loop_tail")
    gone = tmp_path / "saves" / "gone"
    with monkeypatch.context() as interrupted:
        interrupted.setattr(shutil, "rmtree", lambda *args, **options: None)
        assert saves.delete("chat")
    assert saves.load("chat") is None
    assert len(list(gone.iterdir())) == 1
    assert saves.delete("other")
    assert not list(gone.iterdir())
