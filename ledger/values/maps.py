"""Maps that cannot be changed, with their keys in canonical order."""

from __future__ import annotations

from typing import Annotated, Any, Never

from pydantic import AfterValidator, Strict, StringConstraints

from ledger.canonical import utf16
from ledger.values.amounts import Amount
from ledger.values.ids import MAX_ID_LENGTH, check_id
from ledger.values.numbers import Count


class FrozenMap(dict[str, Any]):
    """A dict that cannot be changed. Whoever makes one gives its keys in canonical order."""

    # It is filled before anybody has it; filling it again would be a change.
    def __new__(cls, *members: Any, **more: Any) -> FrozenMap:
        self = super().__new__(cls)
        dict.update(self, *members, **more)
        return self

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def _refuse(self, *_: Any, **__: Any) -> Never:
        raise TypeError("this mapping is part of an event and cannot be changed")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __copy__(self) -> FrozenMap:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


def _frozen_map(members: dict[str, Any]) -> FrozenMap:
    return FrozenMap(sorted(members.items()))


def _named(members: dict[str, Any]) -> FrozenMap:
    """Freeze a map by ids, sorted by UTF-16 code units, which for ASCII is the order of Python."""
    joined = "".join(members)
    if not joined.isascii():
        members = {name: members[name] for name in sorted(members, key=utf16)}
    elif len(members) > 1:
        members = dict(sorted(members.items()))
    # Most names are short and plain, which one look at all of them shows.
    if not (joined.isascii() and joined.isprintable() and len(joined) <= MAX_ID_LENGTH) or (
        " " in joined or "" in members
    ):
        for name in members:
            check_id(name)
    return FrozenMap(members)


_Key = Annotated[str, StringConstraints(strict=True, pattern=r"^[\x21-\x7e]{1,200}$")]

Amounts = Annotated[dict[_Key, Amount], AfterValidator(_frozen_map)]
"""Amounts by unit, e.g. `{"EUR": "10.00", "tokens": "5000"}`; units are printable ASCII without spaces."""

Labels = Annotated[
    dict[_Key, Annotated[str, StringConstraints(strict=True, max_length=1000)]], AfterValidator(_frozen_map)
]
"""Words to find runs by; keys are printable ASCII without spaces."""

Counts = Annotated[dict[Annotated[str, Strict()], Count], AfterValidator(_named)]
"""Whole numbers by the ids of nodes, sources and the like."""
