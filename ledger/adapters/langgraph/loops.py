"""The loop of a graph that asks a saver, which LangGraph shows its configuration only, or a copy of that."""

from __future__ import annotations

import sys
from collections.abc import MutableMapping
from typing import Any

from ledger.adapters.langgraph.configs import configurable, is_loop

FRAMES = 16
"""So far up a loop is looked for: a saver around this one may stand between."""


def loop_of(config: Any) -> Any:
    """Return the loop that asks with a configuration; None: no loop asks, or it is not found.

    Nothing else leads to it than the frame that calls.
    """
    if not is_loop(config):
        return None
    frame = sys._getframe(1)
    for _ in range(FRAMES):
        loop = frame.f_locals.get("self")
        if loop is not None and getattr(loop, "checkpoint_config", None) is config:
            return loop
        if frame.f_back is None:
            break
        frame = frame.f_back
    return None


def own_configurable(loop: Any) -> MutableMapping[str, Any] | None:
    """Return what a loop reads of its own configuration; None: it has none.

    A loop asks with its own configuration, unless the thread is named by something else than a text, or
    addressed by a map of checkpoints: then it asks with a copy, and what is left there reaches neither the
    loop nor its tasks.
    """
    own = configurable(getattr(loop, "config", None))
    return own if isinstance(own, MutableMapping) else None
