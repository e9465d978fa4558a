"""Bytes that are no pack, or say what is not so, are refused as what cannot be read, and soon."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.adapters.packs import Memo, refers_to, unpack
from ledger.adapters.packs.format import DEEPEST, FANOUT, MAGIC, PIECES, read_group, read_pack
from ledger.errors import UndecodableRecord
from tests.adapters.packs.notebook import CODEC, Notebook

DIGEST = bytes(32)


def sample() -> tuple[Notebook, bytes]:
    """Save a state that has everything in it: values, groups, references to packs before."""
    notebook, memo = Notebook(), Memo()
    state: dict[str, Any] = {
        "list": [f"{number}" * 40 for number in range(FANOUT + 3)],
        "value": {"a": "b" * 90},
    }
    notebook.save(state, memo=memo)
    state["list"] += ["new", "x" * 20_000]
    return notebook, notebook.save({**state, "none": None}, memo=memo)


NOTEBOOK, LAST = sample()
CONTENT = NOTEBOOK.contents[LAST]
STATE = NOTEBOOK.read(LAST)


def read(content: bytes) -> Any:
    """Read a pack as it is, wherever it came from."""
    return unpack(LAST, content, NOTEBOOK.fetch, CODEC)


def refused_or_read(content: bytes) -> None:
    """Read it twice; whatever else is raised fails the test."""
    with suppress(UndecodableRecord):
        read(content)
    with suppress(UndecodableRecord):
        refers_to(LAST, content, NOTEBOOK.fetch)


def head_and_rest(content: bytes) -> tuple[Any, bytes]:
    size = int.from_bytes(content[4:8], "big")
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def made(head: Any, rest: bytes = b"") -> bytes:
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return MAGIC + len(text).to_bytes(4, "big") + text + rest


def test_no_beginning_of_a_pack_is_one() -> None:
    for length in range(len(CONTENT)):
        with pytest.raises(UndecodableRecord):
            read_pack(CONTENT[:length])
    with pytest.raises(UndecodableRecord):
        read_pack(CONTENT + b"x")


HEADED = 8 + int.from_bytes(CONTENT[4:8], "big")


def test_a_bit_that_flipped_in_the_head_is_refused_or_read_and_never_something_else() -> None:
    """The bytes of values are under the digest of the content, which is compared before any of this."""
    for at in range(HEADED + 64):
        for bit in range(8):
            refused_or_read(CONTENT[:at] + bytes([CONTENT[at] ^ 1 << bit]) + CONTENT[at + 1 :])


@given(at=st.integers(0, len(CONTENT) - 1), some=st.binary(max_size=8), gone=st.integers(0, 8))
def test_bytes_that_were_replaced_are_refused_or_read(at: int, some: bytes, gone: int) -> None:
    refused_or_read(CONTENT[:at] + some + CONTENT[at + gone :])


STRANGE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 5)
    | st.sampled_from([2**24, 2**24 + 1, 2**63, -(2**63), 10**30, 1.5, float("nan"), float("inf")])
    | st.sampled_from(["", "list", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("dens"), inner, max_size=2),
    max_leaves=6,
)


@given(head=STRANGE, rest=st.binary(max_size=80))
def test_any_head_is_refused_or_read(head: Any, rest: bytes) -> None:
    refused_or_read(made(head, rest))
    piece = made(head, rest)[len(MAGIC) :]
    with suppress(UndecodableRecord):
        read_group(piece)


@given(
    name=st.sampled_from(["d", "s", "n"]),
    inner=st.none() | st.sampled_from(["list", "value", "none"]),
    strange=STRANGE,
)
def test_any_part_of_a_head_is_refused_or_read(name: str, inner: str | None, strange: Any) -> None:
    head, rest = head_and_rest(CONTENT)
    if name == "n" and inner is not None:
        head["n"][inner] = strange
    else:
        head[name] = strange
    refused_or_read(made(head, rest))


@pytest.mark.parametrize(
    "head",
    [
        b"[" * 100_000,
        b'{"d":' + b"[" * 100_000,
        b'{"d":0,"s":[' + b"9" * 5000 + b'],"n":{}}',
        b'{"d":NaN,"s":[],"n":{}}',
        b"\xff\xfe",
        {"d": 10**12, "s": [], "n": {}},
        {"d": -1, "s": [32], "n": {}},
        {"d": 0, "s": [5, -5], "n": {}},
        {"d": 0, "s": [True, -1], "n": {}},
        {"d": 0, "s": {"0": 1}, "n": {}},
        {"d": 0, "s": [], "n": []},
    ],
    ids=lambda head: str(head)[:30],
)
def test_a_head_that_would_take_long_or_much_is_refused(head: Any) -> None:
    with pytest.raises(UndecodableRecord):
        read_pack(made(head))


def test_a_head_that_is_longer_than_all_is_refused() -> None:
    with pytest.raises(UndecodableRecord):
        read_pack(MAGIC + b"\xff\xff\xff\xff{}")


# --- what would never end, or never fit ------------------------------------------------------------


def group(entries: list[int], digests: bytes = b"") -> bytes:
    text = json.dumps({"d": len(digests) // 32, "e": entries}).encode()
    return len(text).to_bytes(4, "big") + text + digests


def state(levels: list[list[int]], *pieces: bytes, digests: bytes = b"") -> bytes:
    head = {"d": len(digests) // 32, "s": [4, *map(len, pieces)], "n": {"list": ["list", levels]}}
    return made(head, digests + b"head" + b"".join(pieces))


def refused(content: bytes) -> str:
    for one in (read, lambda content: refers_to(LAST, content, NOTEBOOK.fetch)):
        with pytest.raises(UndecodableRecord) as error:
            one(content)
    return str(error.value)


def test_a_group_that_refers_to_itself_is_refused() -> None:
    assert "two places" in refused(state([[1], [], []], group([1] * FANOUT)))
    # Even where each level has it only once: what stands below the last one is no group.
    with pytest.raises(UndecodableRecord):
        read(state([[1], []], group([1, *range(2, FANOUT + 1)]), *[b"1"] * (FANOUT - 1)))


def test_groups_that_refer_to_one_another_many_times_are_refused() -> None:
    """Six groups of a few bytes would stand for a thousand million elements."""
    chain = [group([number + 1] * FANOUT) for number in range(2, 2 + DEEPEST)]
    levels: list[list[int]] = [[1], *([] for _ in range(DEEPEST))]
    assert "two places" in refused(state(levels, group([2] * FANOUT), *chain, b"1"))


def test_a_list_has_no_more_levels_than_there_may_be_elements() -> None:
    assert "levels" in refused(state([[] for _ in range(DEEPEST + 2)]))
    assert "levels" in refused(state([]))
    assert read(state([[] for _ in range(DEEPEST + 1)])).values == {"list": []}


def test_one_element_that_is_referred_to_often_is_bounded_by_what_all_come_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ledger.adapters.packs.reading.LARGEST", 1000)
    content = state([[1] * 50], json.dumps("x" * 98).encode())
    with pytest.raises(UndecodableRecord, match="more than 1000 bytes"):
        read(content)
    assert read(state([[1] * 10], json.dumps("x" * 98).encode())).values == {"list": ["x" * 98] * 10}


@pytest.mark.parametrize("entries", [[], [2] * (FANOUT - 1), [2] * (FANOUT + 1)])
def test_a_group_that_is_not_full_is_refused(entries: list[int]) -> None:
    refused(state([[1], []], group(entries), b"1"))


@pytest.mark.parametrize("number", [5, PIECES, PIECES + 1, 2 * PIECES, -1, 10**40])
def test_a_reference_to_what_is_not_there_is_refused(number: int) -> None:
    with pytest.raises(UndecodableRecord):
        read(state([[number]], b"1"))
    with pytest.raises(UndecodableRecord):
        read(state([[1], []], group([number] * FANOUT)))


def test_a_pack_that_lists_itself_is_read_from_what_was_read() -> None:
    content = state([[PIECES + 1]], b"7", digests=DIGEST)
    fetched: list[Any] = []

    def fetch(digests: Any) -> dict[bytes, bytes]:
        fetched.append(digests)
        return {}

    assert unpack(DIGEST, content, fetch, CODEC).values == {"list": [7]}
    assert refers_to(DIGEST, content, fetch) == {DIGEST}
    assert fetched == []


def test_lists_of_other_kinds_are_for_the_codec_to_know() -> None:
    head = {"d": 0, "s": [4, 1], "n": {"list": ["os.system", [[1]]]}}
    with pytest.raises(UndecodableRecord, match="no such kind of list"):
        read(made(head, b"head1"))
    head["n"] = {"list": [["list"], [[1]]]}
    with pytest.raises(UndecodableRecord, match="tag"):
        read(made(head, b"head1"))
