"""What a program knows to be stored of a run of a thread, so that it is not looked up or stored again."""

from __future__ import annotations

from collections.abc import Collection

from ledger.adapters.packs import Memo
from ledger.adapters.packs.memo import PIECES_KNOWN
from ledger.adapters.threads.threads import Entry

LISTS_KNOWN = 256
"""Lists of a run of which it is known where their elements are: those that were saved or read last. A program
may begin lines without end."""


def stands(entry: Entry, line: str | None, id: str, dropped: int | None) -> None:
    """Note that a run keeps a state, if its states were last dropped there; its mutex is held."""
    entry.stands[line] = id, dropped
    entry.stands.move_to_end(line)
    if len(entry.stands) > LISTS_KNOWN:
        entry.stands.popitem(last=False)


def note_learnt(entry: Entry, learnt: Memo) -> None:
    """Add what was learnt by reading to what is known of a run, which others save to at the same time."""
    with entry.mutex:
        if entry.memo.dropped == learnt.dropped:
            entry.memo.lists.update(learnt.lists)
            entry.memo.pieces.update(learnt.pieces)
            for digest, others in learnt.rests.items():
                entry.memo.refers(digest, others)
            note_used(entry.memo, learnt.lists)
        elif (entry.memo.dropped or 0) < (learnt.dropped or 0):
            entry.memo = learnt


def note_used(memo: Memo, lists: Collection[tuple[str | None, str]]) -> None:
    """Note that lists were used just now, and let go of what is too much."""
    for place in lists:
        memo.lists[place] = memo.lists.pop(place)
    for place in list(memo.lists)[:-LISTS_KNOWN]:
        del memo.lists[place]
    while len(memo.pieces) > PIECES_KNOWN:
        memo.pieces.popitem(last=False)
