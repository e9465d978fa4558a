r"""Make stored text safe to show: a terminal displays all of it and obeys none of it.

Texts in a ledger were written by models, tools and strangers. A raw ESC could repaint the screen or a
bidirectional override show an amount backwards, so what steers instead of showing is written as its escape
(`\x1b`, `\u202e`).
"""

from __future__ import annotations

import unicodedata

_JOINERS = frozenset("\u200c\u200d")
"""Zero-width joiners: part of ordinary words and emoji, and harmless."""

_STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class _Escapes(dict[int, str]):
    """For `str.translate`: remembers each character it was asked about."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        steers = unicodedata.category(character) in _STEERING and character not in _JOINERS
        self[code] = escaped = _escape(code) if steers else character
        return escaped


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_ESCAPES = _Escapes()


def visible(text: str) -> str:
    """Write text on one line; line breaks and tabs are escaped like everything else that steers."""
    return text.translate(_ESCAPES)


def one_line(text: str, most: int | None = None) -> str:
    """Write text on one line, each stretch of blanks as one blank, cut after `most` characters."""
    line = visible(" ".join(text.split()))
    return line if most is None or len(line) <= most else line[: max(most - 3, 0)].rstrip() + "..."


def lines_of(text: str) -> list[str]:
    """Write text line by line; a tab becomes four blanks."""
    return [visible(line.replace("\t", "    ")) for line in text.replace("\r\n", "\n").split("\n")]
