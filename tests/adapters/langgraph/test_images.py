"""Images of many values: equal only where each would be written as the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from ledger.adapters.langgraph.codec import GraphCodec
from ledger.adapters.langgraph.types import KnownTypes
from ledger.adapters.packs import Memo, pack, unpack


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
    "extra": lambda some: setattr(some[3], "more", 1),
    "class": lambda some: some.__setitem__(3, SystemMessage.model_construct(**some[3].__dict__)),
    "a field is gone": lambda some: some[3].__dict__.pop("name"),
    "another order": lambda some: some[3].__dict__.update(content=some[3].__dict__.pop("content")),
    "a dictionary": lambda some: some.__setitem__(3, dict(some[3])),
    "a tuple": lambda some: some[3].additional_kwargs.update(cached=(1,)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_in_one_of_a_group_is_stored(codec: GraphCodec, name: str) -> None:
    """Changed where it stands, after the group was told by its image twice."""
    some = messages()
    some[3].additional_kwargs["cached"] = True
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
    assert written == [*some[96:], HumanMessage("new")]
    assert memo.size < sum(len(dumps(one, "")) for one in some) * 1.1
    assert len(packed.content) < 1000


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
