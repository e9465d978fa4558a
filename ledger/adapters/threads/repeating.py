"""Telling whether a state that is saved is the one that is there already, stored in other words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ledger.adapters.packs import Codec, Unpacked, pack
from ledger.adapters.threads.raw import RAW


def is_same(values: Mapping[str, Any], head: bytes, codec: Codec, stored: Unpacked) -> bool:
    """Tell whether values and head are those of a stored state.

    Which earlier contents a state refers to depends on what was known when it was saved. So both are written
    once more as if nothing were stored, which is the same for the same values.

    Args:
        values: the values.
        head: what stands beside them.
        codec: what writes the values.
        stored: the state, as `RAW` reads it.
    """
    if head != stored.head or values.keys() != stored.values.keys():
        return False
    ours = pack({name: values[name] for name in sorted(values)}, head, codec)
    theirs = pack({name: stored.values[name] for name in sorted(values)}, head, RAW)
    return ours.content == theirs.content
