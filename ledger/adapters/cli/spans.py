"""Spans of time, as people type and read them: `90s`, `15m`, `2h`, `3d`, `1w`."""

from __future__ import annotations

import re
from datetime import timedelta

import typer

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_SPAN = re.compile(r"(?:[0-9]{1,9}[smhdw])+|[0-9]{1,9}")
_PART = re.compile(r"([0-9]+)([smhdw]?)")


def read_span(text: str, *, option: str) -> timedelta:
    """Read a span: whole numbers with a unit each, e.g. `1d12h`; a number alone is seconds.

    Raises:
        typer.BadParameter: it is none.
    """
    if _SPAN.fullmatch(text) is None:
        raise typer.BadParameter(
            f"{text!r} is no span of time, such as 90s, 15m, 2h, 3d or 1w", param_hint=option
        )
    return timedelta(seconds=sum(int(count) * _UNITS[unit or "s"] for count, unit in _PART.findall(text)))


def span_words(span: timedelta) -> str:
    """Write a span in its two largest units: `3 d 4 h`, `12 min 5 s`; what is below 0 is 0 s."""
    left = max(0, int(span.total_seconds()))
    parts = []
    for name, seconds in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, left = divmod(left, seconds)
        parts.append((count, name))
    first = next((place for place, (count, _) in enumerate(parts) if count), len(parts) - 1)
    told = [part for part in parts[first : first + 2] if part[0]] or parts[-1:]
    return " ".join(f"{count:,} {name}" for count, name in told)
