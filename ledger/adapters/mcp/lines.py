"""Messages over standard input, one a line: what is too long, or none, is answered; the rest is handed on."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import NamedTuple, Protocol

import anyio
import anyio.to_thread
import mcp_types as t
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE
from mcp.shared.message import SessionMessage

MOST_BYTES = DEFAULT_MAX_REQUEST_BODY_SIZE
"""Bytes of the longest message that is taken, over standard input as over HTTP."""
_ENDS = 4096
"""Bytes that are kept of the beginning and of the end of a line that is too long, at most."""
_CHUNK = 65_536

Read = SessionMessage | Exception
"""What the SDK takes from whoever reads: a message, or why it is none."""

UNREADABLE = t.JSONRPCError(
    jsonrpc="2.0",
    id=None,
    error=t.ErrorData(
        code=t.PARSE_ERROR, message="the line is no JSON-RPC message: nothing was done, and no id was read"
    ),
)


class TooLong(NamedTuple):
    """A line that is too long, as much of it as was kept."""

    head: bytes
    tail: bytes


class Outgoing(Protocol):
    """Where answers go."""

    async def send(self, item: SessionMessage, /) -> None: ...


class Lines:
    """Lines, out of a source of bytes; of what is too long only the ends are held."""

    def __init__(self, read: Callable[[int], Awaitable[bytes]], most: int = MOST_BYTES) -> None:
        self._read = read
        self._most = most
        self._ends = min(most, _ENDS)
        self._held = bytearray()

    async def next(self) -> bytes | TooLong | None:
        """Wait for the next line; None: there is none any more."""
        looked = 0
        while (end := self._held.find(b"\n", looked)) < 0:
            if len(self._held) > self._most:
                return await self._skip()
            looked = len(self._held)
            more = await self._read(_CHUNK)
            if not more:
                return self._take(looked) if looked else None
            self._held += more
        line = self._take(end)
        del self._held[:1]
        return line if end <= self._most else TooLong(line[: self._ends], line[-self._ends :])

    async def _skip(self) -> TooLong:
        held = self._take(len(self._held))
        head, tail = held[: self._ends], held[-self._ends :]
        while more := await self._read(_CHUNK):
            line, end, rest = more.partition(b"\n")
            tail = (tail + line)[-self._ends :]
            if end:
                self._held += rest
                break
        return TooLong(head, tail)

    def _take(self, count: int) -> bytes:
        taken = bytes(self._held[:count])
        del self._held[:count]
        return taken


@contextmanager
def standard_input() -> Iterator[Lines]:
    """Take standard input: a tool, or a process that one starts, finds nothing there meanwhile.

    Raises:
        OSError: it is closed.
    """
    if sys.stdin is None:
        # What was opened since may stand in its place.
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard input")
    taken = _duplicate(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        yield Lines(partial(_read, taken))
    finally:
        os.dup2(taken, 0)
        if sys.platform != "win32":  # where a thread may wait there still
            os.close(taken)


async def _read(descriptor: int, most: int) -> bytes:
    """Read what is there, once there is something; whoever ends the server is not kept waiting for that."""
    if sys.platform == "win32":
        return await anyio.to_thread.run_sync(os.read, descriptor, most, abandon_on_cancel=True)
    # A file, which keeps nobody waiting, cannot be waited for.
    with suppress(PermissionError):
        await anyio.wait_readable(descriptor)
    return os.read(descriptor, most)


def _duplicate(descriptor: int) -> int:
    """Duplicate a descriptor, and not into the place of a standard stream that is closed."""
    if sys.platform == "win32":
        return os.dup(descriptor)
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)


async def relay(lines: Lines, messages: MemoryObjectSendStream[Read], outgoing: Outgoing) -> None:
    """Pass on what is a message, and answer what is none, until either side is closed."""
    try:
        async with messages:
            while (line := await lines.next()) is not None:
                if isinstance(line, TooLong):
                    await outgoing.send(SessionMessage(too_long(line)))
                    continue
                try:
                    message = t.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    await outgoing.send(SessionMessage(UNREADABLE))
                else:
                    await messages.send(SessionMessage(message))
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        return  # the server has ended


def too_long(line: TooLong) -> t.JSONRPCError:
    """Answer a line that is too long."""
    told = f"a message has at most {MOST_BYTES:,} bytes: nothing was done"
    error = t.ErrorData(code=t.INVALID_REQUEST, message=told)
    return t.JSONRPCError(jsonrpc="2.0", id=id_of(line), error=error)


def id_of(line: TooLong) -> str | int | None:
    """Find the id of a message by its ends; None where it stands at neither, as behind what is too long."""
    found = _AT_HEAD.match(line.head) or _AT_TAIL.search(line.tail)
    if found is None:
        return None
    try:
        id: str | int = json.loads(found[1])
    except ValueError:  # no text
        return None
    return id


_ID = rb'"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,200}")'
_OTHER = rb'\s*"(?!id")[^"\\]*"\s*:\s*(?:"[^"\\]*"|-?\d+|true|false|null)\s*'
# Between the brace and the id stand only members that hold no others, so that it is the message's own.
_AT_HEAD = re.compile(rb"\s*\{(?:" + _OTHER + rb",)*\s*" + _ID + rb"\s*[,}]")
_AT_TAIL = re.compile(rb"[,{]\s*" + _ID + rb"\s*(?:," + _OTHER + rb")*\}\s*\Z")
