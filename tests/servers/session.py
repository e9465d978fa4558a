"""The session of tests that shared servers belong to: a folder, and a socket whose end ends them.

The process that holds the session (pytest, or the controller of its workers) listens on the socket and
accepts nobody until the end. Each shared server's keeper is connected to it. However that process ends, the
kernel closes the connections, and the keepers stop their servers.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

PATIENCE_SECONDS = 30.0


class Session:
    """A folder for servers, and the listening end of their lifelines."""

    def __init__(self) -> None:
        # Not pytest's own folder: paths of sockets are short, and the server's user must get here.
        self.folder = Path(tempfile.mkdtemp(prefix="ledger-tests-", dir=_in_memory()))
        self.folder.chmod(0o711)
        self._lifeline = socket.socket(socket.AF_UNIX)
        self._lifeline.bind(str(self.folder / "lifeline"))
        self._lifeline.listen(64)
        self._lifeline.setblocking(False)

    def close(self) -> None:
        """Stop all servers, wait until they are gone, and remove the folder."""
        with suppress(BlockingIOError):
            while True:
                keeper, _ = self._lifeline.accept()
                with keeper, suppress(OSError):
                    keeper.settimeout(PATIENCE_SECONDS)
                    keeper.shutdown(socket.SHUT_WR)
                    keeper.recv(1)
        self._lifeline.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _in_memory() -> str | None:
    """Return where files cost no disk, if servers have room there and programs may run; else None.

    On a disk a checkpoint, as DROP DATABASE makes one, takes many seconds where many databases were made
    before, and holds the followers of all tests back meanwhile.
    """
    try:
        found = os.statvfs(_MEMORY)
    except OSError:
        return None
    usable = os.access(_MEMORY, os.W_OK) and not found.f_flag & os.ST_NOEXEC
    return _MEMORY if usable and found.f_bavail * found.f_frsize >= _ROOM_BYTES else None


_MEMORY = "/dev/shm"
_ROOM_BYTES = 4 * 1024**3
"""Several times what a whole session has ever taken."""

_folders: list[Path] = []
_closers: list[Callable[[], None]] = []


def join(folder: Path) -> None:
    """Let this process take its servers from the session in a folder."""
    _folders.append(folder)


def before_leaving(close: Callable[[], None]) -> None:
    """Close something of this process when it leaves the session."""
    _closers.append(close)


def leave() -> None:
    """Close what this process has started for itself, and belong to the session no more."""
    while _closers:
        _closers.pop()()
    _folders.pop()


def current() -> Path:
    """Return the folder of the session that this process belongs to."""
    return _folders[-1]


def clear(folder: Path) -> None:
    """Remove what an ended session left, if it is gone and this was its last server."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(folder / "lifeline"))
        except OSError:
            (folder / "lifeline").unlink(missing_ok=True)
            with suppress(OSError):
                folder.rmdir()
