"""The values that events and commands are made of: ids, parties, times, amounts, JSON carried as text.

Everything here is validated when it is made and frozen from then on. Ids are kept byte for byte: two ids
that look alike but differ in bytes are two ids, and none is ever trimmed, folded or normalised.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Never

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from ledger.canonical import MAX_INTEGER, canonical_text, load_text
from ledger.errors import InvalidInput

MAX_ID_LENGTH = 200
"""Characters of the longest id."""


class Value(BaseModel):
    """A frozen value; unknown fields are refused.

    Fields are declared in alphabetical order, which makes pydantic's output canonical JSON.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, use_attribute_docstrings=True, strict=False
    )


# --- ids ---------------------------------------------------------------------------------------


def check_id(text: str) -> str:
    """Return an id as it is, or say what is wrong with it.

    Raises:
        ValueError: empty, blank, longer than 200 characters, or holding a control character.
    """
    if text.isprintable() and 0 < len(text) <= MAX_ID_LENGTH and not text.isspace():
        return text
    if not text:
        raise ValueError("an id cannot be empty")
    if len(text) > MAX_ID_LENGTH:
        raise ValueError(f"an id has at most {MAX_ID_LENGTH} characters, this one has {len(text)}")
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
    kind, colon, name = text.partition(":")
    if not colon or not name.strip() or not re.fullmatch(r"[a-z][a-z0-9_.-]*", kind):
        raise ValueError(f"{text!r} is not 'kind:name', e.g. 'human:kim' or 'customer:17'")
    return text


def _principal(text: str) -> str:
    if text.partition(":")[0] not in PRINCIPAL_KINDS:
        raise ValueError(f"{text!r} does not begin with one of {', '.join(k + ':' for k in PRINCIPAL_KINDS)}")
    return text


def _ref(text: str) -> str:
    if text.partition(":")[0] not in REF_KINDS:
        raise ValueError(f"{text!r} does not begin with one of {', '.join(k + ':' for k in REF_KINDS)}")
    return text


PRINCIPAL_KINDS = ("human", "agent", "service")
REF_KINDS = ("assumption", "constraint", "observation", "effect", "approval", "obligation", "run", "message")

Id = Annotated[
    str,
    AfterValidator(check_id),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": MAX_ID_LENGTH}),
]
"""A name somebody gave: 1 to 200 characters, printable or not, never a control character."""

RunId = Annotated[Id, AfterValidator(_run_id)]
"""The id of a run; it may not start with `$`."""

Party = Annotated[Id, AfterValidator(_party)]
"""Somebody or something named by others, as `kind:name` with any kind: `human:kim`, `customer:17`."""

Principal = Annotated[Party, AfterValidator(_principal)]
"""Who can act: a party of kind human, agent or service."""

Ref = Annotated[Party, AfterValidator(_ref)]
"""Something in this run that other things rest on or wait for: `assumption:in-stock`, `observation:KEY`."""

Text = Annotated[str, StringConstraints(min_length=1, max_length=65_536, pattern=r"\S")]
"""Words for people and models: not blank, at most 65,536 characters, kept as they are."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 as 64 lower-case hexadecimal digits."""

Position = Annotated[int, Field(ge=1, le=MAX_INTEGER)]
"""A place in a stream, counted from 1."""

Count = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
"""A whole number from 0 on."""

Seconds = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
"""A span in whole seconds."""


# --- time --------------------------------------------------------------------------------------


def utc(moment: datetime) -> datetime:
    """Return the moment in UTC.

    Raises:
        ValueError: the datetime has no time zone, so nobody knows which moment it means.
    """
    if moment.tzinfo is None:
        raise ValueError("a time needs a time zone, e.g. datetime.now(UTC)")
    return moment.astimezone(UTC)


def write_time(moment: datetime) -> str:
    """Write a UTC moment in the one form of the record: `2026-01-31T09:15:00.000000Z`, always that long."""
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


Instant = Annotated[
    datetime,
    AfterValidator(utc),
    PlainSerializer(write_time, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A moment; it needs a time zone and is kept in UTC with microseconds."""


# --- amounts -----------------------------------------------------------------------------------


def _exact(value: Any) -> Any:
    if isinstance(value, bool | float):
        raise ValueError(f"{value!r} is not exact; send a string or Decimal, e.g. '10.00'")
    if isinstance(value, str) and not re.fullmatch(r"-?\d+(\.\d+)?", value):
        raise ValueError(f"{value!r} is not a plain decimal number, e.g. '10.00'")
    return value


def _amount(value: Decimal) -> Decimal:
    if not value.is_finite() or value < 0:
        raise ValueError("an amount is a finite number from 0 on")
    if len(f"{value:f}") > 40:
        raise ValueError("an amount has at most 40 digits")
    # A negative zero or an exponent would give one amount two spellings.
    return Decimal(f"{abs(value):f}")


Amount = Annotated[
    Decimal,
    BeforeValidator(_exact),
    AfterValidator(_amount),
    PlainSerializer(lambda value: f"{value:f}", return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)?$"}),
]
"""An exact amount from 0 on; its scale is kept (`10.00` stays `10.00`). Floats are refused."""


class FrozenMap(dict[str, Any]):
    """A dict that cannot be changed, with its keys in canonical order."""

    def _refuse(self, *_: Any, **__: Any) -> Never:
        raise TypeError("this mapping is part of an event and cannot be changed")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenMap, (dict(self),)


def _frozen_map(members: dict[str, Any]) -> dict[str, Any]:
    return FrozenMap(sorted(members.items()))


_Key = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,200}$")]

Amounts = Annotated[dict[_Key, Amount], AfterValidator(_frozen_map)]
"""Amounts by unit, e.g. `{"EUR": "10.00", "tokens": "5000"}`; units are printable ASCII without spaces."""

Labels = Annotated[
    dict[_Key, Annotated[str, StringConstraints(max_length=1000)]], AfterValidator(_frozen_map)
]
"""Words to find runs by; keys are printable ASCII without spaces."""

Counts = Annotated[dict[_Key, Count], AfterValidator(_frozen_map)]
"""Whole numbers by name; names are printable ASCII without spaces."""


# --- JSON carried as text ----------------------------------------------------------------------


def _canonical(text: str) -> str:
    try:
        value = load_text(text)
        again = canonical_text(value)
    except InvalidInput as error:
        raise ValueError(f"{error.path}: {error.reason}") from None
    if again != text:
        raise ValueError("this JSON text is not canonical (RFC 8785)")
    return text


CanonicalJson = Annotated[str, AfterValidator(_canonical)]
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
        return self


# --- who and where from ------------------------------------------------------------------------


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

    def __init__(self, id: str, **fields: Any) -> None:
        super().__init__(id=id, **fields)  # type: ignore[call-arg]

    @property
    def kind(self) -> str:
        """One of human, agent, service."""
        return self.id.partition(":")[0]


class Source(Value):
    """A point in a source stream: `Source("policy", "refunds", revision="4")`."""

    item: Id | None = None
    """Which published constraint; None: the one with the id of the constraint."""
    kind: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_.-]*$", max_length=50)]
    name: Annotated[Id, Field(max_length=149)]
    revision: Id | None = None

    def __init__(self, kind: str, name: str, **fields: Any) -> None:
        super().__init__(kind=kind, name=name, **fields)  # type: ignore[call-arg]

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

    effects: Annotated[int, Field(ge=1, le=MAX_INTEGER)] | None = None
    """Effects intended."""
    refusals_in_a_row: Annotated[int, Field(ge=1, le=MAX_INTEGER)] | None = None
    """Refused effects without one that started in between."""
    steps: Annotated[int, Field(ge=1, le=MAX_INTEGER)] | None = None
    """Cursor moves."""
    wall_seconds: Annotated[int, Field(ge=1, le=MAX_INTEGER)] | None = None
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


class Predicate(Value):
    """One condition on the arguments of an act."""

    operator: Operator
    path: Annotated[str, StringConstraints(pattern=r"^(/.*)?$", max_length=500)]
    """JSON Pointer into the arguments (RFC 6901), e.g. `/payment/amount`."""
    value: CanonicalJson | None = None
    """What to compare with, as canonical JSON; None for `present` and `absent`."""

    @model_validator(mode="after")
    def _complete(self) -> Predicate:
        bare = self.operator in (Operator.PRESENT, Operator.ABSENT)
        if bare != (self.value is None):
            raise ValueError(f"'{self.operator}' takes {'no value' if bare else 'a value'}")
        return self


class Rule(Value):
    """What of a constraint a machine can check, before an act and from its arguments alone."""

    allow: tuple[Id, ...] | None = None
    """Only these tools; None: any."""
    deny: tuple[Id, ...] = ()
    """Never these tools."""
    needs_approval: bool = False
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

    message: Annotated[str, Field(max_length=65_536)]
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
