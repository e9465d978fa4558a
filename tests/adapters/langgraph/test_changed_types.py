"""Classes that have changed since values of theirs were saved: nothing of those is lost silently."""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from dataclasses import dataclass
from typing import Annotated, Any, cast

import pytest
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, PrivateAttr, RootModel, create_model
from pydantic.dataclasses import dataclass as checked_dataclass

from ledger.adapters.langgraph import UnknownType
from ledger.adapters.langgraph.codec import GraphCodec
from ledger.adapters.langgraph.types import KnownTypes


def read_as(cls: Any, value: Any) -> Any:
    """Write a value, and read it where its name is another class's."""

    def codec(of: type) -> GraphCodec:
        types = KnownTypes()
        types.register(of, "one")
        return GraphCodec(types)

    return codec(cls).loads(codec(type(value)).dumps(value, "x"))


class Order(BaseModel):
    amount: int = Field(0, alias="Amount")


class Wider(BaseModel):
    amount: int = Field(0, alias="Amount")
    note: str = ""


class Chosen(BaseModel):
    amount: float = Field(0, validation_alias=AliasChoices("Amount", "amount_of"))  # type: ignore[pydantic-alias]


class Renamed(BaseModel):
    total: int = 0


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    total: int = 0


class Note(BaseModel):
    model_config = ConfigDict(frozen=True)

    n: int = 0
    _seen: int = PrivateAttr(default=0)


class LongerNote(BaseModel):
    model_config = ConfigDict(frozen=True)

    n: int = 0
    more: str = ""
    _seen: int = PrivateAttr(default=0)
    _new: int = PrivateAttr(default=7)


class NoteWithoutMemory(BaseModel):
    n: int = 0


def seen() -> Note:
    value = Note(n=1)
    value._seen = 3
    return value


def test_fields_go_by_their_own_names_whatever_their_aliases_are() -> None:
    order = Order(Amount=480)
    assert read_as(Wider, order) == Wider(Amount=480)
    assert read_as(Chosen, order).amount == 480
    assert read_as(Order, Chosen(Amount=480.0)).amount == 480


def test_which_fields_were_given_is_kept() -> None:
    assert read_as(Wider, Order()).model_fields_set == set()
    assert read_as(Wider, Order(Amount=1)).model_fields_set == {"amount"}


@pytest.mark.parametrize(
    ("cls", "value", "lost"),
    [
        (Renamed, Order(Amount=480), "amount"),
        (Renamed, Open.model_validate({"total": 1, "note": "x"}), "note"),
        (create_model("Removed"), Renamed(total=1), "total"),
        (NoteWithoutMemory, seen(), "_seen"),
        (dataclasses.make_dataclass("D", [("m", int, 0)]), dataclasses.make_dataclass("D", ["n"])(1), "n"),
        (
            dataclasses.make_dataclass("D", [("m", int, 0)]),
            dataclasses.make_dataclass("D", [("n", int, dataclasses.field(init=False, default=2))])(),
            "n",
        ),
        (namedtuple("NT", "a"), cast(Any, namedtuple("NT", "a b"))(1, 2), "b"),
    ],
    ids=["renamed", "extra", "removed", "private", "dataclass", "no argument", "named tuple"],
)
def test_what_a_class_has_no_place_for_any_more_is_told(cls: Any, value: Any, lost: str) -> None:
    with pytest.raises(UnknownType, match=f"no place for '{lost}'") as told:
        read_as(cls, value)
    assert told.value.name == "one"


def test_a_class_that_takes_anything_takes_what_it_has_no_field_for() -> None:
    assert read_as(Open, Order(Amount=480)) == Open(amount=480)  # type: ignore[call-arg]
    with_field = create_model("WithField", total=(int, 0), note=(str, ""))
    assert read_as(with_field, Open(total=1, note="x")).note == "x"  # type: ignore[call-arg]


def test_private_attributes_are_as_they_were_and_new_ones_have_their_defaults() -> None:
    read = read_as(LongerNote, seen())
    assert (read.n, read._seen, read._new) == (1, 3, 7)


def test_a_class_whose_private_attributes_alone_have_changed_has_changed() -> None:
    with_more = create_model("WithMore", n=(int, 0), _seen=(int, PrivateAttr(0)), _new=(int, PrivateAttr(7)))
    read = cast(Any, read_as(with_more, seen()))
    assert (read._seen, read._new) == (3, 7)


def test_a_model_that_is_one_value_is_validated_as_that() -> None:
    assert read_as(RootModel[list[float]], RootModel[list[int]]([1])).root == [1.0]


def test_a_dataclass_is_made_anew_and_keeps_what_was_computed_then() -> None:
    @dataclass
    class Older:
        n: int
        total: int = dataclasses.field(init=False)

        def __post_init__(self) -> None:
            self.total = self.n
            self.twice = 2 * self.n

    @dataclass
    class Newer:
        n: int
        more: str = "none"
        total: int = dataclasses.field(init=False)

        def __post_init__(self) -> None:
            self.total = self.twice = self.later = 0

    read = read_as(Newer, Older(3))
    assert vars(read) == {"n": 3, "more": "none", "total": 3, "twice": 6, "later": 0}


def test_a_checked_dataclass_goes_by_names_too() -> None:
    @checked_dataclass
    class Older:
        amount: int = Field(0, alias="Amount")

    @checked_dataclass
    class Newer:
        amount: int = Field(0, alias="Amount")
        note: str = ""

    assert read_as(Newer, Older(Amount=480)) == Newer(Amount=480)


def test_a_named_tuple_gets_the_defaults_of_what_is_new() -> None:
    older: Any = namedtuple("older", "a b")
    newer: Any = namedtuple("newer", "b a c", defaults=[3])
    assert read_as(newer, older(1, 2)) == newer(2, 1, 3)
    with pytest.raises(UnknownType):
        read_as(namedtuple("other", "a b d"), older(1, 2))


def test_a_document_with_a_field_that_its_class_has_not_is_told() -> None:
    types = KnownTypes()
    take, build = types.of(Document)[2:]  # type: ignore[index]
    with pytest.raises(ValueError, match="no place for 'score'"):
        build({**take(Document("x")), "score": 1})
    message = types.of(HumanMessage)
    assert message is not None
    assert message.build({"content": "x"}) == HumanMessage("x")


def reduced_by_a_function() -> type:
    """Make a dataclass as another process makes it: the functions in its annotations lie elsewhere."""
    reduced = Annotated[list[str], lambda old, new: [*old, *new]]
    counted = Annotated[int, Field(default_factory=lambda: 3)]
    fields: list[Any] = [("items", reduced), ("count", counted), ("seed", dataclasses.InitVar[int])]

    def post_init(self: Any, seed: int) -> None:
        self.total = seed

    return dataclasses.make_dataclass("Cart", fields, namespace={"__post_init__": post_init})


def test_a_function_in_an_annotation_does_not_make_it_another_class() -> None:
    """What tells how a list grows, or makes a default, has an address of its own in each process."""
    read = read_as(reduced_by_a_function(), reduced_by_a_function()(["a"], 1, seed=7))
    assert vars(read) == {"items": ["a"], "count": 1, "total": 7}

    def model() -> Any:
        return create_model("Cart", items=(list[Annotated[str, lambda: None]], Field(default_factory=list)))

    assert read_as(model(), model().model_construct(items=(1, 2))).items == (1, 2), "not validated"


def test_a_new_field_whose_default_is_made_has_another_one_whenever_it_is_read() -> None:
    numbers = iter(range(9))
    newer = create_model("Newer", total=(int, 0), number=(int, Field(default_factory=lambda: next(numbers))))
    assert [read_as(newer, Renamed(total=5)).number for _ in range(3)] == [0, 1, 2]
