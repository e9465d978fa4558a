"""LangGraph's own suite for checkpointers, complete, on each kind of store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance.capabilities import Capability
from langgraph.checkpoint.conformance.initializer import RegisteredCheckpointer
from langgraph.checkpoint.conformance.report import CapabilityReport
from langgraph.checkpoint.conformance.validate import validate

from tests.adapters.langgraph.places import KINDS, saver_of

TESTS = {
    Capability.PUT: 17,
    Capability.PUT_WRITES: 10,
    Capability.GET_TUPLE: 10,
    Capability.LIST: 16,
    Capability.DELETE_THREAD: 5,
    Capability.DELETE_FOR_RUNS: 7,
    Capability.COPY_THREAD: 8,
    Capability.PRUNE: 8,
}
"""How many there are of each capability, so that none is missed."""


@pytest.mark.parametrize("kind", KINDS)
def test_every_capability_of_a_checkpointer_is_there_and_every_test_of_it_passes(
    kind: str, tmp_path: Path
) -> None:
    with saver_of(kind, tmp_path) as saver:

        async def factory() -> AsyncGenerator[BaseCheckpointSaver[str], None]:
            yield saver

        report = asyncio.run(validate(RegisteredCheckpointer(kind, factory)))
    assert _told(report) == {capability.value: (True, count, []) for capability, count in TESTS.items()}
    assert report.conformance_level() == "FULL"
    assert sum(result.tests_passed for result in report.results.values()) == 81


def _told(report: CapabilityReport) -> dict[str, tuple[bool, int, list[str]]]:
    return {
        name: (result.detected, result.tests_passed, result.failures)
        for name, result in report.results.items()
    }
