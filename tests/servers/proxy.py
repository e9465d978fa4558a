"""A line to PostgreSQL that can be cut, at the moment a test chooses: a proxy that reads the protocol.

The moment that matters is when the server has committed and the client does not know: `cut_after` lets a
statement through, waits for the server's answer to it and drops the connection instead of passing it on.
"""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

SSL_REQUEST, GSS_REQUEST = 80877103, 80877104
# The server waits for the client after these, without having ended its answer.
COPY = b"GHW"
# Passed on at once: a flush, data of a COPY, passwords.
UNASKED = b"Hdcfp"


class Proxy:
    """Listens on a port of its own and forwards to a server, except for what its methods say."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._lines: list[_Line] = []
        self._refusing = False
        self._flowing = threading.Event()
        self._flowing.set()
        self._after: re.Pattern[str] | None = None
        self._before: re.Pattern[str] | None = None
        self.cuts = 0
        self._thread = threading.Thread(target=self._accept, name="proxy", daemon=True)
        self._thread.start()

    def cut_after(self, statement: str) -> None:
        """Drop the connection once the server has answered the next statement with the pattern in it."""
        self._after = re.compile(statement, re.DOTALL)

    def cut_before(self, statement: str) -> None:
        """Drop the connection before the server hears the next statement with the pattern in it."""
        self._before = re.compile(statement, re.DOTALL)

    def cut(self) -> None:
        """Drop all connections now."""
        with self._lock:
            lines = tuple(self._lines)
        for line in lines:
            line.drop()

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Hang up on whoever connects."""
        self._refusing = True
        try:
            yield
        finally:
            self._refusing = False

    @contextmanager
    def pausing(self) -> Iterator[None]:
        """Forward nothing, as a network that swallows packets; go on where it stopped afterwards."""
        self._flowing.clear()
        try:
            yield
        finally:
            self._flowing.set()

    def close(self) -> None:
        """Stop listening and drop all connections."""
        # Closing alone would leave the thread in accept.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._flowing.set()
        self._thread.join()
        self.cut()
        for line in self._lines:
            line.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing:
                client.close()
                continue
            try:
                server = socket.create_connection(self._target)
            except OSError:
                client.close()
                continue
            line = _Line(self, client, server)
            with self._lock:
                self._lines.append(line)
            line.start()

    def wait(self) -> None:
        self._flowing.wait()

    def stops(self, statements: list[str], *, answered: bool) -> bool:
        """Tell whether to cut here; a cut happens once."""
        with self._lock:
            pattern = self._after if answered else self._before
            if pattern is None or not any(pattern.search(statement) for statement in statements):
                return False
            if answered:
                self._after = None
            else:
                self._before = None
            self.cuts += 1
            return True


class _Line:
    """One connection: two threads, and the statements that the server has not answered yet."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        self._prepared: dict[bytes, str] = {}
        self._asked: list[list[str]] = []
        self._threads = [
            threading.Thread(target=self._run, args=(pump,), name="proxy-line", daemon=True)
            for pump in (self._requests, self._answers)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def drop(self) -> None:
        for end in (self._client, self._server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for thread in self._threads:
            thread.join()
        self._client.close()
        self._server.close()

    def _run(self, pump: Callable[[], None]) -> None:
        with suppress(OSError, EOFError):
            pump()
        self.drop()

    def _requests(self) -> None:
        with self._client.makefile("rb") as stream:
            self._greet(stream)
            request, statements = bytearray(), list[str]()
            while True:
                kind, message = _message(stream)
                request += message
                statements += self._read(kind, message[5:])
                if kind in b"SQ":
                    if self._proxy.stops(statements, answered=False):
                        return
                    self._asked.append(statements)
                    statements = []
                elif kind not in UNASKED:
                    # The server need not answer before a Sync or a Query.
                    continue
                self._proxy.wait()
                self._server.sendall(request)
                request = bytearray()

    def _greet(self, stream: BinaryIO) -> None:
        """Forward the first message, which has no kind; encryption is declined."""
        while True:
            head = _exactly(stream, 8)
            length, code = struct.unpack("!II", head)
            if code in (SSL_REQUEST, GSS_REQUEST):
                self._client.sendall(b"N")
                continue
            self._server.sendall(head + _exactly(stream, length - 8))
            return

    def _read(self, kind: bytes, body: bytes) -> list[str]:
        """Return the texts of the statements that a message runs."""
        if kind == b"Q":
            return [body.rstrip(b"\0").decode()]
        if kind == b"P":
            name, text, _ = body.split(b"\0", 2)
            self._prepared[name] = text.decode()
        if kind == b"B":
            return [self._prepared.get(body.split(b"\0", 2)[1], "")]
        return []

    def _answers(self) -> None:
        with self._server.makefile("rb") as stream:
            answer = bytearray()
            greeted = False
            while True:
                kind, message = _message(stream)
                answer += message
                if kind == b"Z":
                    statements = self._asked.pop(0) if greeted else []
                    greeted = True
                    if self._proxy.stops(statements, answered=True):
                        return
                elif greeted and kind not in COPY:
                    continue
                self._proxy.wait()
                self._client.sendall(answer)
                answer = bytearray()


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _message(stream: BinaryIO) -> tuple[bytes, bytes]:
    """Return the kind of the next message and all its bytes."""
    head = _exactly(stream, 5)
    return head[:1], head + _exactly(stream, struct.unpack("!I", head[1:])[0] - 4)
