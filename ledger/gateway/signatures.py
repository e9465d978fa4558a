"""Signatures: what arguments a function takes, checked and written as JSON before it is called."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter, ValidationError

from ledger.canonical import canonical_text, invalid
from ledger.errors import InvalidInput
from ledger.gateway.answers import Outcome
from ledger.gateway.defaults import holding_defaults, same
from ledger.gateway.plain import checked_in_full, written, written_in_full
from ledger.values import explain, tag_secrets, untag_secrets
from ledger.values.secrets import TAG

_TAGGED = f'"{TAG}":'


@dataclass(frozen=True)
class Bound:
    """Arguments that fit a signature."""

    values: Mapping[str, Any]
    """What the function is called with."""
    text: str
    """The same as canonical JSON, without what is as it is declared by default: what key and record are
    made of. So what is declared later, with a default, changes no key."""
    plain: Mapping[str, Any]
    """The same as JSON values, with references to secrets as they are: where secrets are looked for."""


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
    types: Mapping[str, Any] = field(default_factory=dict)
    """What parameters are declared to be, by name, where that is known."""
    held: Collection[str] = ()
    """Arguments that a `partial` holds. They look like defaults, and were given."""
    _checked: dict[str, tuple[Any, Any]] = field(default_factory=dict, repr=False, compare=False)
    """Defaults as their types have them and as JSON, once they were asked for."""

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
        hints = _hints(function, found)
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
        return cls(tool, parameters, defaults, extra, wants_effect, result, hints, _held(function))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the tool takes, as 64 hexadecimal digits: an approval binds to it.

        Raises:
            InvalidInput: the type of a parameter is none that JSON could be of.
        """
        shape = {name: _shape(adapter, self.tool, name) for name, adapter in self.parameters.items()}
        said = {"defaults": self._said(), "extra": self.extra, "parameters": shape, "tool": self.tool}
        text = canonical_text(said)
        return hashlib.sha256(text.encode()).hexdigest()

    def bind(self, args: Mapping[str, Any]) -> Bound:
        """Check arguments against the parameters.

        Raises:
            InvalidInput: one is missing, unknown or of a wrong type; `path` names it.
        """
        tagged = tag_secrets(dict(args))
        for name in tagged:
            if name not in self.parameters and (not self.extra or (name == "effect" and self.wants_effect)):
                known = ", ".join(self.parameters) or "none"
                raise invalid(f"args.{name}", f"{self.tool!r} takes no such argument; it takes {known}")
        values, json = dict(args), dict(tagged)
        for name, adapter in self.parameters.items():
            if name not in args:
                if name not in self.defaults:
                    hint = "; for the CurrentEffect, declare it keyword-only: *, effect"
                    needs = f"{self.tool!r} needs this argument{hint if name == 'effect' else ''}"
                    raise invalid(f"args.{name}", needs)
                values[name], default = self._default(name)
                if name in self.held:
                    json[name] = default
                continue
            if adapter is not None:
                values[name], json[name] = _checked(
                    adapter, values[name], f"args.{name}", self.types.get(name)
                )
            if name in self.defaults and name not in self.held and self._is_default(name, values[name]):
                del json[name]
        text = canonical_text(json, path="args")
        return Bound(values, text, untag_secrets(json) if _TAGGED in text else json)

    def in_full(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments that were read from a record with the defaults as they are declared now.

        What is no longer of its type is left as it is.
        """
        full = dict(args)
        for name, adapter in self.parameters.items():
            try:
                if name not in full:
                    if name in self.defaults:
                        full[name] = untag_secrets(self._default(name)[1])
                elif adapter is not None and isinstance(full[name], dict | list):
                    full[name] = untag_secrets(written(adapter, adapter.validate_python(full[name])))
            except ValueError:
                continue
        return full

    def _default(self, name: str) -> tuple[Any, Any]:
        """Return a default as its type has it, and as JSON.

        Raises:
            InvalidInput: it is none of its type, or no JSON.
        """
        found = self._checked.get(name)
        if found is None:
            adapter, path = self.parameters[name], f"args.{name}"
            value = self.defaults[name]
            found = (
                (value, tag_secrets(value, path=path)) if adapter is None else _checked(adapter, value, path)
            )
            canonical_text(found[1], path=path)
            self._checked[name] = found
        return found

    def _is_default(self, name: str, value: Any) -> bool:
        try:
            return same(value, self._default(name)[0])
        except InvalidInput:
            return False  # a default that is never used need not be one

    def _said(self) -> dict[str, Any]:
        """Say what the defaults are; of one that is no JSON, of which type."""
        said: dict[str, Any] = {}
        for name, default in self.defaults.items():
            try:
                said[name] = [self._default(name)[1]]
            except InvalidInput:
                said[name] = type(default).__name__
        return said

    def result_written(self, value: Any) -> Any:
        """Write a result as JSON, as its declared type does; as it is where none is declared.

        Raises:
            ValueError: it cannot be written so.
        """
        if self.result is None or isinstance(value, Iterator):  # writing an iterator would use it up
            return value
        return written_in_full(self.result, value)

    def result_read(self, value: Any) -> Any:
        """Read a result from JSON, as its declared type; as it is where it is none of that."""
        if self.result is None:
            return value
        try:
            return self.result.validate_json(canonical_text(value))
        except ValueError:
            return value  # the tool returned something else, or its type has changed since


def _checked(adapter: TypeAdapter[Any], given: Any, path: str, declared: Any = None) -> tuple[Any, Any]:
    """Return an argument as its type has it, and as JSON without the defaults of its declared type."""
    try:
        value = adapter.validate_python(given)
    except ValidationError as error:
        raise explain(error, root=path) from None
    try:
        return value, checked_in_full(adapter, value, path, holding_defaults(declared, value))
    except InvalidInput:
        raise
    except ValueError as error:  # what pydantic cannot write as JSON
        raise invalid(path, str(error)) from None


def _hints(function: Callable[..., Any], found: inspect.Signature) -> dict[str, Any]:
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


def _held(function: Any) -> frozenset[str]:
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


def _shape(adapter: TypeAdapter[Any] | None, tool: str, name: str) -> Any:
    if adapter is None:
        return None
    try:
        return adapter.json_schema()
    except PydanticUserError:
        raise invalid("function", f"the type of {name!r} of {tool!r} is none that JSON can be of") from None


def _adapter(hint: Any, tool: str, name: str) -> TypeAdapter[Any] | None:
    if hint is Any:
        return None
    try:
        return TypeAdapter(hint)
    except (PydanticUserError, PydanticUndefinedAnnotation):
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
    except (PydanticUserError, PydanticUndefinedAnnotation):
        return None
