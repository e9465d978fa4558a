"""The serializer that a saver shows, since LangGraph expects one: data and registered types only."""

from __future__ import annotations

from typing import Any

from ledger.adapters.langgraph.codec import GraphCodec
from ledger.canonical import invalid
from ledger.errors import UndecodableRecord

_TYPE = "ledger"


class Serde:
    """Writes and reads one value, as the saver writes those of a state."""

    def __init__(self, codec: GraphCodec) -> None:
        self._codec = codec

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Write a value.

        Raises:
            InvalidInput: it is no data, or of a type that is not registered.
        """
        return _TYPE, self._codec.dumps(obj, "value")

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Read a value that was written here.

        Raises:
            UndecodableRecord: it was written by another serializer, or is none.
        """
        kind, content = data
        if kind != _TYPE:
            raise UndecodableRecord(
                f"a value was written by the serializer {kind!r:.50}, which is not read here"
            )
        return self._codec.loads(content)


def refuse_serde(serde: Any) -> None:
    """Refuse a serializer: it could store what runs code when it is read, or hide what `verify` looks at.

    Raises:
        InvalidInput: one is given.
    """
    if serde is None:
        return
    hint = (
        "encrypt the disk or the database instead: contents that are encrypted one by one are not shared"
        if hasattr(serde, "cipher")
        else "register classes with `types=[…]`"
    )
    raise invalid(
        "serde",
        f"a LedgerSaver stores data and registered types itself, and takes no {type(serde).__name__}: {hint}",
    )
