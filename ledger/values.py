"""The values that events and commands are made of: ids, parties, times, amounts, JSON carried as text.

Everything here is validated when it is made and frozen from then on. Ids are kept byte for byte: two ids
that look alike but differ in bytes are two ids, and none is ever trimmed, folded or normalised.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Never, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    Strict,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from ledger.canonical import MAX_INTEGER, load_canonical, utf16
from ledger.errors import InvalidInput

MAX_ID_LENGTH = 200
"""Characters of the longest id."""


class Value(BaseModel):
    """A frozen value; unknown fields are refused.

    Fields are declared in alphabetical order, which makes pydantic's output canonical JSON.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def with_fields(self, changes: Mapping[str, Any]) -> Self:
        """Copy the value with some fields replaced by values that were checked already."""
        fields = self.__dict__.copy()
        fields.update(changes)
        return _filled(type(self), fields, self.__pydantic_fields_set__)

    @classmethod
    def unchecked(cls, fields: dict[str, Any]) -> Self:
        """Build a value from all its fields, in their order, each of them checked already.

        The fold makes such values by the thousand out of events, which were checked when they were read.
        """
        return _filled(cls, fields, set(fields))


def _filled(kind: type[_V], fields: dict[str, Any], given: set[str]) -> _V:
    # What pydantic's own model_copy and model_construct end in, without what they do for other models.
    new = kind.__new__(kind)
    _set(new, "__dict__", fields)
    _set(new, "__pydantic_fields_set__", given)
    _set(new, "__pydantic_extra__", None)
    _set(new, "__pydantic_private__", None)
    return new


_V = TypeVar("_V", bound=Value)
_set = object.__setattr__


# --- ids ---------------------------------------------------------------------------------------


def check_id(text: str) -> str:
    """Return an id as it is, or say what is wrong with it.

    Raises:
        ValueError: empty, blank, longer than 200 characters, or holding a control character.
    """
    return check_name(text, MAX_ID_LENGTH)


def check_name(text: str, longest: int) -> str:
    """Check a name as `check_id` does, with another length.

    Raises:
        ValueError: empty, blank, too long, or holding a control character.
    """
    if text.isprintable() and 0 < len(text) <= longest and not text.isspace():
        return text
    if not text:
        raise ValueError("an id cannot be empty")
    if len(text) > longest:
        raise ValueError(f"an id has at most {longest} characters, this one has {len(text)}")
    if text.isspace():
        raise ValueError("an id cannot be blank")
    for place, character in enumerate(text):
        category = unicodedata.category(character)
        if category == "Cs":
            raise ValueError(f"a lone surrogate (at {place}) is not Unicode text")
        if category in ("Cc", "Zl", "Zp"):
            raise ValueError(f"an id cannot hold the control character U+{ord(character):04X} (at {place})")
    return text


def _run_id(text: str) -> str:
    if text.startswith("$"):
        raise ValueError("ids that start with '$' are the ledger's own streams")
    return text


def _party(text: str) -> str:
    check_name(text, MAX_ID_LENGTH)
    if not _KIND_AND_NAME(text):
        raise ValueError(f"{text!r} is not 'kind:name', e.g. 'human:kim' or 'customer:17'")
    return text


_KIND_AND_NAME = re.compile(r"[a-z][a-z0-9_.-]*:\s*\S").match


def _principal(text: str) -> str:
    _party(text)
    if text.partition(":")[0] not in PRINCIPAL_KINDS:
        raise ValueError(f"{text!r} does not begin with one of {', '.join(k + ':' for k in PRINCIPAL_KINDS)}")
    return text


def _ref(text: str) -> str:
    kind, colon, name = text.partition(":")
    if not colon or kind not in REF_KINDS:
        raise ValueError(f"{text!r} does not begin with one of {', '.join(k + ':' for k in REF_KINDS)}")
    # The name is an id of its own: the longest one must be referable, too.
    check_id(name)
    return text


PRINCIPAL_KINDS = ("human", "agent", "service")
REF_KINDS = ("assumption", "constraint", "observation", "effect", "approval", "obligation", "run", "message")


def _schema(pattern: str = "", longest: int = MAX_ID_LENGTH) -> WithJsonSchema:
    """Say of an id what a JSON Schema can say; its validator knows the rest."""
    said = {"type": "string", "minLength": 1, "maxLength": longest}
    return WithJsonSchema({**said, "pattern": pattern} if pattern else said)


Id = Annotated[str, Strict(), AfterValidator(check_id), _schema()]
"""A name somebody gave: 1 to 200 characters, printable or not, never a control character."""

RunId = Annotated[Id, AfterValidator(_run_id), _schema(r"^[^$]")]
"""The id of a run; it may not start with `$`."""

Party = Annotated[str, Strict(), AfterValidator(_party), _schema(r"^[a-z][a-z0-9_.-]*:.")]
"""Somebody or something named by others, as `kind:name` with any kind: `human:kim`, `customer:17`."""

Principal = Annotated[
    str, Strict(), AfterValidator(_principal), _schema(rf"^({'|'.join(PRINCIPAL_KINDS)}):.")
]
"""Who can act: a party of kind human, agent or service."""

Ref = Annotated[
    str,
    Strict(),
    AfterValidator(_ref),
    _schema(rf"^({'|'.join(REF_KINDS)}):.", max(map(len, REF_KINDS)) + 1 + MAX_ID_LENGTH),
]
"""Something in this run that other things rest on or wait for: `assumption:in-stock`, `observation:KEY`."""

Text = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=65_536, pattern=r"\S")]
"""Words for people and models: not blank, at most 65,536 characters, kept as they are."""

Sha256 = Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 as 64 lower-case hexadecimal digits."""

# Numbers and flags are strict: "3", 3.0 or True are not 3, and "no" is not False. What is read from a record
# is then exactly what stands there.

Position = Annotated[int, Field(ge=1, le=MAX_INTEGER, strict=True)]
"""A place in a stream, counted from 1."""

Count = Annotated[int, Field(ge=0, le=MAX_INTEGER, strict=True)]
"""A whole number from 0 on."""

AtLeastOne = Annotated[int, Field(ge=1, le=MAX_INTEGER, strict=True)]
"""A whole number from 1 on."""

Seconds = Annotated[int, Field(ge=0, le=MAX_INTEGER, strict=True)]
"""A span in whole seconds."""

Flag = Annotated[bool, Field(strict=True)]
"""Yes or no."""


# --- time --------------------------------------------------------------------------------------


def utc(moment: datetime) -> datetime:
    """Return the moment in UTC.

    Raises:
        ValueError: the datetime has no time zone, so nobody knows which moment it means, or it lies outside
            the years 1 to 9999 in UTC.
    """
    if moment.tzinfo is UTC and type(moment) is datetime:
        return moment
    # A zone that gives no offset is none: Python would quietly take the machine's own.
    if moment.utcoffset() is None:
        raise ValueError("a time needs a time zone, e.g. datetime.now(UTC)")
    try:
        moment = moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time lies within the years 1 to 9999 in UTC") from None
    if type(moment) is datetime:
        return moment
    return datetime.combine(moment.date(), moment.time(), UTC)


def write_time(moment: datetime) -> str:
    """Write a moment in the one form of the record: `2026-01-31T09:15:00.000000Z`, always that long.

    Raises:
        ValueError: `utc` refuses it.
    """
    return utc(moment).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def read_time(text: str) -> datetime:
    """Read a moment in the one form of the record.

    Raises:
        ValueError: it is written in another way.
    """
    if len(text) != 27 or text[26] != "Z" or text[10] != "T" or text[19] != ".":
        raise ValueError(f"{text!r} is not a time as records write it, e.g. 2026-01-31T09:15:00.000000Z")
    return datetime.fromisoformat(text)


def _instant(value: Any) -> datetime:
    """Take a datetime or ISO 8601 text; a bare number, which could be seconds or milliseconds, is refused."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(f"{value!r} is not an ISO 8601 time, e.g. 2026-01-31T09:15:00Z") from None
    if not isinstance(value, datetime):
        raise ValueError(f"a time is a datetime or ISO 8601 text, not {type(value).__name__}")
    return utc(value)


Instant = Annotated[
    datetime,
    PlainValidator(_instant),
    PlainSerializer(write_time, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A moment; it needs a time zone and is kept in UTC with microseconds, finer digits are cut off."""


# --- amounts -----------------------------------------------------------------------------------


MAX_DIGITS = 40
"""Digits of the longest amount."""

_PLAIN_DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?")


def _amount(value: Any) -> Decimal:
    """Take a Decimal, a whole number or plain decimal text; the number is never rounded."""
    if isinstance(value, str):
        if not _PLAIN_DECIMAL.fullmatch(value):
            raise ValueError(f"{value[:50]!r} is not a plain decimal number from 0 on, e.g. '10.00'")
        if len(value) - ("." in value) > MAX_DIGITS:
            raise ValueError(_TOO_LONG)
        return Decimal(value)
    if isinstance(value, bool) or not isinstance(value, Decimal | int):
        raise ValueError(f"{value!r:.50} is not exact; send a Decimal or text, e.g. '10.00'")
    if isinstance(value, int):
        if value >= 10**MAX_DIGITS:
            raise ValueError(_TOO_LONG)
        value = Decimal(int(value))
    if not value.is_finite() or value < 0:
        raise ValueError("an amount is a finite number from 0 on")
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if (len(digits) + exponent if exponent >= 0 else max(len(digits), 1 - exponent)) > MAX_DIGITS:
        raise ValueError(_TOO_LONG)
    # An exponent or a negative zero would give one amount two spellings.
    return Decimal(f"{value:f}".removeprefix("-")) if sign or exponent > 0 else value


_TOO_LONG = f"an amount has at most {MAX_DIGITS} digits"


Amount = Annotated[
    Decimal,
    PlainValidator(_amount),
    PlainSerializer(lambda value: f"{value:f}", return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"}),
]
"""An exact amount from 0 on; its scale is kept (`10.00` stays `10.00`). Floats are refused."""


class FrozenMap(dict[str, Any]):
    """A dict that cannot be changed. Whoever makes one gives its keys in canonical order."""

    # It is filled before anybody has it; filling it again would be a change.
    def __new__(cls, *members: Any, **more: Any) -> FrozenMap:
        self = super().__new__(cls)
        dict.update(self, *members, **more)
        return self

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def _refuse(self, *_: Any, **__: Any) -> Never:
        raise TypeError("this mapping is part of an event and cannot be changed")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __copy__(self) -> FrozenMap:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


def _frozen_map(members: dict[str, Any]) -> FrozenMap:
    return FrozenMap(sorted(members.items()))


def _named(members: dict[str, Any]) -> FrozenMap:
    """Freeze a map by ids, sorted by UTF-16 code units, which for ASCII is the order of Python."""
    joined = "".join(members)
    if not joined.isascii():
        members = {name: members[name] for name in sorted(members, key=utf16)}
    elif len(members) > 1:
        members = dict(sorted(members.items()))
    # Most names are short and plain, which one look at all of them shows.
    if not (joined.isascii() and joined.isprintable() and len(joined) <= MAX_ID_LENGTH) or (
        " " in joined or "" in members
    ):
        for name in members:
            check_id(name)
    return FrozenMap(members)


_Key = Annotated[str, StringConstraints(strict=True, pattern=r"^[\x21-\x7e]{1,200}$")]

Amounts = Annotated[dict[_Key, Amount], AfterValidator(_frozen_map)]
"""Amounts by unit, e.g. `{"EUR": "10.00", "tokens": "5000"}`; units are printable ASCII without spaces."""

Labels = Annotated[
    dict[_Key, Annotated[str, StringConstraints(strict=True, max_length=1000)]], AfterValidator(_frozen_map)
]
"""Words to find runs by; keys are printable ASCII without spaces."""

Counts = Annotated[dict[Annotated[str, Strict()], Count], AfterValidator(_named)]
"""Whole numbers by the ids of nodes, sources and the like."""


# --- JSON carried as text ----------------------------------------------------------------------


def _canonical(text: str) -> str:
    try:
        load_canonical(text)
    except InvalidInput as error:
        raise ValueError(str(error)) from None
    return text


CanonicalJson = Annotated[str, Strict(), AfterValidator(_canonical)]
"""A JSON value as its RFC 8785 text. `ledger.canonical.canonical_text` writes it."""


class Payload(Value):
    """A value that came from outside: carried as JSON, or named by its digest.

    Exactly one of `json_text` and `digest` is set. A digest alone stands for content that is kept as a blob
    or, where `type` is set, for a Python value that cannot be written as JSON.
    """

    digest: Sha256 | None = None
    json_text: CanonicalJson | None = None
    size: Count | None = None
    """Bytes of the content behind `digest`."""
    type: Id | None = None
    """Name of the Python type of a value that is not JSON."""

    @model_validator(mode="after")
    def _one(self) -> Payload:
        if (self.digest is None) == (self.json_text is None):
            raise ValueError("a payload is either JSON text or a digest")
        if self.digest is None and not (self.size is None and self.type is None):
            raise ValueError("size and type speak of the content behind a digest")
        return self


# --- who and where from ------------------------------------------------------------------------


def _positional(*names: str) -> Callable[..., None]:
    """Build an `__init__` whose first fields may be given by place."""

    def init(self: Value, *given: Any, **fields: Any) -> None:
        if len(given) > len(names):
            raise TypeError(f"{type(self).__name__} takes {' and '.join(names)} by place, the rest by name")
        for name, value in zip(names, given, strict=False):
            if name in fields:
                raise TypeError(f"{type(self).__name__} got {name} twice")
            fields[name] = value
        BaseModel.__init__(self, **fields)

    # Tells pydantic that making one from data needs no detour through here: it validates the fields itself,
    # so that a missing one is reported as such, with its path.
    init.__pydantic_base_init__ = True  # type: ignore[attr-defined]
    return init


class Actor(Value):
    """Who writes: `Actor("agent:refunds", session="s-1")`.

    What somebody *claims* (`by`, `asserted_by`) stands in the event; the actor is who wrote it.
    """

    authenticated_by: Id | None = None
    """How the id was proven; None: it was not."""
    id: Principal
    on_behalf_of: tuple[Principal, ...] = ()
    """For whom, nearest first."""
    role: Id | None = None
    session: Id | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            id: str,
            *,
            authenticated_by: str | None = None,
            on_behalf_of: tuple[str, ...] = (),
            role: str | None = None,
            session: str | None = None,
        ) -> None: ...

    else:
        __init__ = _positional("id")

    @property
    def kind(self) -> str:
        """One of human, agent, service."""
        return self.id.partition(":")[0]


class Source(Value):
    """A point in a source stream: `Source("policy", "refunds", revision="4")`."""

    item: Id | None = None
    """Which published constraint; None: the one with the id of the constraint."""
    kind: Annotated[str, StringConstraints(strict=True, pattern=r"^[a-z][a-z0-9_.-]*$", max_length=50)]
    name: Annotated[Id, Field(max_length=149)]
    revision: Id | None = None

    if TYPE_CHECKING:

        def __init__(
            self, kind: str, name: str, *, item: str | None = None, revision: str | None = None
        ) -> None: ...

    else:
        __init__ = _positional("kind", "name")

    @property
    def stream(self) -> str:
        """The id of the source stream, `kind:name`."""
        return f"{self.kind}:{self.name}"


SourceId = Party
"""The id of a source stream, `kind:name`, e.g. `policy:refunds`."""


class Runtime(Value):
    """The fingerprint of what runs the agent: names or digests, each optional.

    The gate compares field by field what a caller says now with what the run was opened or adopted with.
    """

    config: Id | None = None
    context_policy: Id | None = None
    model: Id | None = None
    prompt: Id | None = None
    runtime: Id | None = None
    sampling: Id | None = None
    tool_schema: Id | None = None


class Limits(Value):
    """Bounds given when a run opens; what reaches one suspends the run and says which."""

    effects: AtLeastOne | None = None
    """Effects intended."""
    refusals_in_a_row: AtLeastOne | None = None
    """Refused effects without one that started in between."""
    steps: AtLeastOne | None = None
    """Cursor moves."""
    wall_seconds: AtLeastOne | None = None
    """Seconds since the run was opened."""


# --- rules -------------------------------------------------------------------------------------


class Operator(StrEnum):
    """How a predicate compares the argument it points at with its value."""

    EQUAL = "eq"
    NOT_EQUAL = "ne"
    LESS = "lt"
    AT_MOST = "le"
    GREATER = "gt"
    AT_LEAST = "ge"
    ONE_OF = "in"
    NONE_OF = "not_in"
    STARTS_WITH = "starts_with"
    PRESENT = "present"
    ABSENT = "absent"


# By the first character of the canonical text of what to compare with.
_SHAPES: dict[Operator, str] = {
    Operator.LESS: '"-0123456789',
    Operator.AT_MOST: '"-0123456789',
    Operator.GREATER: '"-0123456789',
    Operator.AT_LEAST: '"-0123456789',
    Operator.ONE_OF: "[",
    Operator.NONE_OF: "[",
    Operator.STARTS_WITH: '"',
}
_SHAPE_NAMES = {'"-0123456789': "a number or text", "[": "a list", '"': "text"}


class Predicate(Value):
    """One condition on the arguments of an act."""

    operator: Operator
    path: Annotated[str, StringConstraints(strict=True, pattern=r"^(/.*)?$", max_length=500)]
    """JSON Pointer into the arguments (RFC 6901), e.g. `/payment/amount`."""
    value: CanonicalJson | None = None
    """What to compare with, as canonical JSON; None for `present` and `absent`."""

    @model_validator(mode="after")
    def _complete(self) -> Predicate:
        bare = self.operator in (Operator.PRESENT, Operator.ABSENT)
        if bare != (self.value is None):
            raise ValueError(f"'{self.operator}' takes {'no value' if bare else 'a value'}")
        shape = _SHAPES.get(self.operator)
        if shape is not None and self.value is not None and self.value[0] not in shape:
            raise ValueError(f"'{self.operator}' takes {_SHAPE_NAMES[shape]}")
        return self


class Rule(Value):
    """What of a constraint a machine can check, before an act and from its arguments alone."""

    allow: tuple[Id, ...] | None = None
    """Only these tools; None: any."""
    deny: tuple[Id, ...] = ()
    """Never these tools."""
    needs_approval: Flag = False
    """A person must approve each act the rule applies to."""
    require: tuple[Predicate, ...] = ()
    """Conditions the arguments must all meet."""
    resources: tuple[Id, ...] | None = None
    """Only acts on these resources, as the tool declares them; None: any."""
    tenants: tuple[Id, ...] | None = None
    """Only acts for these tenants, as the tool declares them; None: any."""
    tools: tuple[Id, ...] = ()
    """The rule applies to these tools; empty: to all."""


# --- parts of events and commands --------------------------------------------------------------


class Step(Value):
    """One step of a plan."""

    description: Text | None = None
    name: Id
    rests_on: tuple[Ref, ...] = ()
    tool: Id | None = None


class ErrorSaid(Value):
    """What went wrong, in the words of who said so."""

    message: Annotated[str, StringConstraints(strict=True, max_length=65_536)]
    type: Id


class Branch(Value):
    """One of several paths that run side by side."""

    name: Id
    node: Id
    round: Count = 0


class Published(Value):
    """A constraint as its source publishes it."""

    id: Id
    rule: Rule | None = None
    text: Text


# --- closed choices ----------------------------------------------------------------------------


class Recovery(StrEnum):
    """What a tool declares about an outcome that nobody knows."""

    READ_ONLY = "read_only"
    IDEMPOTENT = "idempotent"
    QUERYABLE = "queryable"
    TRANSACTIONAL = "transactional"
    OUTBOX = "outbox"
    AT_MOST_ONCE = "at_most_once"


class Verdict(StrEnum):
    """What the resume gate says, from the mildest to the strictest."""

    CONTINUE = "continue"
    REPLAN = "replan"
    RECONCILE = "reconcile"
    REAPPROVE = "reapprove"
    RESTART = "restart"
    REFUSE = "refuse"


class Outcome(StrEnum):
    """How a run ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"
    RESTARTED = "restarted"


class Change(StrEnum):
    """How an acceptance differs from the one it supersedes."""

    TIGHTENED = "tightened"
    RELAXED = "relaxed"
    REWORDED = "reworded"
