"""Secrets in what is said, which are kept as redacted: who said it is told of which field, and never what."""

from __future__ import annotations

from typing import Any, TypeVar

from ledger.adapters.mcp.schemas import Schema, object_of
from ledger.application.redacting import redacted, without_secrets
from ledger.canonical import canonical_text, load_text
from ledger.commands import Command, RecordMessage, SummariseMessages
from ledger.secrets import Secrets
from ledger.secrets.policy import rules_between
from ledger.values import Payload

C = TypeVar("C", bound=Command)

_FIELD: dict[str, Schema] = {
    "field": {"type": "string"},
    "rules": {"type": "array", "items": {"type": "string"}, "description": "What it was taken for."},
}
REDACTED: Schema = {
    "type": "array",
    "description": "Fields in which a secret was found and replaced: it is recorded without; keep it out.",
    "items": object_of(_FIELD, _FIELD),
}
"""What is told of the secrets that were replaced; left out where there were none."""


def hushed(command: C, run: str, secrets: Secrets) -> tuple[C, list[dict[str, Any]]]:
    """Return a command as it is kept, and the fields that differ from what was said."""
    said = command.__dict__

    def redact(value: Any, what: str) -> Any:
        return without_secrets(secrets, value, f"{what} of {run!r}")

    kept = dict(redacted(type(command), said, redact))
    if isinstance(command, RecordMessage | SummariseMessages) and command.content.json_text is not None:
        value = load_text(command.content.json_text)
        without = redact(value, f"content of {command.name}")
        if without is not value:
            kept["content"] = Payload(json_text=canonical_text(without))
    changed = {name: value for name, value in kept.items() if value is not said[name]}
    if not changed:
        return command, []
    without_any = command.with_fields(changed)
    before, after = (one.model_dump(mode="json") for one in (command, without_any))
    told = [{"field": one, "rules": [*rules_between(before[one], after[one])]} for one in sorted(changed)]
    return without_any, told


def in_words(told: list[dict[str, Any]]) -> str:
    """Say which secrets were replaced; nothing where there were none."""
    if not told:
        return ""
    fields = ", ".join(f"{one['field']} ({', '.join(one['rules'])})" for one in told)
    return f" A secret was found and is recorded as [redacted:…]: in {fields}. Do not say it again."
