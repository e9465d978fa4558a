"""What a checkpoint takes is what is new: a history that grows by a message costs that message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.adapters.checkpointer.conftest import Place

TURNS = 300
MESSAGE = 1000
NEW = TURNS * MESSAGE


@pytest.mark.parametrize(("backend", "window"), [("memory", None), ("memory", 20)])
def test_a_history_that_grows_takes_little_more_than_its_messages(
    places: Callable[[str], Place], thread: str, backend: str, window: int | None
) -> None:
    """Case-069 and case-070: stored whole each time they are 45 MB."""
    saves = places(backend)(every=100, window=window)
    said: list[dict[str, Any]] = []
    for turn in range(TURNS):
        said.append({"id": f"m{turn}", "text": f"{turn:0{MESSAGE}}"})
        saves.save(thread, {"messages": said, "turn": turn}, at="after_model")
        if window is not None:
            said = said[-window:]
    listed = saves.list_checkpoints(thread)
    assert len(listed) == TURNS
    # Each is written once by itself and once in its group; the whole ones have what is in the state then.
    whole = sum(one.size for one in listed if one.whole) if window is None else 3 * 20 * MESSAGE
    assert sum(one.size for one in listed) < 2 * NEW + whole + TURNS * 2000
    early, late = ([one.size for one in listed if not one.whole][at] for at in (3, -3))
    assert late < 3 * early, "a late one takes no more than an early one"
    pages = list(saves.archive(thread, page=TURNS))
    assert sum(map(len, pages)) == (0 if window is None else TURNS - window)
