"""References to secrets: a name that is recorded, for a value that never is.

A caller puts `SecretRef("stripe-key")` where the secret would stand in the arguments of a tool. Records and
keys hold `{"$secret":"stripe-key"}`, and the tool asks for the value when it needs it: `token.resolve()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from ledger.canonical import MAX_DEPTH, Json, canonical_text, invalid
from ledger.errors import InvalidInput
from ledger.values.faults import a
from ledger.values.ids import MAX_ID_LENGTH, check_id

TAG = "$secret"
"""The one key of the object that stands for a reference in JSON; no object of arguments may have it."""

Lookup = Callable[[str], str]
"""Finds a secret by its name; one that has no such secret raises LookupError."""


@final
class SecretRef:
    """A secret by its name, which is an id. Only the name is hashed and stored, compared and shown.

    The ledger binds the references in the arguments of a tool to the lookup it was opened with. Copies that
    are pickled are not bound.

    Raises:
        InvalidInput: the name is no id.
    """

    # No dataclass: what writes those field by field, as pydantic does under `Any`, would show the lookup.
    __slots__ = ("_lookup", "_name")
    _lookup: Lookup | None
    _name: str

    def __init__(self, name: str) -> None:
        try:
            check_id(name)
        except ValueError as error:
            raise invalid("name", str(error)) from None
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_lookup", None)

    @property
    def name(self) -> str:
        """The name by which the secret is found."""
        return self._name

    def bound_to(self, lookup: Lookup) -> SecretRef:
        """Return the same reference with a lookup that finds its value."""
        bound = SecretRef(self.name)
        object.__setattr__(bound, "_lookup", lookup)
        return bound

    def resolve(self) -> str:
        """Return the value. It is looked up each time and kept nowhere.

        Raises:
            InvalidInput: the reference is not bound, or the lookup knows no text by this name.
        """
        if self._lookup is None:
            raise invalid(
                self.name, "nothing looks up this secret; open the ledger with `secrets=` and a lookup"
            )
        try:
            value = self._lookup(self.name)
        except LookupError:
            # Without its cause, which may say what the lookup holds.
            raise invalid(self.name, "the lookup has no secret of this name") from None
        if not isinstance(value, str):
            raise invalid(self.name, f"a secret is text, and the lookup returned {a(type(value).__name__)}")
        return value

    def __eq__(self, other: object) -> bool:
        return self._name == other._name if isinstance(other, SecretRef) else NotImplemented

    def __hash__(self) -> int:
        return hash((SecretRef, self._name))

    def __setattr__(self, field: str, value: object) -> None:
        raise AttributeError(f"a reference to a secret is frozen: {field!r} cannot be set")

    def __delattr__(self, field: str) -> None:
        raise AttributeError(f"a reference to a secret is frozen: {field!r} cannot be deleted")

    def __repr__(self) -> str:
        return f"SecretRef({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # A lookup may hold all secrets there are.
        return SecretRef, (self.name,)

    def __copy__(self) -> SecretRef:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> SecretRef:
        return self

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        written = core_schema.plain_serializer_function_ser_schema(_tag, when_used="json")
        return core_schema.is_instance_schema(cls, serialization=written)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        name = {"type": "string", "minLength": 1, "maxLength": MAX_ID_LENGTH}
        return {
            "type": "object",
            "title": cls.__name__,
            "properties": {TAG: name},
            "required": [TAG],
            "additionalProperties": False,
        }


def arguments_text(value: Any, *, path: str = "args") -> str:
    """Write arguments as their RFC 8785 text, with the tag for each reference.

    Raises:
        InvalidInput: as `tag_secrets` and `canonical_text` do.
    """
    try:
        text = canonical_text(value, path=path)
    except InvalidInput:
        # A reference is no JSON. Most arguments hold none and need no closer look.
        return canonical_text(tag_secrets(value, path=path), path=path)
    if f'"{TAG}":' in text:
        tag_secrets(value, path=path)
    return text


def tag_secrets(value: Any, *, path: str = "args") -> Any:
    """Return arguments with the tag in the place of each reference; the same object where there is none.

    Raises:
        InvalidInput: an object has the key `$secret`, so that it could be taken for a reference, or objects
            and arrays nest too deep; `path` says where.
    """
    return _replaced(value, path, 1, _as_tag)


def untag_secrets(value: Json, lookup: Lookup | None = None, *, path: str = "args") -> Any:
    """Return arguments that were read from a record, with a reference in the place of each tag.

    With a lookup the references are bound to it. Results and observations have no tags: in them an object
    with this key is what the outside said.

    Raises:
        InvalidInput: an object with the key `$secret` is not what `tag_secrets` writes.
    """

    def replaced(found: Any, where: str) -> SecretRef | None:
        if type(found) is not dict or TAG not in found:
            return None
        if len(found) != 1:
            raise invalid(where, f"an object with the key {TAG!r} has no other key")
        reference = SecretRef(found[TAG])
        return reference if lookup is None else reference.bound_to(lookup)

    return _replaced(value, path, 1, replaced)


def bind_secrets(value: Any, lookup: Lookup, *, path: str = "args") -> Any:
    """Return arguments with each reference bound to a lookup; the same object where there is none.

    Raises:
        InvalidInput: objects and arrays nest too deep.
    """
    return _replaced(
        value, path, 1, lambda found, _: found.bound_to(lookup) if type(found) is SecretRef else None
    )


def _as_tag(found: Any, path: str) -> dict[str, str] | None:
    if type(found) is SecretRef:
        return _tag(found)
    if isinstance(found, dict) and TAG in found:
        raise invalid(
            path,
            f"an object with the key {TAG!r} could be taken for a reference to a secret; "
            "rename the key, or give SecretRef(name)",
        )
    return None


def _tag(reference: SecretRef) -> dict[str, str]:
    return {TAG: reference.name}


def _replaced(value: Any, path: str, depth: int, replace: Callable[[Any, str], Any | None]) -> Any:
    """Replace parts of a value by what is returned for them; nothing inside a replaced part is looked at."""
    instead = replace(value, path)
    if instead is not None:
        return instead
    items: dict[Any, Any]
    if isinstance(value, dict):
        items = {key: _member(item, f"{path}.{key}", depth, replace) for key, item in value.items()}
        return items if any(items[key] is not value[key] for key in items) else value
    if isinstance(value, list | tuple):
        new = [_member(item, f"{path}[{index}]", depth, replace) for index, item in enumerate(value)]
        if any(one is not other for one, other in zip(new, value, strict=True)):
            return new if isinstance(value, list) else tuple(new)
    return value


def _member(value: Any, path: str, depth: int, replace: Callable[[Any, str], Any | None]) -> Any:
    if depth > MAX_DEPTH:
        raise invalid(path, f"nested deeper than {MAX_DEPTH} levels")
    return _replaced(value, path, depth + 1, replace)
