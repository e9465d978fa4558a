"""Where a secret stands in a value, and the same value without its secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ledger.secrets import cards
from ledger.secrets.names import plain
from ledger.secrets.shapes import MARKER, PLACEHOLDER, Shape, marker
from ledger.values import SecretRef

NAME_RULE = "name"


class Found(NamedTuple):
    """Where a secret stands, e.g. `args.headers.authorization`, and by which rule it was found.

    `rule` is `name` where the name of the field says so, `card-number`, or the name of a shape: `stripe-key`.
    Nothing in it shows any of the secret.
    """

    path: str
    rule: str
    field: str | None = None
    """The field that holds the secret; None where it stands in a key, or in no field."""
    in_key: bool = False

    @property
    def hint(self) -> str:
        """Say what to give instead."""
        if self.in_key:
            return "a key cannot hold a secret; move it into a value, as SecretRef('NAME')"
        return f"give SecretRef({self.field or 'NAME'!r}), which is resolved inside the tool, not the secret"


class _Place(NamedTuple):
    """What the names around a value say of it."""

    field: str | None = None
    is_secret: bool = False
    in_card: bool = False


_NOWHERE = _Place()


@dataclass(frozen=True, slots=True)
class Search:
    """The rules that apply to one value: names as they are compared, whether fields that say card count,
    and the shapes of which a hint is somewhere in the value.
    """

    names: frozenset[str]
    cards: bool
    shapes: tuple[Shape, ...]

    def _judged(self, text: str, place: _Place) -> tuple[str, str] | None:
        """Return the rule by which a text holds a secret, and the text without it."""
        if place.is_secret and _says_something(text):
            return NAME_RULE, marker(NAME_RULE)
        rule = None
        if place.in_card:
            redacted = cards.redacted(text)
            if redacted != text:
                rule, text = cards.RULE, redacted
        for shape in self.shapes:
            if shape.may_be_in(text):
                redacted = shape.redacted(text)
                if redacted != text:
                    rule, text = rule or shape.name, redacted
        return None if rule is None else (rule, text)

    def without_tokens(self, text: str) -> str:
        """Return a text with each token that is known by its shape replaced."""
        judged = self._judged(text, _NOWHERE)
        return text if judged is None else judged[1]

    def _placed(self, key: Any, around: _Place) -> _Place:
        if not isinstance(key, str):
            return _Place(None, False, around.in_card)
        return _Place(key, plain(key) in self.names, self.cards and cards.says_card(key, around.in_card))

    # --- where -------------------------------------------------------------------------------------

    def found(self, value: Any, path: str, place: _Place = _NOWHERE) -> Iterator[Found]:
        """Yield where secrets stand in a value, in its order."""
        if isinstance(value, str):
            judged = self._judged(value, place)
            if judged is not None:
                yield Found(path, judged[0], place.field)
        elif isinstance(value, SecretRef):
            yield from self.found(value.name, path, _Place(place.field))
        elif isinstance(value, dict):
            for key, item in value.items():
                judged = self._judged(key, _NOWHERE) if isinstance(key, str) else None
                if judged is not None:
                    yield Found(f"{path}.{judged[1]}", judged[0], in_key=True)
                yield from self.found(item, f"{path}.{key}", self._placed(key, place))
        elif isinstance(value, list | tuple):
            for index, item in enumerate(value):
                yield from self.found(item, f"{path}[{index}]", place)
        elif place.in_card and cards.is_number(value):
            yield Found(path, cards.RULE, place.field)

    # --- without -----------------------------------------------------------------------------------

    def redacted(self, value: Any, place: _Place = _NOWHERE) -> Any:
        """Return the value without its secrets; the same object where it has none."""
        if isinstance(value, str):
            judged = self._judged(value, place)
            return value if judged is None else judged[1]
        if isinstance(value, SecretRef):
            name = self.without_tokens(value.name)
            return value if name == value.name else name
        if isinstance(value, dict):
            items = {key: self.redacted(item, self._placed(key, place)) for key, item in value.items()}
            names = self._new_keys(value)
            if not names and all(items[key] is item for key, item in value.items()):
                return value
            return {names.get(key, key): item for key, item in items.items()}
        if isinstance(value, list | tuple):
            new = [self.redacted(item, place) for item in value]
            if all(one is other for one, other in zip(new, value, strict=True)):
                return value
            return new if isinstance(value, list) else tuple(new)
        return marker(cards.RULE) if place.in_card and cards.is_number(value) else value

    def _new_keys(self, members: Mapping[Any, Any]) -> dict[str, str]:
        """Name the keys that hold secrets anew, each in one way whatever their order."""
        redacted = {key: self.without_tokens(key) for key in members if isinstance(key, str)}
        taken = {new for key, new in redacted.items() if new == key}
        names: dict[str, str] = {}
        counts: dict[str, int] = {}
        for key in sorted(key for key, new in redacted.items() if new != key):
            name = base = redacted[key]
            while name in taken:
                counts[base] = counts.get(base, 1) + 1
                name = f"{base} {counts[base]}"
            taken.add(name)
            names[key] = name
        return names


_MASK = " \t\r\n*•●…"


def _says_something(text: str) -> bool:
    said = text.strip(_MASK)
    return bool(said) and not MARKER.fullmatch(text) and not PLACEHOLDER.fullmatch(said)
