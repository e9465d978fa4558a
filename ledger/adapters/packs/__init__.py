"""Packs: the states of a program as contents that hold what is new, and refer to earlier ones for the rest.

A state is a set of named values. Each save writes one content, a *pack*, with the values that are new; what
an earlier pack of the same run holds already is referred to by that pack's digest. A list is stored by
element, so that a history that grows by one message costs one message.
"""

from ledger.adapters.packs.codec import Codec, Split
from ledger.adapters.packs.memo import Memo
from ledger.adapters.packs.reading import Fetch, Unpacked, refers_to, unpack
from ledger.adapters.packs.writing import Packed, pack

__all__ = ["Codec", "Fetch", "Memo", "Packed", "Split", "Unpacked", "pack", "refers_to", "unpack"]
