"""Writing and reading the values of states: JSON, or MessagePack. A byte in front of each says which."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple, NoReturn, get_args

from ledger.adapters.checkpointer.data import Format
from ledger.adapters.packs import Split
from ledger.canonical import invalid
from ledger.errors import UndecodableRecord

_JSON: Final = b"j"
_MSGPACK: Final = b"m"
_LIST: Final = "list"


class Written(NamedTuple):
    """An element that was written before."""

    id: str
    content: bytes


class DataCodec:
    """Writes values in one format and reads those of both, so that a thread may change its format."""

    def __init__(self, format: Format) -> None:
        if format not in get_args(Format):
            raise invalid("format", f"give one of {', '.join(get_args(Format))}, not {format!r:.50}")
        self.format: Format = format
        self._packb: Callable[[Any], bytes] | None = None
        self._unpackb: Callable[[bytes], Any] | None = None
        if format == "msgpack":
            self._packb, self._unpackb = _msgpack()

    def dumps(self, value: Any, path: str) -> bytes:
        """Write a value that is data; one that was written stays as it is."""
        if isinstance(value, Written):
            return value.content
        if self._packb is not None:
            return _MSGPACK + self._packb(value)
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return _JSON + text.encode()

    def loads(self, content: bytes) -> Any:
        """Read a value. Nothing but plain data comes out, whatever the bytes are.

        Raises:
            UndecodableRecord: they are none.
        """
        tag, rest = content[:1], content[1:]
        try:
            if tag == _JSON:
                return json.loads(rest.decode(), parse_constant=_no_constant)
            if tag == _MSGPACK:
                if self._unpackb is None:
                    _, self._unpackb = _msgpack()
                return self._unpackb(rest)
        except (ValueError, RecursionError) as error:
            raise UndecodableRecord(f"a value of a saved state cannot be read: {error}") from None
        raise UndecodableRecord(f"a value of a saved state is of a format that is not known: {tag!r}")

    def split(self, value: Any) -> Split | None:
        """Store lists by element."""
        return Split(_LIST, value) if type(value) is list else None

    def join(self, tag: str, elements: list[Any]) -> Any:
        """Put a list together.

        Raises:
            UndecodableRecord: it is none.
        """
        if tag != _LIST:
            raise UndecodableRecord(
                f"a value of a saved state is made in a way that is not known: {tag!r:.50}"
            )
        return elements


def _msgpack() -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    try:
        import ormsgpack
    except ImportError as error:
        advice = "MessagePack needs its library: pip install '.[msgpack]' in a checkout"
        raise invalid("format", f"{advice} ({error})") from error
    return ormsgpack.packb, ormsgpack.unpackb


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
