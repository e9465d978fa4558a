"""JSON Schemas of the two closed unions, derived from the models, so that they never say anything else.

Each document is one JSON Schema (2020-12): `oneOf` holds a member per event or command, with its stable name
and version as constants and its content under `data`; `$defs` holds the values they share.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from ledger import values
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
    for name, words in _words_of_fields(classes).items():
        fields = shared["$defs"].get(name, {}).get("properties", {})
        for field in words.keys() & fields.keys():
            fields[field]["description"] = words[field]
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


def _words_of_fields(kinds: Iterable[type[BaseModel]]) -> dict[str, dict[str, str]]:
    """Find the docstrings below fields, by class: of these models' modules, and of the values they hold.

    They are read from the source when they are asked for; pydantic would read it with every import.
    """
    modules = {
        kind.__module__
        for kind in (*kinds, *map(partial(getattr, values), values.__all__))
        if inspect.isclass(kind)
    }
    found: dict[str, dict[str, str]] = {}
    for module in sorted(modules):
        for node in ast.parse(inspect.getsource(sys.modules[module])).body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = dict(_below_fields(node.body))
    for kind in kinds:
        inherited = (found.get(base.__name__, {}) for base in reversed(kind.__mro__))
        found[kind.__name__] = {field: text for words in inherited for field, text in words.items()}
    return found


def _below_fields(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for above, below in pairwise(body):
        if (
            isinstance(above, ast.AnnAssign)
            and isinstance(above.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        ):
            yield above.target.id, " ".join(below.value.value.split())


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
