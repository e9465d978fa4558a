"""What is taken is read as it was, of equal types; what could not be is refused as it is written."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import io
import operator
import struct
from collections.abc import Callable
from dataclasses import InitVar, dataclass
from typing import Any, Generic, NamedTuple, TypeVar, cast
from zoneinfo import ZoneInfo

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel, PrivateAttr, RootModel
from pydantic.dataclasses import dataclass as checked_dataclass

from ledger.adapters.langgraph import LedgerSaver
from ledger.adapters.langgraph.codec import GraphCodec
from ledger.adapters.langgraph.types import KnownTypes
from ledger.errors import InvalidInput
from tests.adapters.langgraph.places import config_of, put
from tests.adapters.langgraph.sameness import same

T = TypeVar("T")


@dataclass
class Order:
    quantity: Any

    def __post_init__(self) -> None:
        self.total = [self.quantity]

    @functools.cached_property
    def dear(self) -> bool:
        return True


@dataclass(frozen=True)
class Frozen:
    a: int
    b: InitVar[Any] = 3

    def __post_init__(self, b: Any) -> None:
        object.__setattr__(self, "c", b)


class _Slotted:
    __slots__ = ("hidden",)


@dataclass(slots=True)
class Slots(_Slotted):
    a: Any

    def __post_init__(self) -> None:
        self.hidden = (self.a,)  # type: ignore[misc]


@dataclass
class Box(Generic[T]):
    value: T


@checked_dataclass
class Checked:
    n: int = 0


class Pair(collections.namedtuple("Pair", "x y")):
    def __new__(cls, text: str) -> Pair:
        return super().__new__(cls, *text.split(","))


class Point(NamedTuple):
    x: Any
    y: int = 3


class Basket(BaseModel):
    a: Any = 1
    _seen: Any = PrivateAttr(default=5)

    @functools.cached_property
    def dear(self) -> bool:
        return True


class Numbers(RootModel[list[int]]):
    pass


class Text(str):
    __slots__ = ()


TYPES: list[Any] = [Basket, Box, Checked, Frozen, Numbers, Order, Pair, Point, Slots]


def codec() -> GraphCodec:
    types = KnownTypes()
    for cls in TYPES:
        types.register(cls)
    return GraphCodec(types)


CODEC = codec()


def noted(value: Any, note: Any) -> Any:
    value.note = note
    return value


def beside(value: BaseModel, note: Any) -> BaseModel:
    value.__dict__["note"] = note
    return value


def private(value: Any) -> Basket:
    basket = Basket()
    basket._seen = value
    return basket


_LEAVES = st.one_of(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    st.binary().map(bytearray),
    st.binary().map(lambda one: memoryview(one)),  # noqa: PLW0108 - its type is of one argument
    st.just(ormsgpack.Ext(2, ormsgpack.packb([1]))),
    st.just(ormsgpack.Fragment(ormsgpack.packb(1))),
    st.builds(Text, st.text()),
    st.just(Pair("1,2")) | st.just(Numbers([1])) | st.just(Checked(2)) | st.builds(Frozen, st.integers()),
)
_ANY = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(st.text() | st.integers() | st.builds(Text, st.text()), inner),
        st.builds(Order, inner),
        st.builds(Slots, inner),
        st.builds(Box, inner),
        st.builds(Point, inner),
        st.builds(lambda one: Frozen(1, one), inner),
        st.builds(lambda one: noted(Pair("1,2"), one), inner),
        st.builds(lambda one: noted(Order(1), one), inner),
        st.builds(lambda one: beside(Basket(), one), inner),
        st.builds(private, inner),
        st.builds(lambda one: HumanMessage("x", additional_kwargs={"one": one}), inner),
    ),
)


def written(value: Any) -> tuple[bytes | None, str]:
    """Write a value; where it is refused return the path."""
    try:
        return CODEC.dumps(value, "x"), ""
    except InvalidInput as refused:
        return None, refused.path or ""


@given(_ANY)
def test_any_value_is_read_with_equal_types_or_refused_with_its_path(value: Any) -> None:
    content, path = written(value)
    if content is None:
        assert path.startswith("x")
        return
    read = CODEC.loads(content)
    assert same(read, value)
    assert CODEC.dumps(read, "x") == content


KEPT: dict[str, Any] = {
    "post_init": Order(2),
    "init_var": Frozen(1, 7),
    "slots": Slots(1),
    "named tuple that is made of a text": Pair("1,2"),
    "named tuple with an attribute": noted(Pair("1,2"), [1]),
    "model with an attribute": beside(Basket(), 1),
    "bytes that change": {"a": [bytearray(b"x")], "b": (bytearray(b"y"), 1)},
    "message": AIMessage("x", additional_kwargs={"a": bytearray(b"x")}),
    "long key": {10**5000: 10**5000},
}


@pytest.mark.parametrize("name", KEPT)
def test_attributes_and_types_come_back(name: str) -> None:
    value = KEPT[name]
    for one in (value, [value], {"a": value}):
        assert same(CODEC.loads(CODEC.dumps(one, "x")), one)


def test_what_a_generic_class_notes_of_its_call_is_left_out() -> None:
    assert CODEC.loads(CODEC.dumps(Box[int](1), "x")) == Box(1)


@pytest.mark.parametrize("made", [lambda: Order(1), Basket], ids=["dataclass", "model"])
def test_what_is_computed_once_is_computed_again(made: Callable[[], Any]) -> None:
    value = made()
    assert value.dear
    read = CODEC.loads(CODEC.dumps(value, "x"))
    assert "dear" not in vars(read)
    assert read.dear


def test_an_attribute_that_is_no_data_is_refused() -> None:
    for value in (noted(Order(1), open), noted(Pair("1,2"), open), beside(Basket(), open)):
        with pytest.raises(InvalidInput, match="builtin_function_or_method is not stored") as refused:
            CODEC.dumps([value], "x")
        assert (refused.value.path or "").endswith(".note")


@pytest.mark.parametrize(
    "value",
    [
        memoryview(b"x"),
        ormsgpack.Ext(2, ormsgpack.packb([1])),
        ormsgpack.Ext(99, b""),
        ormsgpack.Fragment(ormsgpack.packb(1)),
        ZoneInfo.from_file(
            io.BytesIO(b"TZif" + bytes(16) + struct.pack(">6llbb", 0, 0, 0, 0, 1, 4, 0, 0, 0) + b"UTC\0")
        ),
    ],
    ids=["memoryview", "ext", "unknown ext", "fragment", "zone"],
)
def test_what_would_be_read_as_something_else_is_refused(value: Any) -> None:
    within: list[tuple[Any, str]] = [
        (value, "x"),
        ([value], "x[0]"),
        ({"a": value}, "x.a"),
        ({"a": [1, (value,)]}, "x.a[1][0]"),
        (Order([value]), "x[1].quantity[0]"),
        (HumanMessage("x", additional_kwargs={"a": value}), "x.additional_kwargs.a"),
    ]
    for one, path in within:
        with pytest.raises(InvalidInput) as refused:
            CODEC.dumps(one, "x")
        assert refused.value.path == path


@pytest.mark.parametrize("value", [bytearray(b"x"), memoryview(b"x" * 300), memoryview(b"x" * 70_000)])
def test_what_is_no_bytes_is_not_taken_for_stored_bytes(value: Any) -> None:
    def messages(one: Any) -> list[Any]:
        return [HumanMessage("x"), HumanMessage("x", additional_kwargs={"a": [one]})]

    assert CODEC.image(messages(bytes(value))) is not None
    assert CODEC.image(messages(value)) is None


def test_one_type_in_the_place_of_another_is_saved_anew(memory_saver: LedgerSaver, thread: str) -> None:
    messages = [HumanMessage("x", id=str(n), additional_kwargs={"a": b"x"}) for n in range(40)]
    config = put(memory_saver, config_of(thread), messages)
    messages[3].additional_kwargs["a"] = bytearray(b"x")
    put(memory_saver, config, messages)
    found = memory_saver.get_tuple(config_of(thread))
    assert found is not None
    assert type(found.checkpoint["channel_values"]["x"][3].additional_kwargs["a"]) is bytearray


@dataclass
class Listed(list[int]):
    name: str = ""


@dataclass
class Mapped(dict[str, int]):
    name: str = ""


@dataclass
class Failed(Exception):
    code: int = 0


class Odd:
    def __repr__(self) -> str:
        raise ValueError("no text")

    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize("cls", [Listed, Mapped, Failed])
def test_a_class_whose_values_could_not_be_read_is_refused_as_it_is_registered(
    memory_saver: LedgerSaver, cls: Any
) -> None:
    with pytest.raises(InvalidInput, match="besides, which its fields do not tell") as refused:
        memory_saver.register(cls)
    assert refused.value.path == "types"
    types = KnownTypes()
    types.register(cls, take=lambda value: [list(value.args)], build=lambda data: cls(*data))
    schema = dataclasses.make_dataclass("schema", [("one", cls), ("two", Point)])
    types = KnownTypes()
    types.register(schema)
    assert types.of(cls) is None
    assert types.of(Point) is not None


def test_a_dataclass_that_computes_a_field_is_refused() -> None:
    class Base:
        def _get(self) -> int:
            return 1

        def _set(self, value: int) -> None:
            self.__dict__["n"] = value

    cls = dataclasses.make_dataclass("Computing", [("n", int)], bases=(Base,))
    cast(Any, cls).n = property(Base._get, Base._set)
    with pytest.raises(InvalidInput, match="computes its field 'n'"):
        KnownTypes().register(cls)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({Odd(): 1}, "x.keys()"),
        ({(1, 2): Odd()}, "x[(1, 2)]"),
        ({10**5000: open}, "x[<int>]"),
        ({Odd(): 1, "a": 10**5000}, "x.keys()"),
    ],
    ids=["key", "value", "long key", "both"],
)
def test_no_other_error_leaves_what_writes_a_value(value: Any, path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        CODEC.dumps(value, "x")
    assert refused.value.path == path


def test_an_integer_of_any_length_stands_in_a_state_and_its_metadata(
    memory_saver: LedgerSaver, thread: str
) -> None:
    long = 10**5000
    config = put(memory_saver, config_of(thread), {long: [long, {"a": long}]})
    memory_saver.put_writes(config, [("x", {long: long})], "task")
    found = memory_saver.get_tuple(config_of(thread))
    assert found is not None
    assert found.checkpoint["channel_values"]["x"] == {long: [long, {"a": long}]}
    assert [value for _, _, value in found.pending_writes or ()] == [{long: long}]


def test_a_saver_tells_why_it_cannot_be_copied(memory_saver: LedgerSaver) -> None:
    for copied in (copy.deepcopy, operator.methodcaller("__reduce_ex__", 4)):
        with pytest.raises(TypeError, match="holds an open ledger"):
            copied(memory_saver)
