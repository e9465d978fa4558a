"""Google ADK's `DatabaseSessionService`: an event for a call, and one for what it returned."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from google.adk.events import Event
from google.adk.sessions import DatabaseSessionService
from google.genai.types import Content, FunctionCall, FunctionResponse, Part

from tests.benchmarks.peers.serving import Side, payload, serve

_WHOSE = {"app_name": "peer", "user_id": "kim"}


@contextmanager
def opened(url: str) -> Iterator[dict[str, Side]]:
    """Open it with the settings that are its default, and the driver that it asks for."""
    with asyncio.Runner() as runner:
        service = runner.run(_service(url))
        numbers = count()

        async def acts(times: int) -> float:
            session = await service.create_session(**_WHOSE)
            begin = time.perf_counter()
            for _ in range(times):
                for part in _parts(next(numbers)):
                    await service.append_event(
                        session, Event(author="agent", content=Content(role="model", parts=[part]))
                    )
            return time.perf_counter() - begin

        try:
            yield {"append_event, twice": lambda times: runner.run(acts(times))}
        finally:
            runner.run(service.close())


async def _service(url: str) -> Any:
    return DatabaseSessionService(url.replace("postgresql://", "postgresql+asyncpg://", 1))


def _parts(number: int) -> tuple[Part, Part]:
    content = payload(number)
    return (
        Part(function_call=FunctionCall(id=f"call-{number}", name="refund", args=content)),
        Part(function_response=FunctionResponse(id=f"call-{number}", name="refund", response=content)),
    )


if __name__ == "__main__":
    serve(opened, distribution="google-adk")
