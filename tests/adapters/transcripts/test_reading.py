"""The forms a file of transcripts can have, and where something is wrong in it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.adapters.transcripts.reading import Entry, Transcript, open_input, read_entries
from ledger.errors import InvalidInput
from tests.adapters.transcripts.conversation import user

A: dict[str, Any] = {"id": "a", "messages": [user("one")]}
B: dict[str, Any] = {"messages": [user("two"), user("three")]}


def entries(content: str | bytes, name: str = "file.json", *, folder: Path) -> list[Entry]:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read_entries(open_input(path)))


def places(found: list[Entry]) -> list[tuple[int, int, str | None]]:
    """List place, line and id; `-` stands for what is broken."""
    return [(e.place, e.line, e.found.id if isinstance(e.found, Transcript) else "-") for e in found]


def faults(found: list[Entry]) -> dict[int, str]:
    return {entry.line: str(entry.found) for entry in found if isinstance(entry.found, InvalidInput)}


@pytest.mark.parametrize("indent", [None, 0, 1, 4])
@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x"])
def test_one_object_is_one_transcript_however_it_is_laid_out(
    indent: int | None, name: str, tmp_path: Path
) -> None:
    found = entries(json.dumps(A, indent=indent), name, folder=tmp_path)
    assert [entry.found for entry in found] == [Transcript("a", A["messages"])]


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_an_array_holds_transcripts_by_their_place(indent: int | None, tmp_path: Path) -> None:
    found = entries(json.dumps([A, B], indent=indent), folder=tmp_path)
    assert [(entry.place, entry.found) for entry in found] == [
        (1, Transcript("a", A["messages"])),
        (2, Transcript(None, B["messages"])),
    ]


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_of_messages_is_one_transcript(indent: int | None, tmp_path: Path) -> None:
    found = entries(json.dumps(B["messages"], indent=indent), folder=tmp_path)
    assert [entry.found for entry in found] == [Transcript(None, B["messages"])]


def test_json_lines_hold_a_transcript_on_each_line_that_is_not_blank(tmp_path: Path) -> None:
    bare = json.dumps(B["messages"])
    content = f"\n{json.dumps(A)}\r\n\n{json.dumps(B)}\n{bare}"
    assert places(entries(content, folder=tmp_path)) == [(2, 2, "a"), (4, 4, None), (5, 5, None)]


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    for content in (json.dumps(A), f"{json.dumps(A)}\n{json.dumps(B)}", json.dumps([A], indent=1)):
        assert places(entries(content.encode("utf-8-sig"), folder=tmp_path))[0][2] == "a"


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    assert entries("", folder=tmp_path) == entries(" \n\n", folder=tmp_path) == []
    assert entries("[]", folder=tmp_path) == entries("[\n]\n", folder=tmp_path) == []


BROKEN_LINES = {
    '{"messages": [': "not JSON",
    "nonsense": "not JSON",
    "17": "a transcript is a JSON object",
    "[1, 2]": "does not hold messages",
    "[]": "does not hold messages",
    "{}": "messages: a transcript has an array",
    '{"messages": {}}': "messages: a transcript has an array",
    '{"id": 7, "messages": []}': "id: is no text",
    '{"id": "a", "id": "b", "messages": []}': "'id' stands twice",
    '{"messages": [{"role": "user", "content": NaN}]}': "NaN is not JSON",
    '{"messages": [{"role": "user", "content": "\\ud800"}]}': "lone surrogate",
    '{"messages": [{"role": "user", "n": 9007199254740993}]}': "2^53",
    '{"messages": ' + "[" * 100 + "]" * 100 + "}": "nested deeper",
    '{"messages": ' + "[" * 100_000 + "]" * 100_000 + "}": "nested deeper",
    '{"messages": [' + "9" * 5_000 + "]}": "$",
}


@pytest.mark.parametrize("broken", BROKEN_LINES)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_broken_line_is_reported_with_its_number_and_the_rest_is_read(
    broken: str, at: int, tmp_path: Path
) -> None:
    lines = [json.dumps(A), json.dumps(B)]
    lines.insert(at, broken)
    found = entries("\n".join(lines), folder=tmp_path)
    assert len(found) == 3
    fault = faults(found)
    assert list(fault) == [at + 1]
    assert BROKEN_LINES[broken] in fault[at + 1]


def test_bytes_that_are_no_text_break_one_line_only(tmp_path: Path) -> None:
    content = json.dumps(A).encode() + b'\n{"messages": ["\xff"]}\n' + json.dumps(B).encode()
    assert faults(entries(content, folder=tmp_path)) == {2: "$: not UTF-8"}


def test_a_broken_element_of_an_array_spares_the_others(tmp_path: Path) -> None:
    content = f'[\n{json.dumps(A)},\n17,\n{{"id": "a", "id": "b"}}\n,{json.dumps(B)}]'
    found = entries(content, folder=tmp_path)
    assert places(found) == [(1, 2, "a"), (2, 3, "-"), (3, 4, "-"), (4, 5, None)]


@pytest.mark.parametrize(
    ("content", "line", "read"),
    [
        ("[\n{A},\n{\n", 4, 1),
        ("[\n{A}\n{A}]", 3, 0),  # whether the first one ends where it seems to is not certain
        ("[\n{A},\n]", 3, 1),
        ("[\n{A}", 2, 0),
        ("[\n{A}\n]\nmore", 4, 1),
    ],
)
def test_an_array_is_read_up_to_what_is_no_json(content: str, line: int, read: int, tmp_path: Path) -> None:
    found = entries(content.replace("{A}", json.dumps(A)), folder=tmp_path)
    assert list(faults(found)) == [line]
    assert len(found) == read + 1


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(InvalidInput) as raised:
            open_input(path)
        assert raised.value.path == str(path)


def test_json_lines_are_read_no_further_than_needed() -> None:
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        for number in range(1_000):
            taken += 1
            yield json.dumps({"id": str(number), "messages": []})

    found = read_entries(open_input(lines()))
    for number in range(10):
        assert next(found).line == number + 1
    assert taken <= 11


def test_what_is_done_grows_up_to_the_size_of_the_file(tmp_path: Path) -> None:
    for content in (f"{json.dumps(A)}\n\n{json.dumps(B)}\n", json.dumps([A, B, A], indent=1), json.dumps(A)):
        found = [entry.done for entry in entries(content, folder=tmp_path)]
        assert found == sorted(found)
        assert found[0] > 0
        assert found[-1] <= len(content)


TRANSCRIPTS = st.lists(
    st.fixed_dictionaries(
        {
            "messages": st.lists(
                st.fixed_dictionaries({"role": st.just("user"), "content": st.text()}), max_size=3
            )
        },
        optional={"id": st.text(), "more": st.none() | st.text()},
    ),
    min_size=1,
    max_size=4,
)


@given(TRANSCRIPTS, st.sampled_from([None, 0, 3]), st.booleans())
def test_all_forms_say_the_same(transcripts: list[dict[str, Any]], indent: int | None, ascii: bool) -> None:
    said = [Transcript(one.get("id"), one["messages"]) for one in transcripts]
    lines = [json.dumps(one, ensure_ascii=ascii) for one in transcripts]
    array = json.dumps(transcripts, indent=indent, ensure_ascii=ascii).split("\n")
    for form in (lines, array):
        assert [entry.found for entry in read_entries(open_input(form))] == said
