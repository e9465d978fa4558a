"""Clients that open connections and send no request, or only a part of one."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import uvicorn

from ledger.adapters.mcp.connections import protocol_of

pytestmark = pytest.mark.anyio

WHOLE = b"POST /mcp HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\n{}"
PATIENCE = 0.3


async def answers(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def listening(most: int = 10, patience: float = PATIENCE) -> AsyncIterator[int]:
    config = uvicorn.Config(
        answers, http=protocol_of(patience, most), log_config=None, access_log=False, lifespan="off"
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as place:
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [place])
            yield place.getsockname()[1]
            server.should_exit = True


async def is_closed(stream: anyio.abc.SocketStream) -> bool:
    with anyio.fail_after(30):
        try:
            return await stream.receive() == b""
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return True


@pytest.mark.parametrize("part", [b"", WHOLE[:30], WHOLE[:-1]], ids=["nothing", "headers", "body"])
async def test_who_does_not_send_what_it_began_is_let_go(part: bytes) -> None:
    async with listening() as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
        if part:
            await stream.send(part)
        assert await is_closed(stream)


async def test_those_beyond_the_most_are_closed_and_the_others_are_served() -> None:
    async with listening(most=2, patience=600) as port, await anyio.connect_tcp("127.0.0.1", port) as first:
        await first.send(WHOLE)
        assert (await first.receive()).startswith(b"HTTP/1.1 200")
        async with await anyio.connect_tcp("127.0.0.1", port) as second:
            await second.send(WHOLE)
            assert (await second.receive()).startswith(b"HTTP/1.1 200")
            async with await anyio.connect_tcp("127.0.0.1", port) as third:
                assert await is_closed(third)
