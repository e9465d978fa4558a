"""Images of many values: equal only where each would be written as the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from ledger.adapters.langgraph.codec import GraphCodec
from ledger.adapters.langgraph.types import KnownTypes
from ledger.adapters.packs import Memo, pack, unpack
from ledger.errors import InvalidInput


@pytest.fixture
def codec() -> GraphCodec:
    return GraphCodec(KnownTypes())


def messages(count: int = 40) -> list[Any]:
    return [
        (HumanMessage if number % 2 else AIMessage)(content=f"{number} hello", id=f"m-{number}")
        for number in range(count)
    ]


CHANGES: dict[str, Callable[[list[Any]], object]] = {
    "content": lambda some: setattr(some[3], "content", "other"),
    "in place": lambda some: some[3].additional_kwargs.update(a=[1]),
    "a number for a truth": lambda some: some[3].additional_kwargs.update(cached=1),
    "other bytes": lambda some: some[3].additional_kwargs.update(raw=bytearray(b"a")),
    "extra": lambda some: setattr(some[3], "more", 1),
    "class": lambda some: some.__setitem__(3, SystemMessage.model_construct(**some[3].__dict__)),
    "a field is gone": lambda some: some[3].__dict__.pop("name"),
    "another order": lambda some: some[3].__dict__.update(content=some[3].__dict__.pop("content")),
    "a dictionary": lambda some: some.__setitem__(3, dict(some[3])),
    "a tuple": lambda some: some[3].additional_kwargs.update(cached=(1,)),
}


@pytest.mark.parametrize("count", [40, 17])
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_in_a_list_is_stored(codec: GraphCodec, name: str, count: int) -> None:
    """Changed where it stands, in a group that was told by its image twice, and where there is no group."""
    some = messages(count)
    some[3].additional_kwargs.update(cached=True, raw=b"a")
    memo, stored = Memo(), {}
    for number in range(4):
        if number == 3:
            CHANGES[name](some)
        packed = pack({"messages": some}, b"head", codec, memo=memo)
        digest = bytes([number]) * 32
        stored[digest] = packed.content
        packed.note(memo, None, digest)
    found = unpack(digest, stored[digest], lambda wanted: {one: stored[one] for one in wanted}, codec)
    read = found.values["messages"]
    assert [codec.dumps(one, "") for one in read] == [codec.dumps(one, "") for one in some]
    assert [type(one) for one in read] == [type(one) for one in some]
    assert "m-3" in repr(read[3])


def test_a_long_list_is_not_written_one_by_one_again(
    codec: GraphCodec, monkeypatch: pytest.MonkeyPatch
) -> None:
    memo, some = Memo(), messages(100)
    for number in range(2):
        pack({"messages": some}, b"head", codec, memo=memo).note(memo, None, bytes([number]) * 32)
    written: list[BaseMessage] = []
    dumps = codec.dumps

    def watched(value: Any, path: str) -> bytes:
        written.append(value)
        return dumps(value, path)

    monkeypatch.setattr(codec, "dumps", watched)
    packed = pack({"messages": [*some, HumanMessage("new")]}, b"head", codec, memo=memo)
    assert written == [HumanMessage("new")]
    assert memo.size < sum(len(dumps(one, "")) for one in some) * 1.1
    assert len(packed.content) < 1000


@pytest.mark.parametrize("count", [40, 17])
def test_messages_in_the_place_of_dictionaries_of_their_fields_are_stored(
    codec: GraphCodec, count: int
) -> None:
    some, memo, stored = messages(count), Memo(), {}
    for number, values in enumerate(([dict(one.__dict__) for one in some], some)):
        packed = pack({"messages": values}, b"head", codec, memo=memo)
        digest = bytes([number]) * 32
        stored[digest] = packed.content
        packed.note(memo, None, digest)
    found = unpack(digest, stored[digest], lambda wanted: {one: stored[one] for one in wanted}, codec)
    assert found.values["messages"] == some


DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, -0.0, 1.0, "", "a", b"", b"a"]),
    lambda part: st.lists(part, max_size=2) | st.tuples(part) | st.dictionaries(st.just("a"), part),
    max_leaves=3,
)
THINGS = (
    DATA
    | st.builds(bytearray, st.just(b"a"))
    | st.builds(HumanMessage, content=st.just("a"), additional_kwargs=st.dictionaries(st.just("b"), DATA))
    | st.builds(AIMessage, content=st.just("a"), more=DATA)
)
FIELDS = st.just(HumanMessage("a")).map(lambda one: dict(one.__dict__)) | st.just(HumanMessage("a"))


@given(st.data())
def test_what_is_told_of_many_values_at_once_is_what_each_is_written_as(data: st.DataObject) -> None:
    """Equal images, and one question about all pieces, say no more than writing each by itself."""
    codec = GraphCodec(KnownTypes())
    some = data.draw(st.lists(THINGS, min_size=1, max_size=20) | st.lists(FIELDS, min_size=1, max_size=3))
    others = [data.draw(st.just(one) | THINGS | FIELDS) for one in some]
    pieces = [written_by(codec, one) for one in others]
    alike = b"" not in pieces and [written_by(codec, one) for one in some] == pieces
    assert not codec.is_written_as(some, pieces) or alike
    image = codec.image(others)
    assert image is None or codec.image(some, image) is not image or alike
    assert image is None or codec.image(list(others), image) is image


def written_by(codec: GraphCodec, value: Any) -> bytes:
    """Write a value by itself; empty where it is refused."""
    try:
        return codec.dumps(value, "")
    except InvalidInput:
        return b""


def test_values_of_one_kind_are_told_by_their_pieces(codec: GraphCodec) -> None:
    for some in (messages(20), messages(3), [1, "a", {"b": [None]}], [b"a"] * 17):
        assert codec.is_written_as(some, [codec.dumps(one, "") for one in some])


@pytest.mark.parametrize("value", [object(), {"a": object()}, 2**70, "\ud800", {1: 2}])
def test_what_messagepack_cannot_write_has_no_image_or_the_right_one(codec: GraphCodec, value: Any) -> None:
    one, other = codec.image([value] * 3), codec.image([value, value, 0])
    assert one is None or one != other


def test_a_type_that_is_written_in_its_own_way_has_no_image(codec: GraphCodec) -> None:
    assert codec.image([{"a": 1}]) == codec.image([{"a": 1}]) != codec.image([{"a": 2}])
    assert codec.image(messages(2)) is not None
    codec.types.register(dict, "counted", take=len, build=lambda size: dict.fromkeys(range(size)))
    codec.types.register(HumanMessage, "human")
    assert codec.image([{"a": 1}]) is None
    assert codec.image(messages(2)) is None
