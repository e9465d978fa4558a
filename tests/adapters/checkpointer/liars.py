"""Servers that take connections for a Redis and do not behave as one."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Manner = Callable[[socket.socket, threading.Event], None]


def hangs_up(line: socket.socket, over: threading.Event) -> None:
    """Close the connection at once."""


def talks_nonsense(line: socket.socket, over: threading.Event) -> None:
    """Answer each request with what is no answer."""
    while line.recv(65536):
        line.sendall(b"HTTP/1.1 200 OK\r\n\r\n")


def says_a_number(line: socket.socket, over: threading.Event) -> None:
    """Answer each request with something else than was asked for."""
    while line.recv(65536):
        line.sendall(b":7\r\n")


def has_too_few(line: socket.socket, over: threading.Event) -> None:
    """Answer each request with an empty list."""
    while line.recv(65536):
        line.sendall(b"*0\r\n")


def promises_much(line: socket.socket, over: threading.Event) -> None:
    """Announce a content that never comes."""
    line.recv(65536)
    line.sendall(b"*1\r\n$99999999999\r\n")
    over.wait()


def trickles(line: socket.socket, over: threading.Event) -> None:
    """Send a byte now and then, so that nobody who waits for the next one loses patience."""
    line.recv(65536)
    line.sendall(b"*1\r\n$100000\r\n")
    while not over.wait(0.01):
        line.sendall(b"x")


def says_nothing(line: socket.socket, over: threading.Event) -> None:
    """Take every request and answer none."""
    over.wait()


MANNERS: tuple[Manner, ...] = (
    hangs_up,
    talks_nonsense,
    says_a_number,
    has_too_few,
    promises_much,
    trickles,
    says_nothing,
)


@contextmanager
def serving(manner: Manner) -> Iterator[str]:
    """Serve in a manner as long as the block lasts; yield the address."""
    over = threading.Event()
    lines: list[socket.socket] = []
    workers: list[threading.Thread] = []

    def served(line: socket.socket) -> None:
        with line, suppress(OSError):
            manner(line, over)

    def accept() -> None:
        with suppress(OSError):
            while True:
                line, _ = listener.accept()
                lines.append(line)
                worker = threading.Thread(target=served, args=(line,), daemon=True)
                workers.append(worker)
                worker.start()

    listener = socket.create_server(("127.0.0.1", 0))
    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
    finally:
        over.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()
        for line in lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
        for worker in workers:
            worker.join()
