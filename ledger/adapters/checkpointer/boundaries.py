"""The places of an agent's loop at which its state is whole."""

from __future__ import annotations

from typing import Final, Literal, get_args

from ledger.canonical import invalid

Boundary = Literal["after_model", "after_tool", "before_wait", "loop_head", "loop_tail", "before_costly"]
"""Where a state may be saved: between two of these something is half done."""

BOUNDARIES: Final[tuple[Boundary, ...]] = get_args(Boundary)


def check_boundary(at: object) -> Boundary:
    """Take the name of a boundary.

    Raises:
        InvalidInput: it is none.
    """
    for boundary in BOUNDARIES:
        if at == boundary and isinstance(at, str):
            return boundary
    said = "nothing" if at is None else f"{at!r:.50}"
    raise invalid(
        "at", f"a state is saved at a boundary of the loop ({', '.join(BOUNDARIES)}), not at {said}"
    )
