"""As much of a list as a record holds: what is left out is counted, never a reason to store nothing."""

from __future__ import annotations

from collections.abc import Sequence

from ledger.events import Dropped, Reason

MOST_BYTES = 96 * 1024
"""Bytes of a record that such a list takes at most, so that what stands beside it has room."""

_SHORTEST = 64


def kept(reasons: tuple[Reason, ...], most: int) -> tuple[Reason, ...]:
    """Keep the strictest reasons where there are more than a record could hold, and say how many more."""
    fit = min(_fitting([_size(one) for one in reasons[:most]], MOST_BYTES), most)
    if fit == len(reasons):
        return reasons
    last = reasons[fit - 1]
    return (
        *reasons[: fit - 1],
        last.with_fields({"what": f"{len(reasons) - fit + 1:,} further reasons, as {last.what}"}),
    )


def named(dropped: Sequence[Dropped]) -> tuple[Dropped, ...]:
    """Keep all that was dropped by its name, with the reasons as long as there is room for them."""
    if _fitting([_size(one) for one in dropped], MOST_BYTES) == len(dropped):
        return tuple(dropped)
    longest = max(_SHORTEST, MOST_BYTES // len(dropped) // 4)
    short = [one.with_fields({"reason": _cut(one.reason, longest)}) for one in dropped]
    fit = _fitting([_size(one) for one in short], MOST_BYTES)
    if fit == len(short):
        return tuple(short)
    last = short[fit - 1]
    more = f"and {len(short) - fit:,} further, which the record has no room to name: {last.reason}"
    return (*short[: fit - 1], last.with_fields({"reason": more}))


def _size(one: Reason | Dropped) -> int:
    return len(one.model_dump_json().encode())


def _fitting(sizes: Sequence[int], room: int) -> int:
    """Return how many of the first take no more room than there is; one at least."""
    for place, size in enumerate(sizes):
        room -= size
        if room < 0:
            return max(place, 1)
    return len(sizes)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
