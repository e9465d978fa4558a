"""What turns the values of a state into bytes and back."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol


class Split(NamedTuple):
    """A value that is stored by element."""

    tag: str
    """Says how the elements make the value; any text."""
    elements: list[Any]


class Codec(Protocol):
    """Writes and reads values. Equal values are written alike, or they are stored twice."""

    def dumps(self, value: Any, path: str) -> bytes:
        """Write a value; `path` says where it stands in the state.

        Raises:
            InvalidInput: it is no data, or of a type that is not known here.
        """

    def loads(self, content: bytes) -> Any:
        """Read a value.

        Raises:
            UndecodableRecord: the bytes are none, or of a type that is not known here.
        """

    def split(self, value: Any) -> Split | None:
        """Take a value that grows apart; None: it is stored as one."""

    def join(self, tag: str, elements: list[Any]) -> Any:
        """Put a value together again."""


class Imaging(Codec, Protocol):
    """A codec that can tell of many values at once that they are what they were."""

    def image(self, values: list[Any], before: Any = None) -> Any:
        """Return what is equal only where each value would be written as the same bytes; None: who knows.

        It holds on to no value that may change. It takes less time than writing each by itself.

        Args:
            values: the values.
            before: an image: it is returned itself where theirs is equal.
        """

    def is_written_as(self, values: list[Any], pieces: list[bytes]) -> bool:
        """Tell whether each value would be written as the piece that it has; False: no, or who knows.

        It takes less time than writing each by itself.

        Args:
            values: the values, 32 at most.
            pieces: as many, each as `dumps` wrote it, or empty.
        """
