"""Scenes on each kind of store; on one of them everything is asked and said at the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from ledger import open_ledger
from ledger.testing import Clock
from tests.scenarios.desk import AtCommandLine, AtLibrary, Desk
from tests.scenarios.scene import Behind, Scene
from tests.scenarios.till import Till
from tests.stores.place import address

Begin = Callable[..., Desk]

KINDS = ["memory", "sqlite", "postgres", pytest.param("commands", marks=pytest.mark.slow)]
LASTING = ["sqlite", "postgres", pytest.param("commands", marks=pytest.mark.slow)]


def scene_of(kind: str, folder: Path, lasts: float = 0) -> Scene:
    """Return a scene of a kind; `lasts` says how many seconds pass in it at most."""
    till = Till(folder / "till.jsonl")
    clock = Behind(lasts) if kind == "commands" else Clock()
    if kind == "memory":
        return Scene(":memory:", folder, clock, till, open_ledger(":memory:").store)
    return Scene(
        address("postgres", folder) if kind == "postgres" else folder / "ledger.db", folder, clock, till
    )


_asked_by_a_process: set[str] = set()
"""Scenarios that were, so that not each of their variants is."""


def desk_of(kind: str, folder: Path, scenario: str, lasts: float = 0) -> Desk:
    """Return a desk in a scene of a kind."""
    scene = scene_of(kind, folder, lasts)
    if kind != "commands":
        return AtLibrary(scene)
    in_process = scenario in _asked_by_a_process
    _asked_by_a_process.add(scenario)
    return AtCommandLine(scene, in_process=in_process)


@pytest.fixture(params=KINDS)
def begin(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Begin]:
    """Return a function that begins a scene; it is told how long that lasts."""
    yield from _beginning(request, tmp_path)


@pytest.fixture(params=LASTING)
def begin_lasting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Begin]:
    """Return the same where a program is a process of its own."""
    yield from _beginning(request, tmp_path)


@pytest.fixture(params=KINDS[:3])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    """Return a scene on each kind of store."""
    with closing(scene_of(request.param, tmp_path)) as scene:
        yield scene


def _beginning(request: pytest.FixtureRequest, folder: Path) -> Iterator[Begin]:
    with ExitStack() as opened:

        def begun(lasts: float = 0) -> Desk:
            desk = desk_of(request.param, folder, request.function.__name__, lasts)
            opened.callback(desk.scene.close)
            return desk

        yield begun
