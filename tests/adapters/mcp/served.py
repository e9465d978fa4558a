"""A server in the test's own process, and a client of the SDK that speaks to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp import Client
from mcp_types import CallToolResult

from ledger import Actor, Ledger
from ledger.adapters.mcp.desk import Desk
from ledger.adapters.mcp.server import build_server

AGENT = Actor("agent:refunds", session="s-1")


def check_schema(schema: Mapping[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)


def check_fits(schema: Mapping[str, Any] | None, document: Any) -> None:
    assert schema is not None
    Draft202012Validator(schema).validate(document)


class Served(NamedTuple):
    """A client, and the desk that it speaks to."""

    client: Client
    desk: Desk

    async def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that has to succeed, and return its document."""
        return document_of(await self.client.call_tool(tool, arguments))

    async def fails(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that has to fail, and return the error."""
        return error_of(await self.client.call_tool(tool, arguments))


def document_of(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.structured_content
    assert text_of(result)
    return plain(result.structured_content)


def error_of(result: CallToolResult) -> dict[str, Any]:
    assert result.is_error, result.structured_content
    found = plain(result.structured_content)
    assert set(found) == {"code", "message", "data", "retryable", "hint"}
    assert found["code"] in text_of(result)
    return found


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert content.type == "text"
    return content.text


def plain(document: Any) -> dict[str, Any]:
    assert isinstance(document, Mapping)
    return dict(document)


@asynccontextmanager
async def served(
    ledger: Ledger, actor: Actor = AGENT, *, mode: str = "auto", **more: Any
) -> AsyncIterator[Served]:
    """Serve a ledger to one client; the ledger is closed in the end."""
    desk = Desk(ledger, actor, **more)
    try:
        async with Client(build_server(desk), mode=mode) as client:
            yield Served(client, desk)
    finally:
        await desk.close()
