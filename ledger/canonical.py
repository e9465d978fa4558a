"""Canonical JSON: one text for one value, so that equal values have equal hashes.

Source: RFC 8785 (JSON Canonicalization Scheme). Arguments and results use it whole: any Unicode keys,
finite doubles written as ECMAScript writes them, keys in UTF-16 order. Our own fields use a *restricted
profile* of it, in which `json.dumps(sort_keys=True)` and pydantic's serialiser already yield RFC 8785
bytes: ASCII keys, no floats, integers within ±(2^53−1), at most 64 levels.

What cannot be written without changing it is refused with its path; nothing is rounded or renamed.
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
    Python has (tuples, enums, dates, bytes) is refused, since it would not come back as what it was.

    Raises:
        InvalidInput: something in the value is not JSON; `path` names the place, e.g. `$.items[3].price`.
    """
    parts: list[str] = []
    _write(value, path, 1, parts.append)
    return "".join(parts)


def quote(text: str) -> str:
    """Write one string as JSON, escaping only what RFC 8785 escapes."""
    return _quote(text)


def load_text(text: str | bytes, *, path: str = "$") -> Json:
    """Read JSON, refusing what two readers could read differently.

    Raises:
        InvalidInput: not JSON, a key stands twice, NaN or Infinity, or nested deeper than `MAX_DEPTH`.
    """
    try:
        value: Json = json.loads(text, object_pairs_hook=_no_twins, parse_constant=_no_constant)
    except _Twin as twin:
        raise invalid(path, f"the key {twin.args[0]!r} stands twice in one object") from None
    except RecursionError:
        raise invalid(path, f"nested deeper than {MAX_DEPTH} levels") from None
    except UnicodeDecodeError:
        raise invalid(path, "not UTF-8") from None
    except ValueError as error:
        raise invalid(path, f"not JSON: {error}") from None
    return value


def invalid(path: str, reason: str) -> InvalidInput:
    """Build the refusal of one input value; the text reads `path: reason`."""
    return InvalidInput(f"{path}: {reason}", path=path, reason=reason)


_quote = json.encoder.encode_basestring


class _Twin(ValueError):
    """A key that stands twice in one object."""


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Twin(key)
        found[key] = value
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _write(value: Any, path: str, depth: int, out: Any) -> None:
    kind = type(value)
    if kind is str:
        out(_string(value, path))
    elif value is None:
        out("null")
    elif kind is bool:
        out("true" if value else "false")
    elif kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise invalid(
                path, "an integer beyond ±(2^53−1) is not kept exactly by JSON readers; send a string"
            )
        out(str(value))
    elif kind is float:
        out(_number(value, path))
    elif kind is dict or kind is list:
        if depth > MAX_DEPTH:
            raise invalid(path, f"nested deeper than {MAX_DEPTH} levels")
        if kind is dict:
            _object(value, path, depth, out)
        else:
            _array(value, path, depth, out)
    else:
        raise invalid(path, f"{kind.__name__} is not JSON{_HINTS.get(kind, '')}")


_HINTS: dict[type, str] = {tuple: "; it would come back as a list, so send a list"}


def _array(items: list[Any], path: str, depth: int, out: Any) -> None:
    out("[")
    for index, item in enumerate(items):
        if index:
            out(",")
        _write(item, f"{path}[{index}]", depth + 1, out)
    out("]")


def _object(members: dict[Any, Any], path: str, depth: int, out: Any) -> None:
    for key in members:
        if type(key) is not str:
            raise invalid(path, f"a key of type {type(key).__name__} is not JSON; keys are strings")
    out("{")
    for index, key in enumerate(sorted(members, key=_utf16)):
        if index:
            out(",")
        out(_string(key, path))
        out(":")
        _write(members[key], f"{path}.{key}", depth + 1, out)
    out("}")


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def _string(text: str, path: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise invalid(path, "a lone surrogate is not Unicode text") from None
    return _quote(text)


def _number(value: float, path: str) -> str:
    """Write a double as ECMAScript's Number::toString does.

    Source: ECMA-262 §6.1.6.1.20; Python's repr yields the same shortest digits, in another layout.
    """
    if not math.isfinite(value):
        raise invalid(path, f"{_FINITE.get(str(value), str(value))} is not JSON")
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


_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _digits(text: str) -> tuple[str, int]:
    """Split a positive repr into its significant digits d and the n with value = 0.d × 10^n."""
    mantissa, _, power = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    shift = int(power or 0) + len(whole)
    raw = whole + fraction
    leading = len(raw) - len(raw.lstrip("0"))
    return raw.strip("0"), shift - leading
