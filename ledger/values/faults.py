"""What pydantic refused, in words for people."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic import ValidationError

from ledger.errors import InvalidInput


def explain(error: ValidationError, *, root: str = "", known: Iterable[str] = ()) -> InvalidInput:
    """Turn pydantic's refusal into ours: the path and the reason of the first fault.

    `known` are the fields of what was built, to be named where it has no such field.
    """
    path, reason = first_fault(error, root, known)
    return InvalidInput(f"{path}: {reason}", path=path, reason=reason)


def first_fault(error: ValidationError, root: str, known: Iterable[str] = ()) -> tuple[str, str]:
    """Return path and reason of the first fault."""
    fault = error.errors(include_url=False, include_input=False)[0]
    path = root
    for part in fault["loc"]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    if fault["type"] == "extra_forbidden":
        name = str(fault["loc"][-1])
        # Deeper inside it is another class that has no such field.
        return path, no_such("field", name, known if len(fault["loc"]) == 1 else ())
    if fault["type"] == "string_too_short" and fault["ctx"]["min_length"] == 1:
        return path or "$", "it is empty"
    return path or "$", _MEMBER.sub(r"\1", fault["msg"].removeprefix("Value error, "))


def a(noun: str) -> str:
    """Put the indefinite article that fits before a noun."""
    return f"an {noun}" if noun[:1].lower() in "aeiou" and noun else f"a {noun}"


def no_such(what: str, name: str, known: Iterable[str], *, prefix: str = "") -> str:
    """Say that there is no such thing, and which is likely meant, or which there are.

    `prefix` is what all of their names begin with: it makes none of them likelier, so it is told apart.
    """
    import difflib  # whoever says nothing wrong need not wait for it

    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {prefix}{near[0]}?" if near else f"known are {', '.join(prefix + n for n in names)}"
    return f"no such {what}; {hint}" if names else f"no such {what}"


# How Python writes a member of an enumeration.
_MEMBER = re.compile(r"<\w+\.\w+: ('[^']*')>")
