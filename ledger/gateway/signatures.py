"""Signatures: what arguments a function takes, checked and written as JSON before it is called."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ledger.canonical import canonical_text, invalid
from ledger.errors import InvalidInput
from ledger.gateway.annotations import (
    adapter_of,
    adapter_of_result,
    held_by,
    hints_of,
    said_of_result,
    shape_of,
)
from ledger.gateway.defaults import holding_defaults, same
from ledger.gateway.plain import checked_in_full, is_plain, written, written_in_full
from ledger.gateway.rereading import changed_from, check_reads_back, read_again
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
    more: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of which `plain` leaves something out, as complete JSON values: what is as it is declared by
    default is in them."""


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
        hints = hints_of(function, found)
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
                parameters[name] = adapter_of(hints.get(name, Any), tool, name)
                if parameter.default is not parameter.empty:
                    defaults[name] = parameter.default
        returns = said_of_result(hints.get("return", Any))
        result = None if returns in (Any, inspect.Signature.empty) else adapter_of_result(returns)
        return cls(tool, parameters, defaults, extra, wants_effect, result, hints, held_by(function))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the tool takes, as 64 hexadecimal digits: an approval binds to it.

        Raises:
            InvalidInput: the type of a parameter is none that JSON could be of.
        """
        shape = {name: shape_of(adapter, self.tool, name) for name, adapter in self.parameters.items()}
        said = {"defaults": self._said(), "extra": self.extra, "parameters": shape, "tool": self.tool}
        text = canonical_text(said)
        return hashlib.sha256(text.encode()).hexdigest()

    def bind(self, args: Mapping[str, Any], *, recorded: bool = False) -> Bound:
        """Check arguments against the parameters.

        Args:
            args: by name.
            recorded: they were read from a record: fields are given by name, and nothing may become another.

        Raises:
            InvalidInput: one is missing, unknown or of a wrong type, or is written as something else than
                what the function would be called with; `path` names it.
        """
        tagged = tag_secrets(dict(args))
        for name in tagged:
            if name not in self.parameters and (not self.extra or (name == "effect" and self.wants_effect)):
                known = ", ".join(self.parameters) or "none"
                raise invalid(f"args.{name}", f"{self.tool!r} takes no such argument; it takes {known}")
        values, json, more = dict(args), dict(tagged), dict[str, Any]()
        for name, adapter in self.parameters.items():
            if name not in args:
                if name not in self.defaults:
                    hint = "; for the CurrentEffect, declare it keyword-only: *, effect"
                    needs = f"{self.tool!r} needs this argument{hint if name == 'effect' else ''}"
                    raise invalid(f"args.{name}", needs)
                values[name], default = self._default(name)
                (json if name in self.held else more)[name] = default
                continue
            full = json[name]
            if adapter is not None:
                path, declared = f"args.{name}", self.types.get(name)
                given = _read(adapter, full, path) if recorded else _taken(adapter, values[name], path)
                values[name], json[name], full = _written(adapter, given, path, declared, tagged[name])
                if recorded:
                    _check_unchanged(tagged[name], full, path)
            if name in self.defaults and name not in self.held and self._is_default(name, values[name]):
                del json[name]
                more[name] = full
            elif full is not json[name]:
                more[name] = full
        text = canonical_text(json, path="args")
        return Bound(values, text, untag_secrets(json) if _TAGGED in text else json, untag_secrets(more))

    def in_full(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments that were read from a record with the defaults as they are declared now.

        What is no longer of its type, or becomes another by it, is left as it is.
        """
        full = dict(args)
        for name, adapter in self.parameters.items():
            try:
                if name not in full:
                    if name in self.defaults:
                        full[name] = untag_secrets(self._default(name)[1])
                elif adapter is not None and isinstance(full[name], dict | list):
                    kept = tag_secrets(full[name])
                    complete = written(adapter, read_again(adapter, kept))
                    if changed_from(kept, complete) is None:
                        full[name] = untag_secrets(complete)
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
            if adapter is None:
                found = value, tag_secrets(value, path=path)
            else:
                found = _written(adapter, _taken(adapter, value, path), path, None, value)[:2]
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


def _taken(adapter: TypeAdapter[Any], given: Any, path: str) -> Any:
    """Return an argument that is given as its type has it."""
    try:
        return adapter.validate_python(given)
    except ValidationError as error:
        raise explain(error, root=path) from None


def _read(adapter: TypeAdapter[Any], json: Any, path: str) -> Any:
    """Return an argument that was recorded as its type has it."""
    try:
        return read_again(adapter, json)
    except ValidationError as error:
        raise explain(error, root=path) from None


def _written(
    adapter: TypeAdapter[Any], value: Any, path: str, declared: Any, given: Any
) -> tuple[Any, Any, Any]:
    """Return a value, its JSON without the defaults of its declared type, and with them.

    Both are the same object where there are none.
    """
    without = holding_defaults(declared, value)
    try:
        json = checked_in_full(adapter, value, path, without)
        full = json if without is None else written(adapter, value)
    except InvalidInput:
        raise
    except ValueError as error:  # what pydantic cannot write as JSON
        raise invalid(path, str(error)) from None
    # What is plain, and is written as it was given, is read as it was then: that is most of what is given.
    if not (is_plain(value) and type(json) is type(given) and json == given):
        check_reads_back(adapter, value, json, path)
    return value, json, full


def _check_unchanged(recorded: Any, full: Any, path: str) -> None:
    """Refuse what is sent again where the tool takes it for something else than what is recorded."""
    where = changed_from(recorded, full, path)
    if where is not None:
        raise invalid(where, "the tool as it is now takes it for something else than what is recorded")
