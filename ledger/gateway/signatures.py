"""Signatures: what arguments a function takes, checked and written as JSON before it is called."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import PydanticSchemaGenerationError, PydanticUndefinedAnnotation, TypeAdapter, ValidationError

from ledger.canonical import canonical_text, invalid
from ledger.gateway.answers import Outcome
from ledger.values import explain, tag_secrets


@dataclass(frozen=True)
class Bound:
    """Arguments that fit a signature."""

    values: Mapping[str, Any]
    """What the function is called with."""
    text: str
    """The same as canonical JSON, defaults included: what key and record are made of."""


@dataclass(frozen=True)
class Signature:
    """The parameters of a function, and what it returns."""

    tool: str
    parameters: Mapping[str, TypeAdapter[Any] | None]
    """By name; None: any JSON value."""
    defaults: Mapping[str, Any]
    extra: bool
    """It takes arguments of any other name."""
    wants_effect: bool
    """It has a keyword-only parameter `effect`."""
    result: TypeAdapter[Any] | None
    """How to read its result from JSON again; None where it does not say what it returns."""

    @classmethod
    def of(cls, function: Callable[..., Any], tool: str) -> Signature:
        """Read the signature of a function.

        Raises:
            InvalidInput: a parameter can only be given by place, or its type cannot be checked.
        """
        try:
            found = inspect.signature(function)
        except (TypeError, ValueError):
            return cls(tool, {}, {}, extra=True, wants_effect=False, result=None)
        hints = _hints(function)
        parameters: dict[str, TypeAdapter[Any] | None] = {}
        defaults: dict[str, Any] = {}
        extra = wants_effect = False
        for name, parameter in found.parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                extra = True
            elif parameter.kind is parameter.KEYWORD_ONLY and name == "effect":
                wants_effect = True
            elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
                reason = f"arguments are given by name, which {name!r} of {tool!r} cannot be"
                raise invalid("function", reason)
            else:
                parameters[name] = _adapter(hints.get(name, Any), tool, name)
                if parameter.default is not parameter.empty:
                    defaults[name] = parameter.default
        returns = _of_result(hints.get("return", Any))
        result = None if returns in (Any, inspect.Signature.empty) else _result(returns)
        return cls(tool, parameters, defaults, extra, wants_effect, result)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the tool takes, as 64 hexadecimal digits: an approval binds to it."""
        shape = {name: adapter and adapter.json_schema() for name, adapter in self.parameters.items()}
        text = canonical_text({"tool": self.tool, "parameters": shape, "extra": self.extra})
        return hashlib.sha256(text.encode()).hexdigest()

    def bind(self, args: Mapping[str, Any]) -> Bound:
        """Check arguments against the parameters.

        Raises:
            InvalidInput: one is missing, unknown or of a wrong type; `path` names it.
        """
        tagged = tag_secrets(dict(args))
        for name in tagged:
            if name not in self.parameters and not self.extra:
                known = ", ".join(self.parameters) or "none"
                raise invalid(f"args.{name}", f"{self.tool!r} takes no such argument; it takes {known}")
        values, json = dict(args), dict(tagged)
        for name, adapter in self.parameters.items():
            if name not in args:
                if name not in self.defaults:
                    raise invalid(f"args.{name}", f"{self.tool!r} needs this argument")
                values[name] = json[name] = self.defaults[name]
            if adapter is not None:
                values[name], json[name] = _checked(adapter, values[name], f"args.{name}")
        return Bound(values, canonical_text(json, path="args"))


def _checked(adapter: TypeAdapter[Any], given: Any, path: str) -> tuple[Any, Any]:
    """Return an argument as its type has it, and as JSON."""
    try:
        value = adapter.validate_python(given)
    except ValidationError as error:
        raise explain(error, root=path) from None
    try:
        return value, adapter.dump_python(value, mode="json", warnings=False)
    except ValueError as error:  # what pydantic cannot write as JSON
        raise invalid(path, str(error)) from None


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Read annotations; those that cannot be resolved here say nothing."""
    target = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    try:
        return get_type_hints(target, include_extras=True)
    except Exception:  # noqa: BLE001  names that exist for type checkers only
        return {}


def _adapter(hint: Any, tool: str, name: str) -> TypeAdapter[Any] | None:
    if hint is Any:
        return None
    try:
        return TypeAdapter(hint)
    except (PydanticSchemaGenerationError, PydanticUndefinedAnnotation):
        reason = f"the type of {name!r} of {tool!r} cannot be checked: {hint!r:.80}"
        raise invalid("function", reason) from None


def _of_result(hint: Any) -> Any:
    """Return what a result is said to be; that of an `Outcome`, which is recorded alone, may be anything."""
    if hint is Outcome:
        return Any
    if get_origin(hint) not in (Union, UnionType) or Outcome not in get_args(hint):
        return hint
    others = tuple(one for one in get_args(hint) if one is not Outcome)
    return Any if others == (NoneType,) else Union[others]  # noqa: UP007  of a tuple


def _result(hint: Any) -> TypeAdapter[Any] | None:
    try:
        return TypeAdapter(hint)
    except (PydanticSchemaGenerationError, PydanticUndefinedAnnotation):
        return None
