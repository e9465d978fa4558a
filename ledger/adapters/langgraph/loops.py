"""The loop of a graph that asks a saver, where LangGraph shows the saver only a copy of its configuration."""

from __future__ import annotations

import sys
from collections.abc import MutableMapping
from typing import Any

from ledger.adapters.langgraph.configs import configurable, is_loop

FRAMES = 16
"""So far up a loop is looked for: a saver around this one may stand between."""


def own_configurable(config: Any) -> MutableMapping[str, Any] | None:
    """Return what the loop that asks with a configuration reads of its own; None: no loop asks.

    A loop asks with its own configuration, unless the thread is named by something else than a text, or
    addressed by a map of checkpoints: then it asks with a copy, and what is left there reaches neither the
    loop nor its tasks. Nothing else leads back to it than the frame that calls.
    """
    if not is_loop(config):
        return None
    frame = sys._getframe(1)
    for _ in range(FRAMES):
        loop = frame.f_locals.get("self")
        if loop is not None and getattr(loop, "checkpoint_config", None) is config:
            own = configurable(getattr(loop, "config", None))
            return own if isinstance(own, MutableMapping) else None
        if frame.f_back is None:
            break
        frame = frame.f_back
    return None
