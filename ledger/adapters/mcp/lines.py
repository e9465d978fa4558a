"""Lines that are no messages: whoever wrote one is told, where the SDK leaves it without an answer."""

from __future__ import annotations

from typing import Protocol

import anyio
import mcp_types as t
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage

Read = SessionMessage | Exception
"""What the SDK makes of a line: a message, or why it is none."""

UNREADABLE = t.JSONRPCError(
    jsonrpc="2.0",
    id=None,
    error=t.ErrorData(
        code=t.PARSE_ERROR, message="the line is no JSON-RPC message: nothing was done, and no id was read"
    ),
)


class Incoming(Protocol):
    """Lines as they are read."""

    def __aiter__(self) -> Incoming: ...

    async def __anext__(self) -> Read: ...


class Outgoing(Protocol):
    """Where answers go."""

    async def send(self, item: SessionMessage, /) -> None: ...


async def relay(incoming: Incoming, messages: MemoryObjectSendStream[Read], outgoing: Outgoing) -> None:
    """Pass on what is a message, and answer what is none, until either side is closed."""
    try:
        async with messages:
            async for one in incoming:
                if isinstance(one, Exception):
                    await outgoing.send(SessionMessage(UNREADABLE))
                else:
                    await messages.send(one)
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        return  # the server has ended
