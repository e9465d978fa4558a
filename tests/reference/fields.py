"""What the fields of a value are, as its source declares them: kind, default, and the words below it."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from itertools import pairwise
from typing import Any, NamedTuple

from pydantic import BaseModel

from ledger.values import Actor, Value
from tests.reference.words import oneline, table

REQUIRED: Any = inspect.Parameter.empty


class Field(NamedTuple):
    """A field of a value."""

    name: str
    said: str
    """Its kind, as the source writes it before aliases are resolved."""
    default: Any
    """`REQUIRED` where it has none."""
    words: str

    def may_be_left_out(self) -> bool:
        """Tell whether it has a default."""
        return self.default is not REQUIRED

    def may_be_none(self) -> bool:
        """Tell whether it can be None or empty."""
        return self.said.endswith("| None") or self.default == ()

    @property
    def kind(self) -> str:
        """Its kind in plain words; that it may be None is said elsewhere."""
        return plain(self.said.removesuffix(" | None"))


def fields(kind: type) -> list[Field]:
    """List the fields of a model, a named tuple or a dataclass in their order."""
    said: dict[str, str] = {}
    words: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base not in (Value, BaseModel, object, tuple) and base.__module__.startswith("ledger."):
            stated = _stated(base)
            said.update(stated_kinds(stated.body))
            words.update(with_words(stated.body))
    return [
        Field(name, said[name], default, words.get(name, "")) for name, default in _defaults(kind).items()
    ]


def _defaults(kind: type) -> dict[str, Any]:
    if issubclass(kind, BaseModel):
        return {
            name: REQUIRED if field.is_required() else field.get_default(call_default_factory=True)
            for name, field in kind.model_fields.items()
        }
    if dataclasses.is_dataclass(kind):
        return {field.name: _default(field) for field in dataclasses.fields(kind) if field.init}
    names: tuple[str, ...] = vars(kind)["_fields"]
    return {name: vars(kind)["_field_defaults"].get(name, REQUIRED) for name in names}


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return REQUIRED if field.default is dataclasses.MISSING else field.default


def _stated(kind: type) -> ast.ClassDef:
    (stated,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(stated, ast.ClassDef)
    return stated


def stated_kinds(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Read the annotations of assignments, as the source writes them."""
    for statement in body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, ast.unparse(statement.annotation)


def with_words(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Read the words below assignments, which Python does not keep."""
    for statement, below in pairwise(body):
        targets = (
            statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        )
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            yield from (
                (one.id, oneline(str(below.value.value))) for one in targets if isinstance(one, ast.Name)
            )


def plain(said: str) -> str:
    """Say a kind in plain words where Python's are long."""
    said = re.sub(r"^Annotated\[(.+?), (Field|StringConstraints)\(.*\)\]$", r"\1", said)
    said = re.sub(r"^tuple\[(.+), \.\.\.\]$", r"list of \1", said)
    said = re.sub(r"^list of tuple\[(.+)\]$", r"list of (\1)", said)
    return re.sub(r"Literal\[(.*)\]", lambda found: " or ".join(_choices(found[1])), said)


def _choices(said: str) -> list[str]:
    # A member of an enumeration is written as its value, which is its name in small letters.
    return [word.lower() for word in re.findall(r"(?:\w+\.)?(\w+)", said)]


def facts(declared: Iterable[Field], in_italics: Callable[[Field], bool]) -> Iterator[str]:
    """Write the fields of what is recorded or returned."""
    rows = [
        (f"*`{field.name}`*" if in_italics(field) else f"`{field.name}`", field.kind, field.words)
        for field in declared
    ]
    if rows:
        yield table(("Field", "Kind", "Meaning"), rows)


def inputs(declared: Iterable[Field]) -> Iterator[str]:
    """Write the fields of what callers build, with what each is where it is left out."""
    rows = [
        (
            f"`{field.name}`",
            field.kind,
            "required" if field.default is REQUIRED else f"`{shown(field.default)}`",
            field.words,
        )
        for field in declared
    ]
    if rows:
        yield table(("Field", "Kind", "Default", "Meaning"), rows)


def shown(default: object) -> str:
    """Write a default as a program would."""
    if isinstance(default, Enum):
        return f"{type(default).__name__}.{default.name}"
    if isinstance(default, str):
        return f'"{default}"'
    if isinstance(default, tuple) and default:
        return f"({', '.join(map(shown, default))}{',' if len(default) == 1 else ''})"
    if isinstance(default, Actor):
        return f'Actor("{default.id}")'
    return getattr(default, "__name__", None) or repr(default)
