"""Canonical JSON: one text for one value, so that equal values have equal hashes.

Source: RFC 8785 (JSON Canonicalization Scheme). Arguments and results use it whole: any Unicode keys,
finite doubles written as ECMAScript writes them, keys in UTF-16 order. Our own fields use a *restricted
profile* of it, in which pydantic's serialiser already yields RFC 8785 bytes: no floats, integers within
±(2^53−1), at most 64 levels, fields declared in order, maps sorted when they are made.

What cannot be written without changing it, or could be read in two ways, is refused with its path; nothing
is rounded or renamed.
"""

from __future__ import annotations

import json
import math
from typing import Any

from ledger.errors import InvalidInput

MAX_INTEGER = 2**53 - 1
"""The largest integer every JSON reader keeps exactly."""

MAX_DEPTH = 64
"""How deep arrays and objects may nest."""

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def canonical_text(value: Any, *, path: str = "$") -> str:
    """Write a JSON value as its RFC 8785 text.

    Admits None, bool, int within ±(2^53−1), finite float, str, list and dict with str keys. What else
    Python has (tuples, enums, dates, bytes, subclasses of the admitted types) is refused, since it would
    not come back as what it was.

    Raises:
        InvalidInput: something in the value is not JSON; `path` names the place, e.g. `$.items[3].price`.
    """
    try:
        text = _write(value, MAX_DEPTH)
        if not text.isascii():
            text.encode()
    except (_Unfit, UnicodeEncodeError):
        raise _fault(value, path, 1) from None
    return text


def quote(text: str) -> str:
    """Write one string as JSON, escaping only what RFC 8785 escapes."""
    return _quote(text)


def load_text(text: str | bytes, *, path: str = "$") -> Json:
    """Read JSON, refusing what two readers could read differently.

    Raises:
        InvalidInput: not JSON in UTF-8, a key stands twice, NaN or Infinity, a number no double or no exact
            integer holds, a lone surrogate, or nested deeper than `MAX_DEPTH`.
    """
    return _load(text, path)[0]


def load_canonical(text: str | bytes, *, path: str = "$") -> Json:
    """Read a JSON text that must be its own RFC 8785 text.

    Raises:
        InvalidInput: `load_text` refuses it, or `canonical_text` writes it in another way.
    """
    if isinstance(text, str) and text.isascii():
        # What C code reads and writes back unchanged needs no closer look where nothing in it is written
        # differently by the two: no floats, no long integers, no keys beyond ASCII.
        try:
            value: Json = _PLAIN.decode(text)
            if _PLAIN_TEXT(value) == text and _is_shallow(text, value):
                return value
        except (_Unfit, ValueError, RecursionError):
            pass
    value, again = _load(text, path)
    if again.encode() != (text.encode() if isinstance(text, str) else text):
        raise invalid(path, "this JSON text is not canonical (RFC 8785)")
    return value


def invalid(path: str, reason: str) -> InvalidInput:
    """Build the refusal of one input value; the text reads `path: reason`."""
    return InvalidInput(f"{path}: {reason}", path=path, reason=reason)


# --- reading -----------------------------------------------------------------------------------


def _load(text: str | bytes, path: str) -> tuple[Json, str]:
    """Read JSON strictly; return the value and its canonical text."""
    if not isinstance(text, str):
        try:
            text = text.decode()
        except UnicodeDecodeError:
            raise invalid(path, "not UTF-8") from None
    try:
        value: Json = _STRICT.decode(text)
    except _Twin as twin:
        raise invalid(path, f"the key {twin.args[0]!r} stands twice in one object") from None
    except RecursionError:
        raise invalid(path, _TOO_DEEP) from None
    except ValueError as error:
        raise invalid(path, f"not JSON: {error}") from None
    return value, canonical_text(value, path=path)


def _is_shallow(text: str, value: Json) -> bool:
    """Tell whether no more than `MAX_DEPTH` levels nest in a value that was read from the text."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return True
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [outer for outer in level if type(outer) is dict or type(outer) is list]
        if not level:
            return True
        level = [inner for outer in level for inner in (outer.values() if type(outer) is dict else outer)]
    return False


class _Unfit(Exception):
    """Something that the quick way does not handle."""


class _Twin(ValueError):
    """A key that stands twice in one object."""


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise _Twin(next(name for name in names if names.count(name) > 1))
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _no_float(text: str) -> None:
    raise _Unfit


def _short_integer(text: str) -> int:
    if len(text) > 15:
        raise _Unfit
    return int(text)


def _integer(text: str) -> int | float:
    """Read a whole number; beyond ±(2^53−1) as the double whose RFC 8785 text it is, if it is one."""
    number = int(text)
    if -MAX_INTEGER <= number <= MAX_INTEGER:
        return number
    try:
        double = float(number)
    except OverflowError:
        return number
    return double if _number(double) == text else number


_STRICT = json.JSONDecoder(object_pairs_hook=_no_twins, parse_int=_integer, parse_constant=_no_constant)
_PLAIN = json.JSONDecoder(parse_float=_no_float, parse_int=_short_integer, parse_constant=_no_constant)
_PLAIN_TEXT = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False
).encode


# --- writing -----------------------------------------------------------------------------------

_quote = json.encoder.encode_basestring


def _write(value: Any, depth: int) -> str:
    """Write a value with at most `depth` levels in it; it names no place, so that it is quick."""
    kind = type(value)
    if kind is str:
        return _quote(value)
    if kind is dict:
        return _object(value, depth)
    if kind is list:
        if not depth:
            raise _Unfit
        items = [_quote(item) if type(item) is str else _write(item, depth - 1) for item in value]
        return f"[{','.join(items)}]"
    if kind is int:
        if -MAX_INTEGER <= value <= MAX_INTEGER:
            return str(value)
    elif kind is float:
        if math.isfinite(value):
            return _number(value)
    elif value is None:
        return "null"
    elif kind is bool:
        return "true" if value else "false"
    raise _Unfit


def _object(members: dict[Any, Any], depth: int) -> str:
    if not depth or not set(map(type, members)) <= {str}:
        raise _Unfit
    keys = sorted(members)
    if not "".join(keys).isascii():
        keys.sort(key=utf16)
    pairs: list[str] = []
    for key in keys:
        value = members[key]
        pairs.append(f"{_quote(key)}:{_quote(value) if type(value) is str else _write(value, depth - 1)}")
    return f"{{{','.join(pairs)}}}"


def utf16(key: str) -> bytes:
    """Return the sort key of RFC 8785: the UTF-16 code units of a name."""
    return key.encode("utf-16-be", "surrogatepass")


def _number(value: float) -> str:
    """Write a finite double as ECMAScript's Number::toString does.

    Source: ECMA-262 §6.1.6.1.20; Python's repr yields the same shortest digits, in another layout.
    """
    if value == 0:
        return "0"
    digits, exponent = _digits(repr(abs(value)))
    count = len(digits)
    if count <= exponent <= 21:
        body = digits + "0" * (exponent - count)
    elif 0 < exponent <= 21:
        body = digits[:exponent] + "." + digits[exponent:]
    elif -6 < exponent <= 0:
        body = "0." + "0" * -exponent + digits
    else:
        power = exponent - 1
        mantissa = digits if count == 1 else f"{digits[0]}.{digits[1:]}"
        body = f"{mantissa}e{'+' if power > 0 else '-'}{abs(power)}"
    return "-" + body if value < 0 else body


def _digits(text: str) -> tuple[str, int]:
    """Split a positive repr into its significant digits d and the n with value = 0.d × 10^n."""
    mantissa, _, power = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    shift = int(power or 0) + len(whole)
    raw = whole + fraction
    leading = len(raw) - len(raw.lstrip("0"))
    return raw.strip("0"), shift - leading


# --- saying what is wrong ----------------------------------------------------------------------

_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
_NAMES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_HINTS: dict[type, str] = {tuple: "; it would come back as a list, so send a list"}


def _fault(value: Any, path: str, depth: int) -> InvalidInput:
    """Find the first thing in a value that is not JSON."""
    found = _find_fault(value, path, depth)
    return found if found is not None else invalid(path, "not JSON")


def _find_fault(value: Any, path: str, depth: int) -> InvalidInput | None:
    kind = type(value)
    if value is None or kind is bool:
        return None
    if kind is str:
        return _surrogate(value, path)
    if kind is int:
        if -MAX_INTEGER <= value <= MAX_INTEGER:
            return None
        return invalid(path, "an integer beyond ±(2^53−1) is not kept exactly by JSON readers; send a string")
    if kind is float:
        return None if math.isfinite(value) else invalid(path, f"{_NAMES[str(value)]} is not JSON")
    if kind is not dict and kind is not list:
        return invalid(path, f"{kind.__name__} is not JSON{_HINTS.get(kind, '')}")
    if depth > MAX_DEPTH:
        return invalid(path, _TOO_DEEP)
    if kind is list:
        faults = (_find_fault(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value))
    else:
        faults = (_find_member_fault(key, item, path, depth) for key, item in value.items())
    return next((fault for fault in faults if fault is not None), None)


def _find_member_fault(key: Any, value: Any, path: str, depth: int) -> InvalidInput | None:
    if type(key) is not str:
        return invalid(path, f"a key of type {type(key).__name__} is not JSON; keys are strings")
    return _surrogate(key, path) or _find_fault(value, f"{path}.{key}", depth + 1)


def _surrogate(text: str, path: str) -> InvalidInput | None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return invalid(path, "a lone surrogate is not Unicode text")
    return None
