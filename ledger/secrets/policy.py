"""What is taken for a secret: names of fields, shapes of tokens, and a quick look at what has none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ledger.canonical import MAX_DEPTH, invalid
from ledger.secrets import cards
from ledger.secrets.finding import NAME_RULE, Found, Search
from ledger.secrets.names import DEFAULT_NAMES, plain, plain_names
from ledger.secrets.pairs import without_pairs
from ledger.secrets.shapes import DEFAULT_SHAPES, MARKER, Shape
from ledger.values import SecretRef, bind_secrets, no_such
from ledger.values.secrets import Lookup


@dataclass(frozen=True)
class Secrets:
    """What is taken for a secret, and how references to secrets are resolved.

    `names` are names of fields that hold one, whatever it looks like; `shapes` are those of tokens that are
    known wherever they stand; `lookup` finds a value by the name of its reference. Under a name only texts
    that say something count, alone or in lists: no numbers, flags, blanks, masks such as `****`, and no
    objects, whose own fields are looked at. Where the names have `card_number`, all fields that say card are
    searched for the digits of one.

    Raises:
        InvalidInput: a name is no name, a shape is no `Shape`, or two shapes have one name.
    """

    names: Collection[str] = DEFAULT_NAMES
    shapes: Collection[Shape] = DEFAULT_SHAPES
    lookup: Lookup | None = field(default=None, repr=False)
    _names: frozenset[str] = field(init=False, repr=False, compare=False)
    _cards: bool = field(init=False, repr=False, compare=False)
    _hints: Mapping[str, list[Shape]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names, shapes = plain_names(self.names), tuple(self.shapes)
        if not all(isinstance(shape, Shape) for shape in shapes):
            raise invalid("shapes", "give each as a Shape")
        taken = [NAME_RULE, cards.RULE, *(shape.name for shape in shapes)]
        twice = next((name for name in taken if taken.count(name) > 1), None)
        if twice is not None:
            raise invalid("shapes", f"two rules are named {twice!r}")
        hints: dict[str, list[Shape]] = {}
        for shape in shapes:
            for hint in shape.hints:
                hints.setdefault(hint, []).append(shape)
        derived = {"names": names, "shapes": shapes, "_names": names - _CARDS, "_cards": names >= _CARDS}
        for name, value in (derived | {"_hints": hints}).items():
            object.__setattr__(self, name, value)

    def with_names(self, *more: str) -> Secrets:
        """Take further names of fields for those of secrets."""
        return replace(self, names=plain_names(self.names) | plain_names(more))

    def without_names(self, *fewer: str) -> Secrets:
        """Take names of fields for harmless.

        Raises:
            InvalidInput: one of them was not taken for that of a secret.
        """
        names, dropped = plain_names(self.names), plain_names(fewer)
        for name in sorted(dropped - names):
            raise invalid("names", no_such("name", name, sorted(names)))
        return replace(self, names=names - dropped)

    def with_shapes(self, *more: Shape) -> Secrets:
        """Look for further shapes of tokens.

        Raises:
            InvalidInput: there is a shape of this name.
        """
        return replace(self, shapes=(*self.shapes, *more))

    def bind(self, args: Any) -> Any:
        """Return arguments with their references bound to the lookup; as they are where there is none.

        Raises:
            InvalidInput: they nest too deep.
        """
        return args if self.lookup is None else bind_secrets(args, self.lookup)

    def find(self, value: Any, path: str = "args") -> Found | None:
        """Return the first secret in a JSON value, its keys included; None where there is none.

        References are no secrets, unless their name is one. What is neither JSON nor a tuple is not looked
        into, nor is a value that nests deeper than `MAX_DEPTH`, which no record can hold.
        """
        search = self._search(value)
        return None if search is None else next(search.found(value, path), None)

    def redact(self, value: Any) -> Any:
        """Return a value with each secret replaced by `[redacted:RULE]`; the same object where there is none.

        Of a token that is known by its shape only the token is replaced, of a field that is known by its name
        the whole text. It looks where `find` does: a value that nests deeper than `MAX_DEPTH` is returned as
        it is. Keys that would become one are told apart by a number.
        """
        search = self._search(value)
        return value if search is None else search.redacted(value)

    def redact_text(self, text: str) -> str:
        """Return a text with each token that is known by its shape replaced by `[redacted:RULE]`."""
        hinted = self._hinted(text)
        return Search(self._names, False, self._shapes_of(hinted)).without_tokens(text) if hinted else text

    def redact_words(self, text: str) -> str:
        """Return what somebody said without its secrets; the same text where it has none.

        They are the tokens that are known by their shapes, and values behind the name of a secret, as
        `password=hunter2` and `api_key: 8f14…`, unless they look like words, a number, a path, a reference or
        what stands in the place of a secret (`${TOKEN}`, `<token>`, `***`).
        """
        while True:
            found = without_pairs(self.redact_text(text), self._names)
            if found == text:
                return text
            # Where something was replaced, what stands around it may have become a token.
            text = found

    # --- the quick look ----------------------------------------------------------------------------

    def _search(self, value: Any) -> Search | None:
        """Return the search for the secrets of a value; None where a quick look shows that it has none."""
        keys: list[Any] = []
        texts: list[str] = []
        try:
            _gather((value,), MAX_DEPTH + 1, keys, texts)
        except _TooDeep:
            return None
        try:
            joined = "\n".join(keys)
        except TypeError:
            keys = [key for key in keys if isinstance(key, str)]
            joined = "\n".join(keys)
        flat = plain(joined)
        named = not self._names.isdisjoint(flat.split("\n")) or (self._cards and cards.may_be_said(flat))
        hinted = self._hinted("\n".join((joined, *texts)))
        if not named and not any(shape.is_in(text) for shape, text in self._tries(hinted, texts, keys)):
            return None
        return Search(self._names, self._cards, self._shapes_of(hinted))

    def _hinted(self, text: str) -> list[str]:
        return [hint for hint in self._hints if hint in text]

    def _tries(self, hinted: list[str], texts: list[str], keys: list[str]) -> Iterator[tuple[Shape, str]]:
        for hint in hinted:
            for text in [text for text in texts if hint in text] + [key for key in keys if hint in key]:
                for shape in self._hints[hint]:
                    yield shape, text

    def _shapes_of(self, hinted: list[str]) -> tuple[Shape, ...]:
        # All of them and not only those that are in a text: a replaced token may make room for another.
        found = {shape.name for hint in hinted for shape in self._hints[hint]}
        return tuple(shape for shape in self.shapes if shape.name in found)


def rules_between(before: Any, after: Any) -> tuple[str, ...]:
    """Name the rules by which something of a JSON value was replaced: there are more of their marks since."""
    return tuple(sorted(_marks(after) - _marks(before)))


def _marks(value: Any) -> Counter[str]:
    keys: list[Any] = []
    texts: list[str] = []
    _gather((value,), MAX_DEPTH + 1, keys, texts)
    found = (MARKER.findall(text) for text in (*keys, *texts) if isinstance(text, str))
    return Counter(mark.removeprefix("[redacted:").removesuffix("]") for marks in found for mark in marks)


_CARDS = frozenset({plain("card_number")})


class _TooDeep(Exception):
    """Nested deeper than any record."""


def _gather(items: Collection[Any], depth: int, keys: list[Any], texts: list[str]) -> None:
    """Collect all keys and texts that are in some items, which nest at most `depth` levels with their own."""
    if not depth:
        raise _TooDeep
    for item in items:
        kind = type(item)
        # The kinds that JSON is read as come first: most are found without a look at their ancestors.
        if kind is str:
            texts.append(item)
        elif kind is int:
            continue
        elif isinstance(item, dict):
            keys += item
            _gather(item.values(), depth - 1, keys, texts)
        elif isinstance(item, list | tuple):
            _gather(item, depth - 1, keys, texts)
        elif isinstance(item, str):
            texts.append(item)
        elif kind is SecretRef:
            texts.append(item.name)
