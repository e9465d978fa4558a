"""Values of graphs as bytes: MessagePack, with a name in front of what is of a registered type.

Only tables are asked for names, nothing that is read is imported or called by its name. A value begins with
the byte 0xC1, which MessagePack never uses, where it is of a registered type itself: the length of the name
(one byte), the name, and the data. Further in it is an extension:

    1  [name, data]      a value of a registered type
    2  [element, …]      a tuple
    3  [[key, value], …] a dictionary with keys that are not all text
    4  text              an integer of more than 64 bits, as -0x…
    5  UTF-8             a text that is not Unicode (it has half of a pair of surrogates)
    6  [bytes, …]        a set: its elements, each written by itself, in the order of their bytes
    7  [bytes, …]        a frozenset
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ormsgpack
from langchain_core.messages.base import TextAccessor
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from ledger.adapters.langgraph.images import PLAIN, image, is_written_as
from ledger.adapters.langgraph.kinds import MARK
from ledger.adapters.langgraph.natives import LEAVES, holds_foreign
from ledger.adapters.langgraph.types import KnownTypes
from ledger.adapters.packs import Split
from ledger.canonical import invalid
from ledger.errors import InvalidInput, LedgerError, UndecodableRecord

DEPTH = 200
"""How deep a value may be nested. MessagePack's reader goes a little deeper."""
MARKS = 64
"""How many extensions may stand in one another: each takes some of the stack of who reads it."""
DEPTH_TOLD = 32
"""Where a value is nested more deeply it is not told what of it is wrong."""
NAMED, TUPLE, PAIRS, BIG, TEXT, SET, FROZENSET = range(1, 8)
_OPTIONS = (
    ormsgpack.OPT_PASSTHROUGH_BIG_INT
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
_LISTS: dict[type, str] = {list: "list", tuple: "tuple"}
_MARKED = bytes((MARK,))
_pack, _unpack = ormsgpack.packb, ormsgpack.unpackb
_Ext = ormsgpack.Ext


class UnknownType(UndecodableRecord):
    """What was saved is of a type that is not registered here, or has changed: `name` names it.

    Give its class as `LedgerSaver(…, types=[…])`, or with `saver.register(…)`.
    """

    code = "unknown_type"
    name: str


class _Spot(NamedTuple):
    """Where in a state something stands."""

    path: str
    above: tuple[int, ...] = ()
    """What it stands in."""
    marks: int = 0
    """How many of those are extensions."""

    def within(self, value: Any, path: str, *, mark: bool = False) -> _Spot:
        """Go into a value.

        Raises:
            InvalidInput: it is nested too deeply, or in itself.
        """
        if id(value) in self.above:
            raise invalid(self.path, "it holds itself")
        if len(self.above) >= DEPTH or self.marks + mark > MARKS:
            raise invalid(
                self.path, f"it is nested more than {DEPTH} deep, or {MARKS} in what is no list or dictionary"
            )
        return _Spot(path, (*self.above, id(value)), self.marks + mark)


class GraphCodec:
    """Writes and reads the values of a graph's state."""

    def __init__(self, types: KnownTypes) -> None:
        self.types = types
        self._written = types.written
        self._read = types.read
        self._hooks: list[Callable[[Any], Any]] = [_too_deep]
        for _ in range(MARKS):
            self._hooks.append(self._hook_above(self._hooks[-1]))
        self._hook = self._hooks[-1]
        self._extend = self._extension

    def dumps(self, value: Any, path: str) -> bytes:
        """Write a value; `path` says where it stands in the state.

        Raises:
            InvalidInput: it is no data, or of a type that is not registered; `path` names the place in it.
        """
        cls = type(value)
        known = self._written.get(cls)
        try:
            if known is None and cls not in PLAIN and self.types.of(cls) is not None:
                known = self._written[cls]
            if known is None:
                return _packed(value, self._hook)
            mark, take = known
            return mark + _packed(take(value), self._hook)
        except Exception:  # noqa: BLE001 - whatever it is, the long way tells
            # The long way tells where it is, and writes what MessagePack has no form for.
            return self._slowly(value, path)

    def loads(self, content: bytes) -> Any:
        """Read a value.

        Raises:
            UnknownType: it is of a type that is not registered, or whose class has changed.
            UndecodableRecord: the bytes are none.
        """
        try:
            if content[:1] != _MARKED:
                return self._unpack(content)
            start = 2 + content[1]
            build = self._read.get(content[:start])
            data = _unpack(content[start:], ext_hook=self._extend)
            return self._build(content[2:start].decode(), data) if build is None else build(data)
        except LedgerError:
            raise
        except Exception as error:
            raise self._told(content, error) from error

    def image(self, values: list[Any], before: Any = None) -> Any:
        """Return what is equal only where each value would be written as the same bytes; None: who knows."""
        return image(values, self.types.plain, self.types.messages, self._write, before)

    def is_written_as(self, values: list[Any], pieces: list[bytes]) -> bool:
        """Tell whether each value would be written as the piece it has; False: no, or who knows."""
        types, known = self.types, self._written
        return is_written_as(
            values, pieces, types.plain, types.messages, self._write, lambda cls: known[cls][0]
        )

    def split(self, value: Any) -> Split | None:
        """Take lists apart, and lists in the snapshot of a delta channel."""
        tag = _LISTS.get(type(value))
        if tag is not None:
            return Split(tag, value)
        if type(value) is _DeltaSnapshot and type(value.value) is list:
            return Split("snapshot", value.value)
        return None

    def join(self, tag: str, elements: list[Any]) -> Any:
        """Put a list together again.

        Raises:
            UndecodableRecord: it is another kind of list than is known here.
        """
        if tag == "list":
            return elements
        if tag == "tuple":
            return tuple(elements)
        if tag == "snapshot":
            return _DeltaSnapshot(elements)
        raise UndecodableRecord(f"a saved state has a list of the kind {tag!r:.50}, which is not known here")

    # --- writing ----------------------------------------------------------------------------------

    def _write(self, values: list[Any]) -> bytes:
        """Write values without looking for what says itself what is written."""
        return _pack(values, self._hook, _OPTIONS)

    def _hook_above(self, below: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return what writes a value that MessagePack does not know; `below` writes those in it."""
        types = self.types

        def hook(value: Any) -> Any:
            kind = types.of(type(value))
            if kind is not None:
                return _Ext(NAMED, _packed([kind.name, kind.take(value)], below))
            if type(value) is TextAccessor:
                return str(value)
            return _WRITTEN[type(value)](value, lambda one: _packed(one, below))

        return hook

    def _slowly(self, value: Any, path: str) -> bytes:
        try:
            kind = self.types.of(type(value))
            if kind is None:
                return _pack(self._data(value, _Spot(path)), None, _OPTIONS)
            data = self._data(_taken(kind.take, value, path), _Spot(path).within(value, path, mark=True))
            return kind.mark + _pack(data, None, _OPTIONS)
        except (LedgerError, MemoryError):
            raise
        except Exception as error:  # e.g. another thread changed it meanwhile
            raise invalid(path, f"it cannot be written: {error!r:.200}") from error

    def _data(self, value: Any, at: _Spot) -> Any:
        """Turn a value into what MessagePack has forms for."""
        cls = type(value)
        if cls is str:
            return value if _is_unicode(value) else _Ext(TEXT, value.encode("utf-8", "surrogatepass"))
        if cls is int:
            return value if -(2**63) <= value < 2**64 else _Ext(BIG, hex(value).encode())
        if value is None or cls in (bool, float, bytes):
            return value
        if cls is TextAccessor:
            return self._data(str(value), at)
        if cls is list:
            return [self._data(one, at.within(value, f"{at.path}[{n}]")) for n, one in enumerate(value)]
        if cls is dict:
            return self._pairs(value, at)
        kind = self.types.of(cls)
        if kind is not None:
            taken = self._data(_taken(kind.take, value, at.path), at.within(value, at.path, mark=True))
            return _Ext(NAMED, _pack([kind.name, taken], None, _OPTIONS))
        if cls is tuple:
            inside = [
                self._data(one, at.within(value, f"{at.path}[{n}]", mark=True)) for n, one in enumerate(value)
            ]
            return _Ext(TUPLE, _pack(inside, None, _OPTIONS))
        if cls in _WRITTEN:
            spot = at.within(value, f"{at.path}{{}}", mark=True)
            return _WRITTEN[cls](value, lambda one: _pack(self._data(one, spot), None, _OPTIONS))
        raise invalid(at.path, _refusal(cls))

    def _pairs(self, value: dict[Any, Any], at: _Spot) -> Any:
        if all(type(key) is str and _is_unicode(key) for key in value):
            return {
                key: self._data(one, at.within(value, _within(at.path, key))) for key, one in value.items()
            }
        pairs = [
            [
                self._data(key, at.within(value, f"{at.path}.keys()", mark=True)),
                self._data(one, at.within(value, f"{at.path}[{_shown(key)}]", mark=True)),
            ]
            for key, one in value.items()
        ]
        return _Ext(PAIRS, _pack(pairs, None, _OPTIONS))

    # --- reading ----------------------------------------------------------------------------------

    def _unpack(self, content: bytes) -> Any:
        return _unpack(content, ext_hook=self._extend)

    def _extension(self, code: int, content: bytes) -> Any:
        if code == BIG:
            return int(content, 16)
        if code == TEXT:
            return content.decode("utf-8", "surrogatepass")
        data = self._unpack(content)
        if code == NAMED:
            return self._build(*data)
        if code == TUPLE:
            return tuple(data)
        if code == PAIRS:
            return dict(data)
        if code == SET:
            return set(map(self._unpack, data))
        if code == FROZENSET:
            return frozenset(map(self._unpack, data))
        raise UndecodableRecord(f"a saved value has the form {code}, which is not known here")

    def _build(self, name: str, data: Any) -> Any:
        kind = self.types.named(name)
        if kind is None:
            raise UnknownType(
                f"a saved value is of the type {name!r:.200}, which is not registered here: give its class "
                "as `LedgerSaver(…, types=[…])`, or with `saver.register(…)`",
                name=name,
            )
        try:
            return kind.build(data)
        except LedgerError:
            raise
        except Exception as error:
            raise _changed(name, error) from error

    def _told(self, content: bytes, error: Exception, depth: int = 0) -> UndecodableRecord:
        """Say what is wrong with a value: it is none, or something in it is of a type that is not known.

        What is raised while an extension is read does not come through MessagePack's reader.
        """
        met: list[UndecodableRecord] = []

        def look(code: int, inner: bytes) -> Any:
            try:
                return self._extension(code, inner)
            except UndecodableRecord as known:
                met.append(known)
            except Exception as unknown:  # noqa: BLE001 - whatever it is, it is told further in
                if depth < DEPTH_TOLD and code not in (BIG, TEXT):
                    met.extend(self._told(part, unknown, depth + 1) for part in _parts(code, inner))
            raise ValueError

        try:
            start = 2 + content[1] if content[:1] == _MARKED else 0
            _unpack(content[start:], ext_hook=look)
            return _changed(content[2:start].decode(), error) if start else _undecodable(error)
        except Exception:  # noqa: BLE001 - then it is none
            return next((one for one in met if isinstance(one, UnknownType)), _undecodable(error))


def _parts(code: int, content: bytes) -> list[bytes]:
    """Return what stands in an extension as values of its own."""
    if code not in (SET, FROZENSET):
        return [content]
    try:
        return [part for part in _unpack(content) if isinstance(part, bytes)]
    except ValueError:
        return []


def _changed(name: str, error: Exception) -> UnknownType:
    return UnknownType(
        f"a saved value of the type {name!r:.200} is none as its class is now: {error!r:.200}", name=name
    )


def _packed(value: Any, hook: Callable[[Any], Any]) -> bytes:
    """Write a value, unless something in it would be taken for what it is not."""
    content = _pack(value, hook, _OPTIONS)
    if type(value) not in LEAVES and holds_foreign((value,)):
        raise TypeError
    return content


def _too_deep(value: Any) -> Any:
    raise TypeError


def _tuple(value: Any, write: Callable[[Any], bytes]) -> Any:
    return _Ext(TUPLE, write(list(value)))


def _set(value: Any, write: Callable[[Any], bytes]) -> Any:
    return _Ext(SET, _pack(sorted(map(write, value))))


def _frozenset(value: Any, write: Callable[[Any], bytes]) -> Any:
    return _Ext(FROZENSET, _pack(sorted(map(write, value))))


_WRITTEN: dict[type, Callable[[Any, Callable[[Any], bytes]], Any]] = {
    tuple: _tuple,
    set: _set,
    frozenset: _frozenset,
}


def _taken(take: Callable[[Any], Any], value: Any, path: str) -> Any:
    try:
        return take(value)
    except InvalidInput:
        raise
    except Exception as error:
        raise invalid(path, f"the data of {type(value).__name__} cannot be had: {error!r:.200}") from error


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _within(path: str, key: str) -> str:
    name = key if key.isidentifier() else f"[{_shown(key)}]"
    return f"{path}.{name}" if path and name == key else f"{path}{name}"


def _shown(key: Any) -> str:
    """Show a key in a path. Long integers and what is no data may have no text."""
    try:
        return f"{key!r:.50}"
    except Exception:  # noqa: BLE001 - it may be anything
        return f"<{type(key).__name__}>"


def _refusal(cls: type) -> str:
    return (
        f"{cls.__module__}.{cls.__qualname__} is not stored as it is: put data in its place, or give the "
        "class as `LedgerSaver(…, types=[…])`"
    )


def _undecodable(error: Exception) -> UndecodableRecord:
    return UndecodableRecord(f"the value of a saved state cannot be read: {error!r:.200}")
