"""Which values may stand in the state of a graph, and that each is read as it was written."""

from __future__ import annotations

import dataclasses
import enum
import ipaddress
import math
import re
import subprocess
from collections import Counter, OrderedDict, deque
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple, TypedDict, cast
from uuid import UUID
from zoneinfo import ZoneInfo

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde import _msgpack
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.graph import START, StateGraph
from langgraph.store.base import Item
from langgraph.types import Command, Interrupt, Overwrite, PregelTask, Send, TimeoutPolicy
from pydantic import BaseModel, ConfigDict, PrivateAttr, create_model

import ledger.adapters.langgraph as adapter
from ledger.adapters.langgraph import LedgerSaver, UnknownType
from ledger.adapters.langgraph.codec import GraphCodec
from ledger.adapters.langgraph.types import KnownTypes
from ledger.errors import InvalidInput, UndecodableRecord
from tests.adapters.langgraph.places import config_of, put
from tests.adapters.langgraph.sameness import same

CODEC = GraphCodec(KnownTypes())
BERLIN = ZoneInfo("Europe/Berlin")

VALUES: list[Any] = [
    None,
    True,
    0,
    -(2**63),
    2**64 - 1,
    2**64,
    -(2**200),
    10**5000,
    1.5,
    math.inf,
    -0.0,
    "",
    "ä\u0000\U0001f600",
    "half of a pair: \ud800",
    b"\xc1\x00",
    bytearray(b"x"),
    [],
    [1, [2, (3, {4})]],
    (),
    (1, (2, [3])),
    {},
    {"a": {"b": [None]}},
    {1: "a", "1": "b", None: "c", (1, 2): "d"},
    {"\ud800": 1},
    set(),
    {1, "1", (1,)},
    frozenset({frozenset({1}), "b"}),
    1 + 2j,
    deque([1, 2], maxlen=3),
    OrderedDict([("b", 1), ("a", 2)]),
    datetime(2026, 3, 29, 2, 30, 0, 1, tzinfo=BERLIN, fold=1),
    datetime(2026, 1, 1),  # noqa: DTZ001 - such values are written, too
    datetime(2026, 1, 1, tzinfo=UTC),
    time(1, 2, 3, 4, tzinfo=timezone(timedelta(hours=1), "X"), fold=1),
    date(1, 1, 1),
    timedelta(-1, 2, 3),
    BERLIN,
    Decimal("1.10"),
    Decimal("NaN").copy_sign(Decimal(-1)),
    UUID(int=7),
    Path("/a/b"),
    PurePosixPath("a"),
    PureWindowsPath("c:/a"),
    ipaddress.ip_address("::1"),
    ipaddress.ip_network("10.0.0.0/8"),
    ipaddress.ip_interface("10.0.0.1/8"),
    AIMessage(
        [{"type": "text", "text": "x"}],
        id="1",
        tool_calls=[{"name": "pay", "args": {"at": (1, 2)}, "id": "c", "type": "tool_call"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    ),
    AIMessageChunk(content="x", id="1"),
    ChatMessage(content="x", role="judge"),
    FunctionMessage(content="x", name="f"),
    HumanMessage("x", extra_one={"a": 1}),
    RemoveMessage(id="1"),
    SystemMessage("x"),
    ToolMessage("x", tool_call_id="c", artifact={"rows": [(1, b"x")]}, status="error"),
    Document("x", metadata={"at": date(2026, 1, 1)}),
    [HumanMessage("x"), {"message": HumanMessage("y")}],
    Send("node", {"x": HumanMessage("x")}),
    Send("node", 1, timeout=TimeoutPolicy(run_timeout=1.0)),
    Command(graph=Command.PARENT, update={"a": 1}, goto=[Send("b", 2), "c"]),
    Interrupt(value={"question": "?"}, id="i"),
    Overwrite([1]),
    PregelTask("i", "n", ("a", 1)),
    _DeltaSnapshot([HumanMessage("x")]),
    _DeltaSnapshot({"a": 1}),
]

# What looks like our own marks, and like those of others.
LOOKS: list[Any] = [
    {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["true"]},
    {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"], "kwargs": {}},
    ["langchain_core.messages.human.HumanMessage", {"content": "x"}],
    {"__type__": "set", "value": [1]},
    b"\xc1\x04path/etc/passwd",
]


def kind_of_value(value: Any) -> str:
    """Name a test by a type: what a value looks like may differ from one process to the next."""
    return value if isinstance(value, str) and value.isprintable() else type(value).__name__


@pytest.mark.parametrize("value", VALUES + LOOKS, ids=kind_of_value)
def test_what_is_written_is_read_with_the_same_types(value: Any) -> None:
    content = CODEC.dumps(value, "x")
    read = CODEC.loads(content)
    assert same(read, value)
    assert CODEC.dumps(read, "x") == content, "what is equal is written alike"


@pytest.mark.parametrize("value", VALUES + LOOKS, ids=kind_of_value)
def test_the_same_holds_inside_of_a_list_and_on_the_long_way(value: Any) -> None:
    nested = [{"a": value}, 2**70]  # the integer is what the short way has no form for
    assert same(CODEC.loads(CODEC.dumps(nested, "x")), nested)


_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(st.characters()),
    st.binary(),
    st.datetimes(timezones=st.just(UTC) | st.none()),
    st.decimals(allow_nan=False),
    st.uuids(),
    st.builds(HumanMessage, st.text()),
)
_KEYS = st.one_of(st.text(), st.integers(), st.tuples(st.text(), st.integers()), st.none())
_ANY = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(_KEYS, inner),
        st.builds(lambda arg: Send("n", arg), inner),
    ),
)


@given(_ANY)
def test_any_nesting_of_data_is_read_as_it_was_written(value: Any) -> None:
    assert same(CODEC.loads(CODEC.dumps(value, "x")), value)


@given(st.binary())
def test_bytes_that_are_no_value_are_refused_and_never_raise_anything_else(content: bytes) -> None:
    with suppress(UndecodableRecord):
        CODEC.loads(content)


@given(st.data())
def test_a_value_with_a_byte_changed_is_read_or_refused(data: st.DataObject) -> None:
    content = bytearray(CODEC.dumps([HumanMessage("x"), (1, {2}), Decimal(1), {1: 2}], "x"))
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(UndecodableRecord):
        CODEC.loads(bytes(content))


# --- what is refused --------------------------------------------------------------------------------


class Secretive:
    pass


def cyclic() -> list[Any]:
    value: list[Any] = []
    value.append({"again": value})
    return value


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (Secretive(), "x"),
        ([1, {"a": [Secretive()]}], "x[1].a[0]"),
        ({"not a name": open}, "x['not a name']"),
        ((1, lambda: 1), "x[1]"),
        ({1: {"b": Secretive}}, "x[1].b"),
        (ToolMessage("x", tool_call_id="c", artifact={"client": Secretive()}), "x.artifact.client"),
        (Send("n", {"a": iter([])}), "x[1].a"),
        (cyclic(), "x[0].again"),
        (ValueError("x"), "x"),
        (Counter("a"), "x"),
        (enum.Enum("Colour", "RED").RED, "x"),  # type: ignore[attr-defined]
    ],
    ids=kind_of_value,
)
def test_what_is_no_data_is_refused_with_its_path_as_it_is_written(value: Any, path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        CODEC.dumps(value, "x")
    assert refused.value.path == path


def test_what_is_nested_too_deeply_to_be_read_is_refused_as_it_is_written() -> None:
    assert same(CODEC.loads(CODEC.dumps(deep(150), "x")), deep(150))
    for levels in (300, 5_000):
        with pytest.raises(InvalidInput, match="nested"):
            CODEC.dumps(deep(levels), "x")


@pytest.mark.parametrize(
    "around",
    [
        lambda inner: (inner,),
        lambda inner: Send("n", inner),
        lambda inner: {1: inner},
        lambda inner: frozenset({inner}),
    ],
    ids=["tuple", "send", "keys", "frozenset"],
)
def test_what_takes_the_stack_of_its_reader_is_nested_less_deeply(around: Any) -> None:
    def nested(levels: int) -> Any:
        value: Any = 0
        for _ in range(levels):
            value = around(value)
        return value

    def read_from(frames: int, content: bytes) -> Any:
        return read_from(frames - 1, content) if frames else CODEC.loads(content)

    assert repr(read_from(300, CODEC.dumps(nested(60), "x"))) == repr(nested(60))
    with pytest.raises(InvalidInput, match="nested"):
        CODEC.dumps(nested(70), "x")
    with pytest.raises(InvalidInput, match="nested"):
        CODEC.dumps([2**70, nested(70)], "x")


def test_the_text_of_a_message_is_a_text() -> None:
    text = AIMessage("x").text
    for value in (text, [text], [2**70, text], {"a": (text,)}):
        assert CODEC.loads(CODEC.dumps(value, "x")) == value
    assert type(CODEC.loads(CODEC.dumps(text, "x"))) is str


def test_nested_marks_without_end_are_refused() -> None:
    content = b"\xc0"
    for _ in range(5_000):
        content = ormsgpack.packb(ormsgpack.Ext(2, b"\x91" + content))
    with pytest.raises(UndecodableRecord):
        CODEC.loads(content)


def test_a_refused_value_is_told_by_the_saver_and_nothing_is_saved(
    memory_saver: LedgerSaver, thread: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        put(memory_saver, config_of(thread), Secretive())
    assert refused.value.path == "x"
    assert memory_saver.get_tuple(config_of(thread)) is None


@pytest.mark.parametrize(
    "serde",
    [JsonPlusSerializer(), EncryptedSerializer(cast(Any, None), JsonPlusSerializer())],
    ids=["json", "encrypted"],
)
def test_a_serializer_is_refused(memory_saver: LedgerSaver, serde: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        LedgerSaver(memory_saver.ledger, serde=serde)
    assert refused.value.path == "serde"


# --- registered types -------------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = object()
    BLUE = "blue"


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Name(enum.StrEnum):
    A = "a"


class Point(NamedTuple):
    x: int
    y: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    id: str
    points: tuple[Point, ...] = ()
    total: Decimal = dataclasses.field(default=Decimal(0), init=False)


class Basket(BaseModel):
    model_config = ConfigDict(extra="allow")

    orders: list[Any] = []
    owner: str | None = None
    _seen: int = PrivateAttr(default=0)


class Plain(BaseModel):
    n: int = 0


TYPES = [Access, Basket, Colour, Name, Order, Plain, Point]


def basket() -> Basket:
    value = Basket(orders=[Order("1", (Point(1), Point(2, 3)))], note="x")  # type: ignore[call-arg]
    value._seen = 3
    return value


@pytest.mark.parametrize(
    "value",
    [
        Colour.RED,
        Colour.BLUE,
        Access.READ,
        Access.READ | Access.WRITE,
        Access(0),
        Name.A,
        {Name.A: Name.A},
        Point(1),
        Order("1", (Point(1, 2),)),
        basket(),
        Plain(),
        [Plain(n=2)],
    ],
    ids=kind_of_value,
)
def test_values_of_registered_classes_are_read_as_they_were(value: Any) -> None:
    types = KnownTypes()
    for cls in TYPES:
        types.register(cls)
    codec = GraphCodec(types)
    read = codec.loads(codec.dumps(value, "x"))
    assert read == value
    assert type(read) is type(value)
    if isinstance(value, BaseModel):
        assert read.model_fields_set == value.model_fields_set
        assert read.__pydantic_private__ == value.__pydantic_private__
    with pytest.raises(InvalidInput):
        CODEC.dumps(value, "x")


def test_a_class_that_is_not_registered_where_it_is_read_is_named_and_never_imported(
    memory_saver: LedgerSaver, thread: str
) -> None:
    put(LedgerSaver(memory_saver.ledger, types=[Plain]), config_of(thread), Plain(n=1))
    with pytest.raises(UnknownType) as refused:
        memory_saver.get_tuple(config_of(thread))
    assert refused.value.name == f"{__name__}.Plain"
    assert isinstance(refused.value, UndecodableRecord)
    assert "types=" in str(refused.value)
    other = LedgerSaver(memory_saver.ledger)
    other.register(Plain)
    found = other.get_tuple(config_of(thread))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"x": Plain(n=1)}


def _registered(cls: type, name: str = "plain") -> GraphCodec:
    types = KnownTypes()
    types.register(cls, name)
    return GraphCodec(types)


def test_a_class_that_has_changed_is_validated_and_what_it_does_not_take_is_refused() -> None:
    class Older(BaseModel):
        n: int = 0

    class Wider(BaseModel):
        n: float
        more: str = "none"

    class Other(BaseModel):
        n: list[int]

    content = _registered(Older).dumps(Older(n=3), "x")
    assert _registered(Wider).loads(content) == Wider(n=3)
    with pytest.raises(UnknownType, match="plain"):
        _registered(Other).loads(content)


def test_a_dataclass_that_has_changed_is_built_by_its_own_rules() -> None:
    @dataclasses.dataclass
    class Older:
        n: int

    @dataclasses.dataclass
    class Wider:
        n: int
        more: str = "none"

    @dataclasses.dataclass
    class Other:
        m: int

    content = _registered(Older).dumps(Older(3), "x")
    assert _registered(Wider).loads(content) == Wider(3)
    with pytest.raises(UnknownType, match="plain"):
        _registered(Other).loads(content)


def test_any_class_may_be_registered_with_what_makes_data_of_it() -> None:
    class Money:
        def __init__(self, cents: int) -> None:
            self.cents = cents

    types = KnownTypes()
    types.register(Money, "money", take=lambda value: value.cents, build=Money)
    codec = GraphCodec(types)
    assert codec.loads(codec.dumps([Money(3)], "x"))[0].cents == 3


@pytest.mark.parametrize(
    ("cls", "options"),
    [
        (Secretive, {}),
        (3, {}),
        (Plain, {"name": ""}),
        (Plain, {"name": "x" * 300}),
        (Plain, {"take": vars}),
        (Plain, {"name": f"{__name__}.Point"}),
    ],
)
def test_what_cannot_be_registered_is_refused(cls: Any, options: dict[str, Any]) -> None:
    types = KnownTypes()
    types.register(Point)
    with pytest.raises(InvalidInput):
        types.register(cls, **options)


def _graph(schema: Any, value: Any, saver: LedgerSaver) -> Any:
    builder: Any = StateGraph(schema)
    builder.add_node("n", lambda state: value)
    builder.add_edge(START, "n")
    return builder.compile(checkpointer=saver)


def _schema() -> tuple[Any, Any]:
    local = create_model("local", plain=(Plain, Plain()))
    fields = {"local": local, "more": list[Point] | None}
    schema = TypedDict("schema", fields)  # type: ignore[misc]
    return schema, {"local": local(plain=Plain(n=2)), "more": [Point(1)]}


def test_the_schema_of_a_graph_stands_for_all_classes_in_it(memory_saver: LedgerSaver, thread: str) -> None:
    schema, value = _schema()
    with pytest.raises(InvalidInput, match="types="):
        _graph(schema, value, memory_saver).invoke({}, config_of(f"{thread}-refused"))
    graph = _graph(schema, value, LedgerSaver(memory_saver.ledger, gate="off", types=[schema]))
    graph.invoke({}, config_of(thread))
    assert graph.get_state(config_of(thread)).values == value


def test_a_strict_graph_tells_the_classes_of_its_schema_by_itself(
    memory_saver: LedgerSaver, thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langgraph._internal._serde.STRICT_MSGPACK_ENABLED", True)
    schema, value = _schema()
    value["more"] = None
    graph = _graph(schema, value, memory_saver)
    graph.invoke({}, config_of(thread))
    assert graph.get_state(config_of(thread)).values == value
    # It is the graph that knows them: the saver as it was given knows no more than before.
    with pytest.raises(UnknownType):
        memory_saver.get_tuple(config_of(thread))


def test_a_graph_whose_classes_are_known_gets_the_saver_itself(memory_saver: LedgerSaver) -> None:
    known = memory_saver.with_allowlist({("langchain_core.messages.human", "HumanMessage")})
    assert (
        known is memory_saver
        or known.with_allowlist({("langchain_core.messages.human", "HumanMessage")}) is known
    )
    assert memory_saver.with_allowlist(set()) is memory_saver


def test_each_type_that_langgraph_itself_reads_unasked_is_known() -> None:
    known = {(kind.cls.__module__, kind.cls.__name__) for kind in map(KnownTypes().of, _BUILTINS) if kind}
    missing = {
        (module, name)
        for module, name in _msgpack.SAFE_MSGPACK_TYPES
        if (module, name) not in known and name not in _ELSEWHERE
    }
    assert missing == set()


_BUILTINS = list(KnownTypes().written)
_ELSEWHERE = {
    "set",  # have forms of their own
    "frozenset",
    "compile",  # the function that makes a pattern
    "BaseMessage",  # nothing is of these classes themselves
    "BaseMessageChunk",
    "Path",
    "WindowsPath",  # of other systems and later Pythons
    "PosixPath",
}


def test_an_item_of_a_store_and_a_pattern_are_read_as_they_were() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    item = Item(value={"a": 1}, key="k", namespace=("a", "b"), created_at=at, updated_at=at)
    assert CODEC.loads(CODEC.dumps(item, "x")) == item
    pattern = re.compile("a", re.IGNORECASE)
    assert CODEC.loads(CODEC.dumps(pattern, "x")) == pattern


def test_a_message_with_fields_that_its_class_did_not_have_then_is_validated() -> None:
    fields = {**HumanMessage("x").__dict__, "added_later": 1}
    mark = KnownTypes().written[HumanMessage][0]
    read = CODEC.loads(mark + ormsgpack.packb(fields))
    assert read == HumanMessage("x", added_later=1)


# --- nothing is run ---------------------------------------------------------------------------------


def test_no_name_that_is_read_is_imported_and_nothing_is_unpickled() -> None:
    folder = Path(adapter.__file__).parent
    found = subprocess.run(
        [
            "grep",
            "-rnE",
            "pickle|importlib|__import__|getattr\\(importlib|eval\\(|exec\\(",
            "--include=*.py",
            str(folder),
        ],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert found == ""


@pytest.mark.parametrize(
    "name", ["os.system", "builtins.eval", "langchain_core.messages.human", "HumanMessage", ""]
)
def test_a_name_that_is_in_no_table_is_refused(name: str) -> None:
    content = bytes((0xC1, len(name))) + name.encode() + ormsgpack.packb("true")
    with pytest.raises(UnknownType):
        CODEC.loads(content)
    nested = ormsgpack.packb([ormsgpack.Ext(1, ormsgpack.packb([name, "true"]))])
    in_a_set = ormsgpack.packb(ormsgpack.Ext(6, ormsgpack.packb([nested])))
    for content in (nested, in_a_set, ormsgpack.packb([ormsgpack.Ext(2, nested)])):
        with pytest.raises(UnknownType) as refused:
            CODEC.loads(content)
        assert refused.value.name == name
