"""The scenarios that are played on two savers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from tests.adapters.langgraph.graphs.scenes import WAYS, Scene, Way

Play = Callable[[Scene], None]


class Scenario(NamedTuple):
    """What happens on a thread."""

    play: Play
    ways: tuple[Way, ...]
    types: tuple[type, ...]
    """Types of its own that its states hold."""


SCENARIOS: Final[dict[str, Scenario]] = {}


def scenario(
    *types: type, durabilities: tuple[str, ...] = ("sync", "async", "exit")
) -> Callable[[Play], Play]:
    """Register a scenario; with `durabilities` it makes sense in these only."""

    def register(play: Play) -> Play:
        ways = tuple(way for way in WAYS if way.durability in durabilities)
        SCENARIOS[play.__name__.removeprefix("play_")] = Scenario(play, ways, types)
        return play

    return register


STEPWISE: Final = ("sync", "async")
"""Durabilities in which each step is kept."""
