"""Lines over standard input that are no messages of the protocol."""

from __future__ import annotations

import anyio
import mcp_types as t
import pytest
from mcp.shared.message import SessionMessage

from ledger.adapters.mcp.lines import UNREADABLE, Read, relay

pytestmark = pytest.mark.anyio

PING = SessionMessage(t.JSONRPCRequest(jsonrpc="2.0", id=1, method="ping"))


async def test_one_that_is_no_message_is_answered_and_the_others_are_passed_on() -> None:
    write, incoming = anyio.create_memory_object_stream[Read](9)
    messages, readable = anyio.create_memory_object_stream[Read](9)
    outgoing, answers = anyio.create_memory_object_stream[SessionMessage](9)
    async with readable, outgoing, answers, incoming:
        with anyio.fail_after(30):
            async with write:
                for one in (PING, ValueError("no JSON"), PING):
                    await write.send(one)
            await relay(incoming, messages, outgoing)
        assert [one async for one in readable] == [PING, PING]
        answer = answers.receive_nowait().message
        assert answer == UNREADABLE
        assert '"id":null' in answer.model_dump_json(by_alias=True, exclude_unset=True)


async def test_a_server_that_has_ended_is_passed_nothing() -> None:
    write, incoming = anyio.create_memory_object_stream[Read](9)
    messages, readable = anyio.create_memory_object_stream[Read](9)
    outgoing, answers = anyio.create_memory_object_stream[SessionMessage](9)
    readable.close()
    async with write, outgoing, answers, incoming:
        await write.send(PING)
        with anyio.fail_after(30):
            await relay(incoming, messages, outgoing)
