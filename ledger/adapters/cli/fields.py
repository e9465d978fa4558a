"""The fields of a command as options, and what somebody typed there as values, both from its schema.

Text stands as it is. What holds several values is given once for each. An object is one JSON object, or
`KEY=VALUE` once for each of its members; of a point in a source `KIND:NAME` names two of them, and others may
follow; a payload is any JSON value.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Annotated, Any, NamedTuple

import typer

from ledger.adapters.cli.field_words import FIELD_WORDS
from ledger.adapters.schemas import command_schemas
from ledger.canonical import canonical_text, invalid, load_text
from ledger.run.stated_rule import rule_of

_POINTER = frozenset({"kind", "name", "revision"})
"""Members of a point in a source."""


class Field(NamedTuple):
    """A field of a command."""

    name: str
    shape: str
    """`text`, `number`, `flag`, `list`, `objects`, `object` or `json`."""
    required: bool
    words: str
    """What may be given, for its help."""
    is_time: bool = False
    """It is a moment, written as text."""
    least: int | None = None
    """Of a number, the smallest."""
    choices: tuple[str, ...] = ()
    """Of a text, all that may be given; none: any may."""
    members: frozenset[str] = frozenset()
    """Of an object, its members."""

    @property
    def metavar(self) -> str | None:
        """What stands for the value in the help."""
        return {
            "text": "TIME" if self.is_time else "TEXT",
            "number": "N",
            "flag": None,
            "list": "TEXT",
            "objects": "JSON",
            "object": "KIND:NAME|KEY=VALUE|JSON" if self.members >= _POINTER else "KEY=VALUE|JSON",
            "json": "JSON",
        }[self.shape]


@cache
def _schemas() -> tuple[dict[str, Any], dict[str, Any]]:
    document = command_schemas()
    return {member["title"]: member for member in document["oneOf"]}, document["$defs"]


def words_of(command: str) -> str:
    """Return what a command is for."""
    return str(_schemas()[0][command]["description"])


@cache
def fields_of(command: str) -> tuple[Field, ...]:
    """List the fields of a command, those that are required first."""
    members, definitions = _schemas()
    schema = _resolved(members[command]["properties"]["data"], definitions)
    required = set(schema.get("required", ()))
    found = [
        Field(
            name,
            _shape(part, definitions),
            name in required,
            _words(name, part, definitions),
            _resolved(part, definitions).get("format") == "date-time",
            _resolved(part, definitions).get("minimum"),
            tuple(map(str, _resolved(part, definitions).get("enum", ()))),
            frozenset(_resolved(part, definitions).get("properties", ())),
        )
        for name, part in schema["properties"].items()
    ]
    return tuple(sorted(found, key=lambda field: not field.required))


def _resolved(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Follow a reference; of something that may be absent take what it is where it is not."""
    for part in schema.get("anyOf", ()):
        if part.get("type") != "null":
            return _resolved(part, definitions)
    name = schema.get("$ref")
    return schema if name is None else dict(definitions[name.rpartition("/")[2]])


def _shape(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    found = _resolved(schema, definitions)
    if "json_text" in found.get("properties", ()):
        return "json"
    kind = found.get("type")
    if kind == "array":
        inner = _resolved(found["items"], definitions)
        return "objects" if inner.get("type") == "object" else "list"
    return {"boolean": "flag", "integer": "number", "object": "object"}.get(str(kind), "text")


def _words(name: str, schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    found = _resolved(schema, definitions)
    inner = _resolved(found["items"], definitions) if found.get("type") == "array" else found
    said = [schema.get("description") or FIELD_WORDS.get(name, "")]
    if "enum" in inner:
        said.append(f"One of {', '.join(map(str, inner['enum']))}.")
    elif inner.get("type") == "object" and inner.get("properties"):
        if "json_text" not in inner["properties"]:
            said.append(f"Members: {', '.join(inner['properties'])}.")
    elif inner.get("format") == "date-time":
        said.append("A time with a zone.")
    elif str(inner.get("pattern", "")).startswith("^[a-z]"):
        said.append("KIND:NAME.")
    if found.get("type") == "array":
        said.append("Repeatable.")
    return " ".join(filter(None, said))


def parameter_of(field: Field, *, option: str, required: bool) -> inspect.Parameter:
    """Describe a field as a parameter of a command line."""
    words = typer.Option(option, metavar=field.metavar, help=field.words, show_default=False)
    kind: Any = str
    default: Any = inspect.Parameter.empty if required else None
    if field.shape == "flag":
        kind, default = bool, False
    elif field.shape in {"list", "object", "objects"}:
        kind = list[str]
    if not required and field.shape != "flag":
        kind = kind | None
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, words]
    )


def value_of(field: Field, given: Any, *, option: str) -> Any:
    """Read what was typed.

    Raises:
        InvalidInput: it is no JSON, pair, number, time or one of a choice, where that is needed.
    """
    if field.is_time:
        return _time(given, option)
    if field.shape == "number":
        return _number(field, given, option)
    if field.choices and given not in field.choices:
        raise invalid(option, f"{given!r:.60} is none of {', '.join(field.choices)}")
    if field.shape == "json":
        return {"json_text": canonical_text(load_text(given, path=option), path=option)}
    if field.shape == "objects":
        return [load_text(one, path=option) for one in given]
    if field.shape == "object":
        members = _with_kind_and_name(given) if field.members >= _POINTER else given
        found = read_object(members, option=option)
        return rule_of(found, option) if field.name == "rule" else found
    return given


def _with_kind_and_name(given: Sequence[str]) -> list[str]:
    """Write `KIND:NAME` as the two members that it names; a name may hold any character, also `=` or `@`."""
    first, *more = given
    kind, colon, name = first.partition(":")
    if not colon or "=" in kind or first.lstrip().startswith("{"):
        return list(given)
    return [f"kind={kind}", f"name={name}", *more]


def _number(field: Field, given: str, option: str) -> int:
    """Read a whole number.

    Raises:
        InvalidInput: it is none, or less than there may be.
    """
    if not (given.isascii() and given.removeprefix("-").isdigit()):
        raise invalid(option, f"{given!r:.60} is no whole number")
    number = int(given)
    if field.least is not None and number < field.least:
        raise invalid(option, f"{number} is less than {field.least}")
    return number


def _time(given: str, option: str) -> datetime:
    """Read a moment in the words of a command line.

    Raises:
        InvalidInput: it is none, or nobody knows in which zone.
    """
    from ledger.values import utc

    try:
        return utc(datetime.fromisoformat(given))
    except (ValueError, OverflowError):
        raise invalid(option, f"{given!r:.60} is no time with a zone, as 2026-01-31T09:15:00Z") from None


def read_object(given: Sequence[str], *, option: str) -> Mapping[str, Any]:
    """Read one JSON object, or pairs `KEY=VALUE` that make one.

    Raises:
        InvalidInput: it is neither, or a key stands twice.
    """
    if len(given) == 1 and given[0].lstrip().startswith("{"):
        found = load_text(given[0], path=option)
        assert isinstance(found, dict)
        return found
    pairs: dict[str, str] = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals or not key:
            raise invalid(option, f"{one!r:.80} is neither KEY=VALUE nor a JSON object")
        if key in pairs:
            raise invalid(option, f"{key} is given twice")
        pairs[key] = value
    return pairs
