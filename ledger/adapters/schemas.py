"""JSON Schemas of the two closed unions, derived from the models, so that they never say anything else.

Each document is one JSON Schema (2020-12): `oneOf` holds a member per event or command, with its stable name
and version as constants and its content under `data`; `$defs` holds the values they share.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from pydantic.json_schema import models_json_schema

from ledger.commands import COMMAND_CLASSES, Command
from ledger.events import EVENT_CLASSES, Event

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def event_schemas() -> dict[str, Any]:
    """Describe every event as it stands in a record: an absent field means none, and null stands nowhere.

    A whole record is an instance, too: what surrounds `name`, `version` and `data` is not restricted here.
    """
    members, definitions = _members(EVENT_CLASSES)
    document = _document(
        "Events of Intent Ledger", "Facts in the past tense, as records hold them.", members, definitions
    )
    without_null: dict[str, Any] = _without_null(document)
    return without_null


def command_schemas() -> dict[str, Any]:
    """Describe every command, with what is known of it beside its fields.

    `x-report`: it says what already happened and is never refused for its content. `x-remedy`: it is admitted
    on a suspended or held run. `x-not-for-agents`: always, never, or for which values of fields.
    `x-stream`: what it speaks to, a run or a source.
    """
    members, definitions = _members(COMMAND_CLASSES)
    for member, kind in zip(members, COMMAND_CLASSES, strict=True):
        member |= {
            "x-not-for-agents": _not_for_agents(kind),
            "x-remedy": kind.remedy,
            "x-report": kind.report,
            "x-stream": kind.stream,
        }
    return _document(
        "Commands of Intent Ledger", "Requests, and reports of what happened.", members, definitions
    )


def _members(kinds: Iterable[type[Event] | type[Command]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    classes = tuple(kinds)
    places, shared = models_json_schema([(kind, "validation") for kind in classes])
    members = [
        {
            "title": kind.name,
            "description": inspect.getdoc(kind) or "",
            "type": "object",
            "properties": {
                "name": {"const": kind.name},
                "version": {"const": kind.version},
                "data": places[kind, "validation"],
            },
            "required": ["name", "version", "data"],
        }
        for kind in classes
    ]
    return members, shared["$defs"]


def _document(
    title: str, description: str, members: list[dict[str, Any]], definitions: dict[str, Any]
) -> dict[str, Any]:
    return {
        "$schema": DIALECT,
        "title": title,
        "description": description,
        "oneOf": members,
        "$defs": dict(sorted(definitions.items())),
    }


def _not_for_agents(kind: type[Command]) -> Any:
    if kind.not_for_agents is None:
        return "never"
    # A choice is stated as the text that stands for it.
    when = kind.not_for_agents.items()
    return {field: str(value) if isinstance(value, str) else value for field, value in when} or "always"


def _without_null(schema: Any) -> Any:
    """Take out the alternative null, and the default null that goes with it."""
    if isinstance(schema, list):
        return [_without_null(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: _without_null(inner) for name, inner in schema.items()}
    if {"type": "null"} in kept.get("anyOf", ()):
        some = [one for one in kept.pop("anyOf") if one != {"type": "null"}]
        kept.pop("default", None)
        # What stands beside the alternatives (a title, a description) speaks of the field and wins.
        return {**some[0], **kept} if len(some) == 1 else {**kept, "anyOf": some}
    return kept
