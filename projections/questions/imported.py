"""What is to be known of effects that were imported: the ledger was not there when they happened."""

from __future__ import annotations

from projections.questions.base import Asked


def tell_of_imported(asked: Asked, imported: int, looked_at: int) -> None:
    """Note that times are those of the import, for so many of the effects that were looked at."""
    if imported:
        some = (
            f"{imported:,} of these {looked_at:,} effects" if imported < looked_at else "all of these effects"
        )
        asked.note(
            f"{some} were imported (witnessed 0): their times are those of the import, and "
            "since= and before= go by them"
        )
