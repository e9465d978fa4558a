"""The lines of an export as they are read: bounded, counted and digested."""

from __future__ import annotations

import hashlib
from typing import BinaryIO

from ledger.application.payloads import REPORT_BYTES
from ledger.canonical import invalid
from ledger.record import MAX_RECORD_BYTES

_ESCAPED = 6
r"""Bytes of the longest spelling of one byte, `\u0000`."""
_BESIDE = 64 * 1024
"""Bytes beside record or content; names are short."""
_LONGEST = {
    b'{"exported_at"': 256 * 1024 * 1024,
    b'{"base64"': _ESCAPED * REPORT_BYTES + _BESIDE,
    b'{"class"': _ESCAPED * REPORT_BYTES + _BESIDE,
}
"""What may be longer than a record, by how it begins: the first line, which names streams, and contents."""
_LONGEST_RECORD = _ESCAPED * MAX_RECORD_BYTES + _BESIDE


def read_one(file: BinaryIO, number: int) -> bytes:
    """Read a line; nothing at the end.

    Raises:
        InvalidInput: it is longer than any that an export has.
    """
    text = file.readline(_LONGEST_RECORD)
    if len(text) < _LONGEST_RECORD or text.endswith(b"\n"):
        return text
    most = next((size for begin, size in _LONGEST.items() if text.startswith(begin)), 0)
    if most:
        text += file.readline(most - len(text))
        if len(text) < most or text.endswith(b"\n"):
            return text
    raise invalid(
        f"line {number}", f"it is longer than {most or _LONGEST_RECORD:,} bytes: no line of an export is"
    )


class Lines:
    """The lines of a file, with their places, counted and digested."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        file.seek(0, 2)
        self.size = file.tell()
        file.seek(0)
        self.offset = self.number = 0
        self.before = hashlib.sha256()
        """Over every line before the one that was read last."""
        self._last = b""

    @property
    def length(self) -> int:
        """Bytes of the line that was read last."""
        return len(self._last)

    def next(self) -> bytes:
        """Read a line; nothing at the end.

        Raises:
            InvalidInput: it is longer than any that an export has.
        """
        self.before.update(self._last)
        self.offset += len(self._last)
        self.number += 1
        self._last = b""
        self._last = read_one(self._file, self.number)
        return self._last

    def go_on(self) -> None:
        """Go back to behind the line that was read last: the file was read elsewhere meanwhile."""
        self._file.seek(self.offset + len(self._last))
