"""A small validator for the part of JSON Schema 2020-12 that our schemas use; anything else is an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
_SAID = {"$schema", "$defs", "title", "description", "default", "format"}
_CHECKED = {
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "enum",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "oneOf",
    "pattern",
    "patternProperties",
    "properties",
    "propertyNames",
    "required",
    "type",
}


def faults(value: Any, schema: dict[str, Any], root: dict[str, Any], path: str = "$") -> Iterator[str]:
    """Yield what in a value breaks a schema.

    Raises:
        LookupError: the schema uses a keyword that is not handled here.
    """
    strange = {name for name in schema if not name.startswith("x-")} - _SAID - _CHECKED
    if strange:
        raise LookupError(f"{path}: {sorted(strange)}")
    if "$ref" in schema:
        yield from faults(value, resolve(schema["$ref"], root), root, path)
    for keyword, fewest, most in (("anyOf", 1, 99), ("oneOf", 1, 1)):
        if keyword in schema:
            matching = [one for one in schema[keyword] if not any(faults(value, one, root, path))]
            if not fewest <= len(matching) <= most:
                yield f"{path}: {len(matching)} of {keyword} match"
    if "const" in schema and (value != schema["const"] or type(value) is not type(schema["const"])):
        yield f"{path}: not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: not one of {schema['enum']}"
    if "type" in schema and type(value) not in _TYPES[schema["type"]]:
        yield f"{path}: no {schema['type']}"
        return
    yield from _scalar(value, schema, path)
    if type(value) is list:
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{path}: too few or too many"
        for index, item in enumerate(value):
            yield from faults(item, schema.get("items", {}), root, f"{path}[{index}]")
    if type(value) is dict:
        yield from _object(value, schema, root, path)


def resolve(ref: str, root: dict[str, Any]) -> dict[str, Any]:
    """Find a definition."""
    found: dict[str, Any] = root["$defs"][ref.removeprefix("#/$defs/")]
    return found


def _scalar(value: Any, schema: dict[str, Any], path: str) -> Iterator[str]:
    if type(value) is str:
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            yield f"{path}: its length"
        # In JSON Schema `$` is the end and nothing else; in Python it is also before a last newline.
        if "pattern" in schema and not re.search(re.sub(r"\$$", r"\\Z", schema["pattern"]), value):
            yield f"{path}: not {schema['pattern']}"
    if type(value) is int and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{path}: out of bounds"


def _object(value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], path: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    yield from (f"{path}: no {name}" for name in schema.get("required", ()) if name not in value)
    for name, inner in value.items():
        if "propertyNames" in schema:
            yield from faults(name, schema["propertyNames"], root, f"{path} name")
        matching = [sub for pattern, sub in patterns.items() if re.search(pattern, name)]
        if name in properties:
            matching.append(properties[name])
        if not matching:
            others = schema.get("additionalProperties", True)
            if others is False:
                yield f"{path}: {name} is not known"
            elif isinstance(others, dict):
                matching.append(others)
        for sub in matching:
            yield from faults(inner, sub, root, f"{path}.{name}")
