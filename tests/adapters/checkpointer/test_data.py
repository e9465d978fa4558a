"""A state is plain data: it loads equal and of equal types, and anything else is refused by its path."""

from __future__ import annotations

import asyncio
import datetime as dt
import enum
import io
import json
import re
import socket
import threading
import types
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.adapters.checkpointer import Checkpointer
from ledger.adapters.checkpointer.codec import DataCodec
from ledger.adapters.checkpointer.data import DEPTH, Format, check_data
from ledger.errors import InvalidInput, UndecodableRecord


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal and of equal types, all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return repr(one) == repr(other)  # 0.0 and -0.0 are two


def values(format: Format) -> st.SearchStrategy[Any]:
    text = st.text(st.characters(exclude_categories=["Cs"]))
    numbers = st.integers(-(2**63), 2**64 - 1) if format == "msgpack" else st.integers()
    floats = st.floats(allow_nan=False, allow_infinity=False)
    leaves: st.SearchStrategy[Any] = st.one_of(st.none(), st.booleans(), numbers, floats, text)
    if format == "msgpack":
        leaves |= st.binary()
    return st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(text, inner), max_leaves=12)


@pytest.fixture(scope="module")
def saves() -> Iterator[dict[Format, Checkpointer]]:
    with (
        Checkpointer.open(":memory:", messages=None) as plain,
        Checkpointer.open(":memory:", messages=None, format="msgpack") as packed,
    ):
        yield {"json": plain, "msgpack": packed}


@given(data=st.data(), format=st.sampled_from(["json", "msgpack"]))
def test_what_is_saved_loads_equal_and_of_equal_types(
    saves: dict[Format, Checkpointer], data: st.DataObject, format: Format
) -> None:
    state = data.draw(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), values(format)))
    thread = "property"
    saves[format].load(thread)
    id = saves[format].save(thread, state, at="loop_tail")
    assert same(saves[format].load_checkpoint(thread, id).state, state)


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 1


class Client:
    def __repr__(self) -> str:
        return "Client(token='secret')"


class Text(str):
    pass


def generate() -> Iterator[int]:
    yield 1


async def later() -> None:
    pass


def cycle() -> list[Any]:
    inner: list[Any] = []
    inner.append({"again": inner})
    return inner


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def coroutine() -> Any:
    made = later()
    made.close()
    return made


def closed_socket() -> socket.socket:
    made = socket.socket()
    made.close()
    return made


REFUSED: list[tuple[str, Callable[[], Any], str]] = [
    ("function", lambda: generate, "a function"),
    ("builtin", lambda: len, "a function"),
    ("method", lambda: Client().__repr__, "a function"),
    ("lambda", lambda: lambda: 1, "a function"),
    ("class", lambda: Client, "a class"),
    ("generator", generate, "a generator"),
    ("coroutine", coroutine, "a coroutine"),
    ("lock", threading.Lock, "a lock"),
    ("rlock", threading.RLock, "a lock"),
    ("event", threading.Event, "a lock"),
    ("semaphore", threading.BoundedSemaphore, "a lock"),
    ("async lock", asyncio.Lock, "a lock"),
    ("thread", threading.Thread, "a thread"),
    ("socket", closed_socket, "a socket"),
    ("file", io.StringIO, "an open file"),
    ("module", lambda: types, "a module"),
    ("client", Client, "an object of tests.adapters.checkpointer.test_data.Client"),
    ("exception", lambda: ValueError("secret"), "an object of ValueError"),
    ("tuple", lambda: (1, 2), "a tuple would come back as a list"),
    ("set", lambda: {1}, "a set"),
    ("frozenset", lambda: frozenset({1}), "a set"),
    ("keys", {"a": 1}.keys, "a set"),
    ("bytearray", lambda: bytearray(b"x"), "a bytearray"),
    ("enum", lambda: Colour.RED, "an enum member"),
    ("int enum", lambda: Level.HIGH, "an enum member"),
    ("datetime", lambda: dt.datetime(2026, 1, 1), "a date"),  # noqa: DTZ001 - of any kind
    ("date", lambda: dt.date(2026, 1, 1), "a date"),
    ("time", lambda: dt.time(1), "a time"),
    ("timedelta", lambda: dt.timedelta(1), "a span of time"),
    ("decimal", lambda: Decimal("1.0"), "a Decimal"),
    ("uuid", uuid.uuid4, "a UUID"),
    ("path", lambda: PurePosixPath("secret"), "a path"),
    ("str subclass", lambda: Text("x"), "another type"),
    ("dict subclass", lambda: OrderedDict(a=1), "another type"),
    ("complex", lambda: 1j, "an object of complex"),
    ("ellipsis", lambda: ..., "an object of ellipsis"),
    ("nan", lambda: float("nan"), "nan"),
    ("infinity", lambda: float("-inf"), "-inf"),
    ("surrogate", lambda: "\ud800", "surrogate"),
    ("surrogate in a key", lambda: {"\udfff": 1}, "surrogate"),
    ("number as key", lambda: {1: 1}, "a key is a text, not int"),
    ("none as key", lambda: {None: 1}, "a key is a text, not NoneType"),
    ("tuple as key", lambda: {(1, 2): 1}, "a key is a text, not tuple"),
    ("cycle", cycle, "a cycle"),
    ("depth", lambda: deep(DEPTH), "levels"),
    ("endless integer", lambda: 2**9000, "bits"),
]


@pytest.mark.parametrize("format", ["json", "msgpack"])
@pytest.mark.parametrize(("make", "said"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_is_no_data_is_refused_with_its_path(
    saves: dict[Format, Checkpointer], format: Format, make: Callable[[], Any], said: str
) -> None:
    state = {"tools": [0, 1, {"client": make()}]}
    thread = "refused"
    with pytest.raises(InvalidInput, match=re.escape(said) if said != "bits" else "bits") as told:
        saves[format].save(thread, state, at="before_wait")
    assert told.value.path.startswith("state.tools[2].client")
    assert "token" not in str(told.value)
    assert "secret" not in str(told.value)
    assert saves[format].load(thread) is None


def test_json_has_no_bytes_and_messagepack_no_integers_beyond_64_bits(
    saves: dict[Format, Checkpointer],
) -> None:
    for format, value in (("json", b"x"), ("msgpack", 2**64), ("msgpack", -(2**63) - 1)):
        with pytest.raises(InvalidInput) as told:
            saves[format].save("bounds", {"a": [value]}, at="before_wait")  # type: ignore[index]
        assert told.value.path == "state.a[0]"


@pytest.mark.parametrize("state", [None, [], "text", [("a", 1)], OrderedDict(a=1)])
def test_a_state_is_a_dict(saves: dict[Format, Checkpointer], state: Any) -> None:
    with pytest.raises(InvalidInput) as told:
        saves["json"].save("no dict", state, at="before_wait")
    assert told.value.path == "state"


def test_what_stands_twice_without_a_cycle_is_data() -> None:
    shared = {"a": [1]}
    check_data({"one": shared, "two": [shared, shared], "deep": deep(DEPTH - 1)}, "state", "json")


def test_a_conversation_may_change_its_format(tmp_path: Path) -> None:
    state = {"n": [1, "two", None, {"x": 0.5}] * 20}
    with Checkpointer.open(f"files:{tmp_path}", messages=None) as plain:
        plain.save("chat", state, at="loop_tail")
    with Checkpointer.open(f"files:{tmp_path}", messages=None, format="msgpack") as packed:
        loaded = packed.load("chat")
        assert loaded is not None
        assert same(loaded.state, state)
        packed.save("chat", {**state, "b": b"\0"}, at="loop_tail")
    with Checkpointer.open(f"files:{tmp_path}", messages=None) as plain:
        loaded = plain.load("chat")
        assert loaded is not None
        assert same(loaded.state, {**state, "b": b"\0"})
        with pytest.raises(InvalidInput) as told:
            plain.save("chat", loaded.state, at="loop_tail")
        assert told.value.path == "state.b"


HOSTILE = [
    b"",
    b"p\x80\x04.",  # what a pickle begins with
    b"\x80\x04.",
    b"j",
    b"jNaN",
    b"j{",
    b"j\xff",
    b"j" + b"[" * 100_000,
    b"m",
    b"m\xc1",
    b"m\xc7\x01\x05a",  # an extension
    b"m\x81\x01\x02",
    b"m" + b"\x91" * 100_000,
]


@pytest.mark.parametrize("content", HOSTILE, ids=lambda content: repr(content[:12]))
def test_bytes_that_are_no_data_are_refused_whatever_they_are(content: bytes) -> None:
    with pytest.raises(UndecodableRecord):
        DataCodec("json").loads(content)


@given(content=st.binary(max_size=40), tag=st.sampled_from([b"j", b"m", b""]))
def test_any_bytes_are_read_as_plain_data_or_refused(content: bytes, tag: bytes) -> None:
    try:
        value = DataCodec("msgpack").loads(tag + content)
    except UndecodableRecord:
        return
    assert type(value) in {dict, list, str, int, float, bool, bytes, type(None)}


def test_constructors_in_the_data_stay_data() -> None:
    """What other serialisers take for an order to import and call is a dict."""
    order = {"lc": 2, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "true"}}
    told = {"py/object": "os.system", "__reduce__": ["os.system", ["true"]]}
    assert DataCodec("json").loads(b"j" + json.dumps([order, told]).encode()) == [order, told]
    assert DataCodec("json").loads(b"m" + ormsgpack.packb([order, told])) == [order, told]


def test_a_format_that_is_not_known_is_refused() -> None:
    with pytest.raises(InvalidInput) as told:
        Checkpointer.open(":memory:", format="pickle")  # type: ignore[arg-type]
    assert told.value.path == "format"


def test_want_of_the_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ormsgpack", None)
    with pytest.raises(InvalidInput, match=r"\[msgpack\]"):
        Checkpointer.open(":memory:", format="msgpack")
