"""A folder of checkpoints: its files, written in an order in which none is ever half there.

    locks/NN                     held by who writes to a thread; NN is the beginning of its digest
    new/NN-ID                    a file that is being written
    gone/…                       threads that are being deleted
    threads/DIGEST/              a thread; DIGEST is the SHA-256 of its name
        packs/ID.DIGEST          a checkpoint; DIGEST is that of its content
        places/NUMBER            the same file once more: which checkpoint is the NUMBERth of the thread

A checkpoint is written into `new`, synced, renamed into `packs`, and linked to its place, which fails where
somebody has it: so one of two writers wins even where locks do nothing. Folders are synced after each step.
What is in `places` was whole before it got there.

Who may write there may do anything to the checkpoints, so what is made here is for its owner alone. Symbolic
links below the folder are not followed, and no file that is there is ever emptied.

A file is `ILC1`, the SHA-256 of its content, the first 16 bytes of the SHA-256 of its header, and the
content: the length of the header (4 bytes, big-endian), the header as JSON, and a pack.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any, BinaryIO, Final, NamedTuple, cast
from urllib.parse import quote

from ledger.errors import IntegrityError, StoreBusy, StoreUnavailable

MAGIC: Final = b"ILC1"
_FRONT: Final = len(MAGIC) + 32 + 16
_HEAD_BYTES: Final = 16 * 1024
"""Read of a file at first: a header is shorter, unless its ids are very long."""
_OWNER_ENTERS: Final = 0o700
_OWNER_READS: Final = 0o600
_NO_FILE: Final = frozenset({errno.EISDIR, errno.EIO, errno.ELOOP, errno.ENXIO})
"""What says that there is no file that could be read later: a folder, a broken disk, a link, a socket."""
_NUMBER: Final = re.compile(r"[0-9]{10}")
_PACK: Final = re.compile(r"(.+)\.([0-9a-f]{64})")


class Header(NamedTuple):
    """The front of a checkpoint's file."""

    digest: bytes
    """Of its content."""
    fields: dict[str, Any]
    size: int


class ThreadFolder(NamedTuple):
    """Where the checkpoints of a thread are."""

    path: Path

    @property
    def packs(self) -> Path:
        return self.path / "packs"

    @property
    def places(self) -> Path:
        return self.path / "places"

    def numbers(self) -> list[int]:
        """List the numbers of the checkpoints; none where the thread has none."""
        return sorted(int(name) for name in _names_in(self.places) if _NUMBER.fullmatch(name))

    def place(self, number: int) -> Path:
        return self.places / f"{number:010}"

    def named(self) -> dict[bytes, Path]:
        """Return the files of `packs` by the digests in their names."""
        found = map(_PACK.fullmatch, _names_in(self.packs))
        return {bytes.fromhex(one[2]): self.packs / one[0] for one in found if one is not None}

    def id_of(self, number: int) -> str | None:
        """Tell the id of a checkpoint from the name of its file; None where there is none."""
        with suppress(OSError):
            found = self.place(number).lstat()
            for path in self.named().values():
                if path.lstat().st_ino == found.st_ino:
                    return path.name.rpartition(".")[0]
        return None


class Folder:
    """The folder itself. Threads and processes may share it."""

    def __init__(self, root: Path, *, busy_seconds: float, wait: Callable[[float], None]) -> None:
        self.root = root
        self._busy_seconds = busy_seconds
        self._wait = wait
        with _told("the folder cannot be made"):
            root.mkdir(mode=_OWNER_ENTERS, exist_ok=True)
            for name in ("locks", "new", "gone", "threads"):
                _made(root / name)
            _sync(root)

    def thread(self, thread: str) -> ThreadFolder:
        """Tell where a thread is, whether it is there or not."""
        return ThreadFolder(self.root / "threads" / _digest(thread))

    @contextmanager
    def writing(self, thread: str) -> Iterator[None]:
        """Be the only one who writes to a thread.

        Raises:
            StoreBusy: somebody else writes to it all the time.
            StoreUnavailable: the lock cannot be had.
        """
        name = _digest(thread)[:2]
        # Closing it lets go of it, and so does the end of the process.
        with ExitStack() as stack:
            with _told("the thread cannot be locked"):
                path = self.root / "locks" / name
                lock = stack.enter_context(_opened(path, os.O_RDWR | os.O_CREAT, "r+b"))
                self._lock(lock.fileno(), thread)
                for left in (self.root / "new").glob(f"{name}-*"):
                    left.unlink(missing_ok=True)
            yield

    def _lock(self, lock: int, thread: str) -> None:
        waited, pause = 0.0, 0.001
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if waited >= self._busy_seconds:
                    raise StoreBusy(f"others write to thread {thread!r:.200} all the time") from None
                self._wait(pause)
                waited, pause = waited + pause, min(pause * 2, 0.05)
            else:
                return

    def add(self, thread: str, number: int, id: str, content: bytes) -> bool:
        """Put a checkpoint at its place; False: somebody has it already.

        Raises:
            StoreUnavailable: it could not be written; whether it is there, reading tells.
        """
        there = self.thread(thread)
        digest = hashlib.sha256(content).digest()
        head = int.from_bytes(content[:4], "big")
        front = MAGIC + digest + hashlib.sha256(content[4 : 4 + head]).digest()[:16]
        safe = quote(id, safe="")
        with _told("the checkpoint could not be written"):
            for path in (there.path, there.packs, there.places):
                if _made(path):
                    _sync(path.parent)
            new = self.root / "new" / f"{_digest(thread)[:2]}-{safe}"
            with _opened(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, "wb") as file:
                file.write(front)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            pack = there.packs / f"{safe}.{digest.hex()}"
            new.rename(pack)
            _sync(there.packs)
            try:
                os.link(pack, there.place(number))
            except FileExistsError:
                pack.unlink()
                return False
            _sync(there.places)
        return True

    def remove(self, thread: str, name: str) -> bool:
        """Take a thread away at once, then its files; tell whether it was there."""
        there, gone = self.thread(thread).path, self.root / "gone"
        with _told("the thread could not be deleted"):
            try:
                there.rename(gone / f"{there.name}-{quote(name, safe='')}")
            except FileNotFoundError:
                return False
            finally:
                # What somebody left who was killed goes as well.
                for left in gone.iterdir():
                    if left.is_symlink():
                        left.unlink()
                    else:
                        shutil.rmtree(left, ignore_errors=True)
            _sync(there.parent)
        return True


def content_of(header: dict[str, Any], pack: bytes) -> bytes:
    """Put the content of a file together."""
    text = json.dumps(header, separators=(",", ":")).encode()
    return len(text).to_bytes(4, "big") + text + pack


def pack_of(content: bytes) -> bytes:
    """Return the pack of a content that has its digest."""
    return content[4 + int.from_bytes(content[:4], "big") :]


def read_header(path: Path) -> Header:
    """Read the front of a checkpoint's file.

    Raises:
        FileNotFoundError: there is none.
        IntegrityError: it is not what was written.
        StoreUnavailable: it cannot be read now.
    """
    with _reading(path) as file:
        start = file.read(_HEAD_BYTES)
        head = int.from_bytes(start[_FRONT : _FRONT + 4], "big")
        size = os.fstat(file.fileno()).st_size
        if start[: len(MAGIC)] != MAGIC or _FRONT + 4 + head > size:
            raise altered(path, "it does not begin as a checkpoint does")
        start += file.read(max(0, _FRONT + 4 + head - len(start)))
    text = start[_FRONT + 4 : _FRONT + 4 + head]
    if hashlib.sha256(text).digest()[:16] != start[_FRONT - 16 : _FRONT]:
        raise altered(path, "its header was altered")
    try:
        fields = json.loads(text)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise altered(path, "its header is none")
    return Header(start[len(MAGIC) : len(MAGIC) + 32], fields, size)


def read_content(path: Path, digest: bytes) -> bytes:
    """Read a file's content.

    Raises:
        FileNotFoundError: there is none.
        IntegrityError: it is not what was written.
        StoreUnavailable: it cannot be read now.
    """
    with _reading(path) as file:
        content = file.read()[_FRONT:]
    if hashlib.sha256(content).digest() != digest:
        raise altered(path, "its content does not have its digest")
    return content


def altered(path: Path, why: str) -> IntegrityError:
    """Say that a file is not what was written."""
    return IntegrityError(f"the file {path} is not what was written: {why}", path=str(path))


@contextmanager
def _reading(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read it."""
    try:
        # A pipe that nobody writes to is not waited for.
        with _opened(path, os.O_RDONLY | os.O_NONBLOCK, "rb") as file:
            yield file
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in _NO_FILE:
            raise altered(path, str(error)) from error
        with _told("the checkpoint cannot be read"):
            raise


def _opened(path: Path, flags: int, mode: str) -> BinaryIO:
    """Open a file, and nothing else that has its name.

    Raises:
        OSError: it cannot be opened, or is none.
    """
    number = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, _OWNER_READS)
    try:
        if not S_ISREG(os.fstat(number).st_mode):
            raise OSError(errno.EISDIR, "it is no file", str(path))
        return cast("BinaryIO", os.fdopen(number, mode))
    except BaseException:
        os.close(number)
        raise


def _made(folder: Path) -> bool:
    """Make a folder where there is none; tell whether it was made.

    Raises:
        OSError: it cannot be made, or its name is something else's.
    """
    try:
        there = folder.lstat()
    except FileNotFoundError:
        folder.mkdir(mode=_OWNER_ENTERS, exist_ok=True)  # somebody else may have made it since
        return True
    if not S_ISDIR(there.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "it is no folder", str(folder))
    return False


def _names_in(folder: Path) -> list[str]:
    """List the names in a folder; none where it is not there."""
    with _told("the checkpoints cannot be listed"):
        for one in (folder.parent, folder):
            if one.is_symlink():
                raise OSError(errno.ELOOP, "it is a symbolic link", str(one))
        try:
            return os.listdir(folder)  # noqa: PTH208 - a Path for each of thousands is dear
        except FileNotFoundError:
            return []


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Say what the system refuses in the words of the ledger."""
    try:
        yield
    except OSError as error:
        reason = errno.errorcode.get(error.errno or 0, "unknown").lower()
        raise StoreUnavailable(f"{what}: {error}", reason=reason) from error


def _digest(thread: str) -> str:
    return hashlib.sha256(thread.encode("utf-8", "surrogatepass")).hexdigest()


def _sync(folder: Path) -> None:
    """Make the names in a folder durable."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
