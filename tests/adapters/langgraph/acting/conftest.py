"""The event loop of LangGraph is that of asyncio."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
