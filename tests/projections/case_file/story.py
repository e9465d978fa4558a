"""The whole story, in the order of its runs."""

from __future__ import annotations

from ledger.stores.base import FullStore
from tests.projections.case_file import acts, consent, lives, permissions, rules, sources, thoughts
from tests.projections.case_file.pen import Pen, Written

PARTS = (sources, rules, permissions, acts, thoughts, lives, consent)


def write(store: FullStore) -> Written:
    """Store the case file on an empty store."""
    pen = Pen()
    for part in PARTS:
        part.tell(pen)
    return pen.write(store)
