"""What tools take, as JSON Schema and read into commands: both from the models, so that they never differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel, ValidationError
from pydantic.json_schema import models_json_schema

from ledger.adapters.cli.field_words import FIELD_WORDS
from ledger.adapters.mcp.offered import Offer
from ledger.adapters.schemas import command_schemas
from ledger.canonical import canonical_text, invalid
from ledger.commands import Command
from ledger.errors import InvalidInput
from ledger.run.stated_rule import rule_of
from ledger.values import CanonicalJson, Payload, explain, no_such

Schema = dict[str, Any]
M = TypeVar("M", bound=BaseModel)

RUN: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "pattern": "^[^$]",
    "description": "Id of the run.",
}
CALL_ID: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": 100,
    "pattern": "^[A-Za-z0-9._-]+$",
    "description": "Your own name for this call. Where no answer came, call again with the same one: what "
    "was recorded the first time is told, and nothing is recorded twice.",
}


_WORDS = {**FIELD_WORDS, "at": "Position up to which it reads."}


def object_of(properties: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    """Describe an object that has these members and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": sorted(required),
        "additionalProperties": False,
    }


# --- commands --------------------------------------------------------------------------------------


def schema_of(offer: Offer, more: Mapping[str, Schema]) -> Schema:
    """Describe the arguments of the tool of a command; `more` are those that are no fields of it."""
    members, definitions = _commands()
    found = _inlined(members[offer.kind.name], definitions)
    properties = {name: _field(offer, name, found["properties"][name]) for name in offer.fields}
    required = [name for name in found.get("required", ()) if name in properties]
    return object_of({"run": RUN, **properties, **more}, ["run", *required])


def read_command(offer: Offer, given: Mapping[str, Any]) -> Command:
    """Build the command of a tool from arguments by the names of its fields; null is none given.

    Raises:
        InvalidInput: one is missing, unknown or malformed; `path` names it.
    """
    _refuse_unknown(given, offer.fields)
    fields = {name: value for name, value in given.items() if value is not None}
    if isinstance(fields.get("rule"), dict):
        fields["rule"] = rule_of(fields["rule"], "rule").model_dump(mode="json", exclude_none=True)
    for name in fields.keys() & in_json(offer.kind).keys():
        text = canonical_text(fields[name], path=name)
        fields[name] = {"json_text": text} if in_json(offer.kind)[name] else text
    command: Command = read(offer.kind, fields, offer.fields)
    return command


@cache
def _commands() -> tuple[dict[str, Schema], dict[str, Schema]]:
    document = command_schemas()
    members = {member["title"]: member["properties"]["data"] for member in document["oneOf"]}
    return members, document["$defs"]


def _field(offer: Offer, name: str, schema: Schema) -> Schema:
    if name in in_json(offer.kind):
        words = _WORDS.get(name) or schema["description"].replace(", as a JSON text", "")
        return {"description": f"{words} Any JSON value."}
    if name in offer.not_these and "enum" in schema:
        schema = {**schema, "enum": [one for one in schema["enum"] if one != offer.not_these[name]]}
    if name == "rule":
        schema = _with_plain_values(schema)
    words = schema.get("description") or _WORDS.get(name)
    return {**schema, "description": words} if words else schema


def _with_plain_values(rule: Schema) -> Schema:
    """Let what a rule compares with be any JSON value, as in documents, where the model holds its text."""
    members = dict(rule["properties"])
    for name in ("require", "when"):
        condition = members[name]["items"]
        value = {"description": "What to compare with; none for `present` and `absent`. Any JSON value."}
        items = {**condition, "properties": {**condition["properties"], "value": value}}
        members[name] = {**members[name], "items": items}
    return {**rule, "properties": members}


@cache
def in_json(kind: type[Command]) -> dict[str, bool]:
    """List the fields that take any JSON value here; True: as a payload, False: as its text."""
    hints = get_type_hints(kind, include_extras=True)
    as_text = (CanonicalJson, CanonicalJson | None)
    as_payload = (Payload, Payload | None)
    return {
        name: hints[name] in as_payload
        for name in kind.model_fields
        if hints[name] in as_payload or hints[name] in as_text
    }


# --- models of our own -----------------------------------------------------------------------------


@cache
def schema_of_model(kind: type[BaseModel]) -> Schema:
    """Describe the arguments of a tool that reads."""
    _, shared = models_json_schema([(kind, "validation")])
    found = _inlined(shared["$defs"][kind.__name__], shared["$defs"])
    return object_of(found["properties"], found.get("required", ()))


def read_model(kind: type[M], given: Mapping[str, Any]) -> M:
    """Read the arguments of a tool that reads.

    Raises:
        InvalidInput: one is missing, unknown or malformed; `path` names it.
    """
    _refuse_unknown(given, kind.model_fields)
    return read(kind, {name: value for name, value in given.items() if value is not None}, kind.model_fields)


def read(kind: type[M], fields: Mapping[str, Any], known: Iterable[str]) -> M:
    """Read a model from JSON values.

    Raises:
        InvalidInput: they are none, or do not fit; `path` says where.
    """
    missing = [
        name for name, field in kind.model_fields.items() if field.is_required() and name not in fields
    ]
    if len(missing) > 1:
        raise invalid(missing[0], f"it is missing, and so are: {', '.join(missing[1:])}")
    try:
        # As JSON: a time is a text there, and a list a tuple; but a number is none that is written as a text.
        text = json.dumps(fields, allow_nan=False, ensure_ascii=False).encode()
        return kind.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise explain(error, known=known) from None
    except InvalidInput:
        raise
    except UnicodeEncodeError:
        raise invalid("arguments", "a lone surrogate is not Unicode text") from None
    except (ValueError, TypeError, RecursionError):
        raise invalid("arguments", "they are no JSON object, or one that is nested too deeply") from None


def _refuse_unknown(given: Mapping[str, Any], known: Iterable[str]) -> None:
    names = tuple(known)
    for name in given:
        if name not in names:
            raise invalid(f"{name:.60}", no_such("argument", name, names))


# --- schemas that stand alone ----------------------------------------------------------------------


def _inlined(schema: Any, definitions: Mapping[str, Schema]) -> Any:
    """Put what is referred to in its place, since not every client follows references; null is left out."""
    if isinstance(schema, list):
        return [_inlined(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        rest = {name: value for name, value in schema.items() if name != "$ref"}
        return _inlined({**definitions[schema["$ref"].rpartition("/")[2]], **rest}, definitions)
    found = {name: _members(name, inner, definitions) for name, inner in schema.items() if name != "title"}
    if found.get("default") in ([], False, None):
        found.pop("default", None)  # it is what is not said
    some = [one for one in found.get("anyOf", ()) if one != {"type": "null"}]
    if len(some) < len(found.get("anyOf", ())):
        del found["anyOf"]
        return {**some[0], **found} if len(some) == 1 else {**found, "anyOf": some}
    return found


def _members(name: str, inner: Any, definitions: Mapping[str, Schema]) -> Any:
    if name in {"properties", "patternProperties"}:
        # A field may be called as a word of JSON Schema is.
        return {field: _inlined(schema, definitions) for field, schema in inner.items()}
    return inner if name in {"enum", "const", "default", "required"} else _inlined(inner, definitions)
