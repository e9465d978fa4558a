"""What is bound to the process that it was opened in."""

from __future__ import annotations

from typing import Any, NoReturn, Self


class Bound:
    """Holds what is open: it is handed on within its process, and neither copied deeply nor sent away."""

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        raise TypeError(self._why())

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(self._why())

    def _why(self) -> str:
        return (
            f"a {type(self).__name__} holds an open ledger or folder, with connections and locks, so it "
            "cannot be copied or sent to another process: open another one there, with the same address"
        )
