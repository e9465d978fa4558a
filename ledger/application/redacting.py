"""What is said to a run without the secrets that are found in it.

The words of people and agents, and what is reported, are stored for ever: in them the secret alone is left
out. Nothing is refused for it: what happened cannot be, and a wish or a reason is worth as much without.
Where the exact words count, a secret in them is refused: in arguments, which keys are made of, in the
words of constraints, which are compared with what their source says, and in labels, which runs are found by.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from ledger import commands as c
from ledger.application.mending import MAX_TEXT_LENGTH
from ledger.canonical import canonical_text, load_text
from ledger.errors import InvalidInput
from ledger.secrets import Secrets
from ledger.secrets.policy import rules_between
from ledger.values import CanonicalJson, ErrorSaid, Payload, Step, Text

log = logging.getLogger("ledger")

Redact = Callable[[Any, str], Any]
"""From a value, and what it is in words, to the value without the secrets that are found in it."""

_FOUND: Mapping[type[c.Command], tuple[str, ...]] = {c.CloseRun: ("result",)}
"""Of commands that are no reports, the fields that hold what came about."""

EXACT: Mapping[type[c.Command], tuple[str, ...]] = {
    c.AcceptConstraint: ("text", "rule"),
    c.ClaimEffect: ("args", "args_in_full", "given", "occurrence", "repeat_reason", "resource", "step"),
    c.OpenChild: ("labels",),
    c.OpenRun: ("labels",),
    c.PublishRevision: ("constraints",),
}
"""Fields whose exact words count, so that none of them is left out."""

_IN_JSON = (CanonicalJson, CanonicalJson | None)
_WORDS = (Text, Text | None)
_SAID = (ErrorSaid, ErrorSaid | None, Payload, Payload | None, *_WORDS)
_STEPS = tuple[Step, ...]


def without_secrets(secrets: Secrets, content: Any, what: str) -> Any:
    """Replace the secrets in a value, which the log `ledger` warns of; `what` says what it is.

    A text by itself is words, where a secret is known by the name in front of it, too.
    """
    kept = secrets.redact_words(content) if isinstance(content, str) else secrets.redact(content)
    if kept is not content:
        rules = ", ".join(rules_between(content, kept))
        log.warning("a secret (%s) in %s is kept as redacted", rules, what)
    return kept


def redacted(kind: type[c.Command], fields: Mapping[str, Any], redact: Redact) -> Mapping[str, Any]:
    """Leave the secrets out of the words of a command, and of what a report says.

    The same mapping is returned where there are none.

    A value that is named by its digest stays what it is. The same is always redacted alike, and what was
    redacted once is not changed again, so that a report told again is still a repeat. Words of a request that
    are too long only for what stands in the place of a secret are cut.
    """
    changed: dict[str, Any] = {}
    for name, in_json in _looked_at(kind).items():
        given = fields.get(name)
        if given is None:
            continue
        what = f"{name} of {kind.name}"
        if name == "external_ref":
            kept = value_without(given, redact, what)
        else:
            kept = (_text_without if in_json else _without)(given, redact, what)
        if not kind.report:
            kept = _fitting(kept, given)
        if kept is not given:
            changed[name] = kept
    return {**fields, **changed} if changed else fields


def value_without(value: Any, redact: Redact, what: str) -> Any:
    """Leave the secrets out of what a program reads again; a text by itself is no words there."""
    if not isinstance(value, str):
        return redact(value, what)
    (kept,) = redact((value,), what)
    return kept


@cache
def _looked_at(kind: type[c.Command]) -> Mapping[str, bool]:
    """List the fields that are looked at; True: it is the text of a JSON value."""
    hints = get_type_hints(kind, include_extras=True)
    if not kind.report:
        exact = EXACT.get(kind, ())
        words = [name for name in kind.model_fields if _is_of_words(hints[name]) and name not in exact]
        return dict.fromkeys((*words, *_FOUND.get(kind, ())), False)
    names = [name for name in kind.model_fields if name == "external_ref" or hints[name] in _SAID + _IN_JSON]
    return {name: hints[name] in _IN_JSON for name in names}


def _is_of_words(hint: Any) -> bool:
    if get_origin(hint) is Annotated and hint != Text:
        hint = get_args(hint)[0]  # the type of a field alone, and not how many of it there may be
    return hint in _WORDS or hint == _STEPS


def _without(given: Any, redact: Redact, what: str) -> Any:
    if isinstance(given, Payload):
        text = None if given.json_text is None else _text_without(given.json_text, redact, what)
        return given if text is given.json_text else Payload(json_text=text)
    if isinstance(given, ErrorSaid):
        said = _fitting(redact(given.message, what), given.message)
        return given if said is given.message else given.with_fields({"message": said})
    if isinstance(given, list | tuple):
        steps = [_step(one, redact, what) for one in given]
        return given if all(one is old for one, old in zip(steps, given, strict=True)) else tuple(steps)
    return redact(given, what)


def _fitting(kept: Any, given: Any) -> Any:
    """Cut words that became too long for a record; those of a report are mended, where they have a field."""
    if isinstance(kept, str) and isinstance(given, str) and len(given) <= MAX_TEXT_LENGTH < len(kept):
        return kept[: MAX_TEXT_LENGTH - 1] + "…"
    return kept


def _step(given: Any, redact: Redact, what: str) -> Any:
    if not isinstance(given, Step) or given.description is None:
        return given
    said = _fitting(redact(given.description, what), given.description)
    return given if said is given.description else given.with_fields({"description": said})


def _text_without(text: Any, redact: Redact, what: str) -> Any:
    try:
        value = load_text(text)
    except (InvalidInput, TypeError):
        return text  # it is told when the command is built
    kept = value_without(value, redact, what)
    return text if kept is value else canonical_text(kept)
