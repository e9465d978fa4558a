"""What a function says of itself: the types of its parameters and of its result, and what it holds."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import partial
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter

from ledger.canonical import invalid
from ledger.gateway.answers import Outcome


def hints_of(function: Callable[..., Any], found: inspect.Signature) -> dict[str, Any]:
    """Read annotations; each that cannot be resolved here says nothing."""
    annotations = {name: parameter.annotation for name, parameter in found.parameters.items()}
    annotations["return"] = found.return_annotation
    hints: dict[str, Any] = {}
    for name, annotation in annotations.items():
        if annotation is inspect.Signature.empty:
            continue
        holder = SimpleNamespace(__annotations__={name: annotation})
        try:
            hints |= get_type_hints(holder, globalns=_names_of(function), include_extras=True)
        except Exception:  # noqa: BLE001  names that exist for type checkers only
            continue
    return hints


def held_by(function: Any) -> frozenset[str]:
    """Return the names of the arguments that a `partial` holds."""
    held: set[str] = set()
    while isinstance(function, partial):
        held |= function.keywords.keys()
        function = function.func
    return frozenset(held)


def _names_of(function: Any) -> dict[str, Any]:
    """Return the names among which the annotations of a function were written."""
    while isinstance(function, partial):
        function = function.func
    function = inspect.unwrap(function)
    if isinstance(function, type):
        return dict(vars(sys.modules[function.__module__]))
    if not inspect.isroutine(function):
        function = inspect.unwrap(type(function).__call__)
    names: dict[str, Any] = getattr(getattr(function, "__func__", function), "__globals__", {})
    return names


def shape_of(adapter: TypeAdapter[Any] | None, tool: str, name: str) -> Any:
    """Return the JSON Schema of a parameter; None where any JSON value will do.

    Raises:
        InvalidInput: its type is none that JSON could be of.
    """
    if adapter is None:
        return None
    try:
        return adapter.json_schema()
    except PydanticUserError:
        raise invalid("function", f"the type of {name!r} of {tool!r} is none that JSON can be of") from None


def adapter_of(hint: Any, tool: str, name: str) -> TypeAdapter[Any] | None:
    """Return what checks a parameter; None where any JSON value will do.

    Raises:
        InvalidInput: its type cannot be checked.
    """
    if hint is Any:
        return None
    try:
        return TypeAdapter(hint)
    except (PydanticUserError, PydanticUndefinedAnnotation):
        reason = f"the type of {name!r} of {tool!r} cannot be checked: {hint!r:.80}"
        raise invalid("function", reason) from None


def said_of_result(hint: Any) -> Any:
    """Return what a result is said to be; that of an `Outcome`, which is recorded alone, may be anything."""
    if hint is Outcome:
        return Any
    if get_origin(hint) not in (Union, UnionType) or Outcome not in get_args(hint):
        return hint
    others = tuple(one for one in get_args(hint) if one is not Outcome)
    return Any if others == (NoneType,) else Union[others]  # noqa: UP007  of a tuple


def adapter_of_result(hint: Any) -> TypeAdapter[Any] | None:
    """Return what reads a result; None where its type cannot be checked."""
    try:
        return TypeAdapter(hint)
    except (PydanticUserError, PydanticUndefinedAnnotation):
        return None
