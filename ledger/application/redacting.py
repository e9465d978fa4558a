"""What is said to a run without the secrets that are found in it.

A request that holds a secret can be refused; what happened cannot, so there the secret alone is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, get_type_hints

from ledger import commands as c
from ledger.canonical import canonical_text, load_text
from ledger.errors import InvalidInput
from ledger.values import CanonicalJson, ErrorSaid, Payload, Text

Redact = Callable[[Any, str], Any]
"""From a value, and what it is in words, to the value without the secrets that are found in it."""

_FOUND: Mapping[type[c.Command], tuple[str, ...]] = {
    c.CloseRun: ("result",),
    c.DischargeObligation: ("evidence",),
}
"""Of commands that are no reports, the fields that say what came about or was found."""

_IN_JSON = (CanonicalJson, CanonicalJson | None)
_SAID = (ErrorSaid, ErrorSaid | None, Payload, Payload | None, Text, Text | None)


def redacted(kind: type[c.Command], fields: Mapping[str, Any], redact: Redact) -> Mapping[str, Any]:
    """Leave the secrets out of the words and values of a report; the same mapping where there are none.

    A value that is named by its digest stays what it is. The same is always redacted alike, and what was
    redacted once is not changed again, so that a report told again is still a repeat.
    """
    changed: dict[str, Any] = {}
    for name, in_json in _looked_at(kind).items():
        given = fields.get(name)
        if given is None:
            continue
        kept = (_text_without if in_json else _without)(given, redact, f"{name} of {kind.name}")
        if kept is not given:
            changed[name] = kept
    return {**fields, **changed} if changed else fields


@cache
def _looked_at(kind: type[c.Command]) -> Mapping[str, bool]:
    """List the fields that are looked at; True: it is the text of a JSON value."""
    if not kind.report:
        return dict.fromkeys(_FOUND.get(kind, ()), False)
    hints = get_type_hints(kind, include_extras=True)
    names = [name for name in kind.model_fields if name == "external_ref" or hints[name] in _SAID + _IN_JSON]
    return {name: hints[name] in _IN_JSON for name in names}


def _without(given: Any, redact: Redact, what: str) -> Any:
    if isinstance(given, Payload):
        text = None if given.json_text is None else _text_without(given.json_text, redact, what)
        return given if text is given.json_text else Payload(json_text=text)
    if isinstance(given, ErrorSaid):
        said = redact(given.message, what)
        return given if said is given.message else given.with_fields({"message": said})
    return redact(given, what)


def _text_without(text: Any, redact: Redact, what: str) -> Any:
    try:
        value = load_text(text)
    except (InvalidInput, TypeError):
        return text  # it is told when the command is built
    kept = redact(value, what)
    return text if kept is value else canonical_text(kept)
