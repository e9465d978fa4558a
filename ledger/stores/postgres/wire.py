"""Values as PostgreSQL's binary protocol carries them: lists, and numbers of eight bytes.

The writer encodes its parameters itself, because the driver's general way (look at each value, choose a type,
prepare once for each combination of types) costs an append more than the rest of its way to the server.

Source: PostgreSQL, `src/backend/utils/adt/arrayfuncs.c`, `array_recv`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from ledger.errors import InvalidInput

Value = bytes | None

_INTEGER = struct.Struct("!q")
_MEMBER = struct.Struct("!iq")
_LENGTH = struct.Struct("!i")
_ARRAY = struct.Struct("!iiIii")
_NULL = _LENGTH.pack(-1)
_BYTES, _NUMBER, _TEXT = 17, 20, 25


def number(value: int) -> bytes:
    """Encode a bigint.

    Raises:
        InvalidInput: it is larger than one.
    """
    try:
        return _INTEGER.pack(value)
    except struct.error:
        reason = "beyond 2^63"
        raise InvalidInput(f"{value} is {reason}", path="position", reason=reason) from None


def text(value: str) -> bytes:
    """Encode a text.

    Raises:
        InvalidInput: it holds what no text in PostgreSQL can.
    """
    if "\0" in value:
        raise InvalidInput("a name holds NUL, which PostgreSQL cannot store", path="name", reason="NUL")
    return value.encode()


def numbers(values: Iterable[int]) -> bytes:
    """Encode a bigint[]."""
    given = list(values)
    try:
        members = [_MEMBER.pack(8, value) for value in given]
    except struct.error:
        return _array(_NUMBER, [number(value) for value in given])
    return b"".join([_ARRAY.pack(1, False, _NUMBER, len(given), 1), *members])


def texts(values: Iterable[str | None]) -> bytes:
    """Encode a text[]."""
    return _array(_TEXT, [None if value is None else text(value) for value in values])


def byte_strings(values: Sequence[bytes | None]) -> bytes:
    """Encode a bytea[]."""
    return _array(_BYTES, values)


def _array(kind: int, values: Sequence[Value]) -> bytes:
    pieces: list[bytes] = [_ARRAY.pack(1, None in values, kind, len(values), 1)]
    for value in values:
        if value is None:
            pieces.append(_NULL)
        else:
            pieces.append(_LENGTH.pack(len(value)))
            pieces.append(value)
    return b"".join(pieces)
