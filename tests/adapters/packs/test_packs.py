"""Packs: whatever happens to a state, it reads back as it was saved, from what is stored of its run."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from math import ceil, log
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.adapters.packs import Memo, pack
from ledger.adapters.packs import format as packs
from ledger.adapters.packs.format import FANOUT, read_pack
from ledger.adapters.packs.writing import COPIED, SMALL
from ledger.errors import InvalidInput, UndecodableRecord
from tests.adapters.packs.notebook import CODEC, Notebook, Strict, Telling

ELEMENTS = st.one_of(
    st.integers(0, 3),
    st.sampled_from(["", "x", "y" * SMALL, "z" * (SMALL + 1), "\ud800", ["a", ["b"]], {"k": [1]}, None]),
    st.integers(0, 2).map(lambda n: str(n) * (COPIED + 1)),
)
LISTS = st.lists(ELEMENTS, max_size=5)
NAMES = st.sampled_from(["messages", "notes"])
LINES = st.sampled_from([None, "sub"])
STEPS = st.sampled_from(["append", "many", "edit", "cut", "remove", "insert", "replace", "value", "empty"])


def changed(draw: Callable[..., Any], state: dict[str, Any]) -> dict[str, Any]:
    """Draw what a program may do to its state between two saves."""
    state = deepcopy(state)
    name, step = draw(NAMES), draw(STEPS)
    items = state.setdefault(name, [])
    place = draw(st.integers(0, max(len(items) - 1, 0)))
    if step == "append":
        items.append(draw(ELEMENTS))
    elif step == "many":
        items += [draw(ELEMENTS)] * draw(st.sampled_from([FANOUT - 1, FANOUT, FANOUT * FANOUT]))
        items += draw(LISTS)
    elif step == "edit" and items:
        items[place] = draw(ELEMENTS)
    elif step == "cut":
        del items[place:]
    elif step == "remove" and items:
        del items[place]
    elif step == "insert":
        items.insert(place, draw(ELEMENTS))
    elif step == "replace":
        state[name] = draw(LISTS)
    elif step == "value":
        state["value"] = draw(ELEMENTS)
    elif step == "empty":
        state.pop(name)
    return state


@pytest.mark.parametrize("codec", [CODEC, Telling()], ids=["plain", "telling"])
@settings(max_examples=max(10, settings().max_examples // 2))
@given(data=st.data())
def test_every_state_reads_back_whatever_was_known_when_it_was_saved(
    codec: Strict, data: st.DataObject
) -> None:
    notebook, memo = Notebook(codec), Memo()
    saved: list[tuple[bytes, str | None, dict[str, Any]]] = []
    states: dict[str | None, dict[str, Any]] = {None: {}, "sub": {}}
    for _ in range(data.draw(st.integers(1, 8))):
        known = data.draw(st.sampled_from(["kept", "kept", "kept", "lost", "none", "learnt"]))
        if known == "lost":
            memo = Memo()
        elif known == "learnt" and saved:
            digest, line, _ = data.draw(st.sampled_from(saved))
            memo = Memo() if data.draw(st.booleans()) else memo
            notebook.read(digest, memo=memo, line=line)
        line = data.draw(LINES)
        states[line] = state = changed(data.draw, states[line])
        before = deepcopy(state)
        digest = notebook.save(state, memo=None if known == "none" else memo, line=line)
        assert state == before
        saved.append((digest, line, before))
    for digest, _, state in saved:
        needed = notebook.needed(digest)
        assert needed <= notebook.contents.keys()
        alone = notebook.only(needed)
        found = alone.read(digest)
        assert (found.head, found.values) == (b"head", state)
        for name in state:
            assert alone.read(digest, names=[name]).values == {name: state[name]}
        assert alone.needed(digest) == needed


@given(states=st.lists(st.dictionaries(NAMES, LISTS, max_size=2), min_size=1, max_size=4))
def test_the_same_states_are_written_in_the_same_bytes(states: list[dict[str, Any]]) -> None:
    one, other = Notebook(), Notebook()
    memos = Memo(), Memo()
    for state in states:
        digests = [book.save(state, memo=memo) for book, memo in zip((one, other), memos, strict=True)]
        assert digests[0] == digests[1]


def test_what_was_not_stored_is_noted_nowhere() -> None:
    """A save that fails leaves what is known of the run as it was."""
    notebook, memo = Notebook(), Memo()
    notebook.save({"list": ["a" * 100] * 40, "value": "b" * 100}, memo=memo)
    before = deepcopy((memo.lists, memo.pieces))
    pack({"list": ["c" * 100] * 70, "value": "d" * 100}, b"", CODEC, memo=memo)
    assert (memo.lists, memo.pieces) == before
    assert notebook.read(notebook.save({"list": ["c" * 100] * 70}, memo=memo)).values["list"][69] == "c" * 100


@pytest.mark.parametrize("codec", [CODEC, Telling()], ids=["plain", "telling"])
def test_a_growing_list_costs_what_is_new(codec: Strict) -> None:
    notebook, memo, messages, last = Notebook(codec), Memo(), [], b""
    sizes = []
    for number in range(3 * FANOUT):
        messages.append(f"{number:04}" * 250)
        last = notebook.save({"messages": messages}, memo=memo)
        sizes.append(len(notebook.contents[last]))
    assert notebook.read(last).values == {"messages": messages}
    # Each is written once by itself, and once more with the others of its group.
    assert sum(sizes) < 2 * sum(map(len, messages)) + len(messages) * 40 * FANOUT
    assert sorted(sizes)[len(sizes) // 2] < 1000 + 40 * FANOUT


def test_what_stays_the_same_is_not_written_again() -> None:
    notebook, memo = Notebook(), Memo()
    state = {"list": [str(number) * 100 for number in range(100)], "large": "x" * 5000}
    first = notebook.save(state, memo=memo)
    again = notebook.save(state, memo=memo)
    assert len(notebook.contents[again]) < 1000
    assert notebook.needed(again) == {first, again}
    moved = notebook.save({"other": state["large"]}, memo=memo, line="sub")
    assert len(notebook.contents[moved]) < 500, "a large value is known by what it is, wherever it stands"


@pytest.mark.parametrize("count", [0, 1, FANOUT - 1, FANOUT, FANOUT + 1, FANOUT**2, FANOUT**2 + FANOUT + 1])
def test_a_list_is_read_in_few_rounds_however_it_grew(count: int) -> None:
    notebook, memo, last = Notebook(), Memo(), b""
    step = max(count // 37, 1)
    for length in [*range(0, count, step), count]:
        last = notebook.save({"list": list(range(length))}, memo=memo)
    notebook.rounds.clear()
    assert notebook.read(last).values["list"] == list(range(count))
    assert len(notebook.rounds) <= 2 + ceil(log(max(count, 1), FANOUT))
    assert notebook.read(last, names=[]).values == {}


@given(values=st.dictionaries(NAMES, LISTS, min_size=1))
def test_a_pack_without_a_memo_needs_no_other(values: dict[str, Any]) -> None:
    packed = pack(values, b"", CODEC)
    assert packed.whole
    notebook = Notebook()
    digest = notebook.store(packed)
    assert notebook.needed(digest) == {digest}
    notebook.rounds.clear()
    notebook.read(digest)
    assert notebook.rounds == []


def test_a_state_whose_content_is_gone_is_an_error_that_names_it() -> None:
    notebook, memo = Notebook(), Memo()
    first = notebook.save({"list": ["a" * 100, "b" * 100]}, memo=memo)
    second = notebook.save({"list": ["a" * 100, "b" * 100, "c"]}, memo=memo)
    with pytest.raises(UndecodableRecord, match=first.hex()):
        notebook.only([second]).read(second)


def test_what_would_not_be_read_again_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("writing", "reading"):
        monkeypatch.setattr(f"ledger.adapters.packs.{module}.LARGEST", 1000)
    notebook = Notebook()
    digest = notebook.save({"list": ["x" * 90] * 5, "value": "y" * 400}, memo=None)
    assert len(notebook.read(digest).values["list"]) == 5
    for values in ({"list": ["x" * 90] * 11}, {"value": "y" * 1000}, {"a": "y" * 600, "b": "y" * 600}):
        with pytest.raises(InvalidInput):
            pack(values, b"", CODEC)


def test_a_later_format_is_refused() -> None:
    content = pack({"a": 1}, b"", CODEC).content
    assert content.startswith(packs.MAGIC)
    for other in (b"ILP2", b"ILP0", b"ilp1"):
        with pytest.raises(UndecodableRecord):
            read_pack(other + content[4:])


@given(count=st.integers(0, 80), cut=st.integers(0, 80), more=st.integers(0, 70))
def test_a_list_that_is_learnt_by_reading_is_gone_on_with_as_one_that_was_saved(
    count: int, cut: int, more: int
) -> None:
    notebook, memo, learnt = Notebook(), Memo(), Memo()
    items = list(range(count))
    first = notebook.save({"list": items}, memo=memo)
    notebook.read(first, memo=learnt)
    after = items[:cut] + list(range(1000, 1000 + more))
    one, other = (notebook.save({"list": after}, memo=known) for known in (memo, learnt))
    assert notebook.read(one).values == notebook.read(other).values == {"list": after}
