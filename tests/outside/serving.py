"""The server's side of an outside: the script that a test orders, and the process that ends with its session.

The process answers a test on a second port, so that the first one speaks the outside's own protocol alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from aiohttp import web

from tests.outside.manners import Manner
from tests.servers.session import clear

Answer = TypeVar("Answer")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Lost(Exception):
    """The request gets no answer: close its connection."""


class Script:
    """The manners of the next requests, in the order in which they arrive, and those that are held."""

    def __init__(self) -> None:
        self._manners: deque[Manner] = deque()
        self._held: set[asyncio.Future[None]] = set()

    @property
    def held(self) -> int:
        return len(self._held)

    def expect(self, manners: list[Manner]) -> None:
        self._manners.extend(manners)

    def release(self) -> None:
        for held in self._held:
            if not held.done():
                held.set_result(None)
        self._held.clear()

    def forget(self) -> None:
        """Drop what is held without doing it: it belongs to a test that has ended."""
        self._manners.clear()
        for held in self._held:
            if not held.done():
                held.set_exception(Lost())
        self._held.clear()

    async def play(self, act: Callable[[], Awaitable[Answer]], say: Callable[[int], Answer]) -> Answer:
        """Treat one request as ordered: `act` does it and returns its answer, `say` returns that of a status.

        Raises Lost where there is none.
        """
        manner = self._manners.popleft() if self._manners else Manner()
        if manner.holds == "before":
            await self._hold()
        answer = await act() if manner.does else None
        if manner.holds == "after":
            await self._hold()
        if manner.status is not None:
            answer = say(manner.status)
        if manner.loses or answer is None:
            raise Lost
        return answer

    async def _hold(self) -> None:
        held = asyncio.get_running_loop().create_future()
        self._held.add(held)
        await held


def played(
    script: Script, changes: Callable[[web.Request], bool]
) -> Callable[..., Awaitable[web.StreamResponse]]:
    """Return the middleware that treats the requests that change something as the script says."""

    @web.middleware
    async def play(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not changes(request):
            return await handler(request)
        # The caller may be gone when it is done.
        await request.read()
        try:
            return await script.play(lambda: handler(request), lambda status: web.Response(status=status))
        except Lost:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()

    return play


def control(script: Script, forget: Callable[[], None]) -> web.Application:
    """Return the application that a test orders from; `forget` empties the outside's own record."""

    async def expect(request: web.Request) -> web.Response:
        script.expect([Manner(**told) for told in await request.json()])
        return web.Response()

    async def held(_: web.Request) -> web.Response:
        return web.json_response(script.held)

    async def release(_: web.Request) -> web.Response:
        script.release()
        return web.Response()

    async def forget_all(_: web.Request) -> web.Response:
        script.forget()
        forget()
        return web.Response()

    app = web.Application()
    app.router.add_post("/expect", expect)
    app.router.add_get("/held", held)
    app.router.add_post("/release", release)
    app.router.add_post("/forget", forget_all)
    return app


async def listen(app: web.Application) -> int:
    """Serve an application on a free port of 127.0.0.1, and return the port."""
    runner = web.AppRunner(app)
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", 0))
    await web.SockSite(runner, listener).start()
    port: int = listener.getsockname()[1]
    return port


def run(start: Callable[[], Awaitable[dict[str, int]]]) -> None:
    """Start the servers, tell their ports in one line of JSON, and serve until the lifeline ends.

    The lifeline is standard input; the only argument is the folder of this process.
    """
    folder = Path(sys.argv[1])
    threading.Thread(target=_end_with_lifeline, args=(folder,), daemon=True).start()
    asyncio.run(_serve(start))


async def _serve(start: Callable[[], Awaitable[dict[str, int]]]) -> None:
    ports = await start()
    sys.stdout.write(json.dumps(ports) + "\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def _end_with_lifeline(folder: Path) -> None:
    # A session that was killed resets the line instead of closing it.
    with suppress(OSError):
        sys.stdin.buffer.read()
    shutil.rmtree(folder, ignore_errors=True)
    clear(folder.parent)
    os._exit(0)
