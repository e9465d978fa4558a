"""Messages: one of each id, a window of them in the state, summaries, and an archive that loses none."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.adapters.checkpointer import Checkpointer, CheckpointNotFound, Summary
from ledger.errors import InvalidInput, StateMoved
from tests.adapters.checkpointer.conftest import Place


def message(number: int, text: str = "said") -> dict[str, Any]:
    return {"id": f"m{number}", "role": "user", "text": f"{text} {number}", "parts": [number, None]}


def archived(saves: Checkpointer, thread: str, page: int = 100) -> list[dict[str, Any]]:
    """Return the archive, the oldest message first."""
    return list(chain.from_iterable(reversed(list(saves.archive(thread, page=page)))))


def in_state(saves: Checkpointer, thread: str) -> list[dict[str, Any]]:
    loaded = saves.load(thread)
    assert loaded is not None
    messages: list[dict[str, Any]] = loaded.state["messages"]
    return messages


def test_a_message_that_comes_again_replaces_itself_in_its_place(place: Place, thread: str) -> None:
    saves = place()
    state = {"messages": [message(1), message(2), message(1, "mended"), message(3), message(2)]}
    before = [dict(one) for one in state["messages"]]
    saves.save(thread, state, at="after_model")
    assert in_state(place(), thread) == [message(1, "mended"), message(2), message(3)]
    assert state["messages"] == before, "what the caller has is left alone"


def test_the_newest_stay_in_the_state_and_the_others_move_to_the_archive(place: Place, thread: str) -> None:
    said = [message(n) for n in range(250)]
    saves = place(window=10, every=50)
    for end in range(10, 251, 24):
        saves.save(thread, {"messages": said[:end], "turn": end}, at="after_model")
    saves = place(window=10)
    assert in_state(saves, thread) == said[240:]
    assert saves.load(thread).archived == 240  # type: ignore[union-attr]
    assert archived(saves, thread) == said[:240]
    pages = list(saves.archive(thread, page=100))
    assert [len(page) for page in pages] == [100, 100, 40]
    assert pages[0] == said[140:240]


def test_a_program_that_goes_on_from_the_window_archives_each_message_once(place: Place, thread: str) -> None:
    for n in range(12):
        saves = place(window=3)
        loaded = saves.load(thread)
        messages = [] if loaded is None else loaded.state["messages"]
        saves.save(thread, {"messages": [*messages, message(n)]}, at="after_model")
    assert in_state(saves, thread) == [message(n) for n in (9, 10, 11)]
    assert archived(saves, thread) == [message(n) for n in range(9)]


def test_what_is_archived_stays_there_in_its_later_version(place: Place, thread: str) -> None:
    saves = place(window=2)
    saves.save(thread, {"messages": [message(n) for n in range(5)]}, at="after_model")
    later = [message(1, "mended"), *(message(n) for n in range(2, 6)), message(0)]
    place_again = place(window=2)
    place_again.load(thread)
    place_again.save(thread, {"messages": later}, at="after_model")
    assert in_state(place_again, thread) == [message(4), message(5)]
    expected = [message(0), message(1, "mended"), message(2), message(3)]
    assert archived(place(), thread) == expected


def test_a_window_that_is_opened_wider_brings_nothing_back_and_loses_nothing(
    place: Place, thread: str
) -> None:
    place(window=1).save(thread, {"messages": [message(n) for n in range(4)]}, at="after_model")
    saves = place(window=None)
    saves.load(thread)
    saves.save(thread, {"messages": [message(n) for n in range(6)]}, at="after_model")
    assert in_state(saves, thread) == [message(n) for n in (3, 4, 5)]
    assert archived(saves, thread) == [message(n) for n in (0, 1, 2)]
    saves.save(thread, {"no": "messages"}, at="after_model")
    assert archived(place(), thread) == [message(n) for n in (0, 1, 2)], "a state without messages keeps it"


def test_a_summary_stands_for_messages_that_move_to_the_archive(place: Place, thread: str) -> None:
    saves = place()
    said = [message(n) for n in range(6)]
    saves.save(thread, {"messages": said, "turn": 6}, at="loop_tail")
    first = saves.summarise(thread, "They said hello.", through="m1", at="loop_head")
    second = saves.summarise(thread, "They asked.", through="m3", at="loop_head")
    loaded = place().load(thread)
    assert loaded is not None
    assert loaded.summaries == (Summary("They said hello.", "m1"), Summary("They asked.", "m3"))
    assert loaded.state == {"messages": said[4:], "turn": 6}
    assert (loaded.checkpoint.id, loaded.checkpoint.parent) == (second, first)
    assert archived(place(), thread) == said[:4]
    # A program that still has all of them saves them all.
    saves.save(thread, {"messages": [*said, message(6)], "turn": 7}, at="loop_tail")
    assert in_state(place(), thread) == [*said[4:], message(6)]
    assert place().load(thread).summaries == loaded.summaries  # type: ignore[union-attr]
    earlier = saves.load_checkpoint(thread, first)
    assert (earlier.summaries, earlier.state["messages"]) == (loaded.summaries[:1], said[2:])


def test_a_summary_is_of_messages_that_are_in_the_newest_state(place: Place, thread: str) -> None:
    saves = place()
    with pytest.raises(CheckpointNotFound):
        saves.summarise(thread, "nothing", through="m1", at="loop_head")
    saves.save(thread, {"messages": [message(0), message(1)]}, at="loop_tail")
    id = saves.summarise(thread, "hello", through="m0", at="loop_head")
    for through in ("m0", "m9", "", None):
        with pytest.raises(InvalidInput) as told:
            saves.summarise(thread, "again", through=through, at="loop_head")  # type: ignore[arg-type]
        assert told.value.path == "through"
    for text in ("", " ", None, 7):
        with pytest.raises(InvalidInput) as told:
            saves.summarise(thread, text, through="m1", at="loop_head")  # type: ignore[arg-type]
        assert told.value.path == "text"
    with pytest.raises(StateMoved):
        place().summarise(thread, "unread", through="m1", at="loop_head")
    with pytest.raises(StateMoved):
        saves.summarise(thread, "old", through="m1", at="loop_head", parent="0000000001-loop_tail-x")
    assert saves.load(thread).checkpoint.id == id  # type: ignore[union-attr]


FAULTS: list[tuple[Any, str]] = [
    ("text", "state.messages"),
    ({"id": "m1"}, "state.messages"),
    (["text"], "state.messages[0]"),
    ([message(1), {"text": "no id"}], "state.messages[1].id"),
    ([{"id": ""}], "state.messages[0].id"),
    ([{"id": 1}], "state.messages[0].id"),
    ([{"id": "m1", "text": b"x"}], "state.messages[0].text"),
]


@pytest.mark.parametrize(("messages", "path"), FAULTS, ids=[path for _, path in FAULTS])
def test_messages_without_ids_are_refused(messages: Any, path: str) -> None:
    with Checkpointer.open(":memory:") as saves:
        with pytest.raises(InvalidInput) as told:
            saves.save("chat", {"messages": messages}, at="after_model")
        assert told.value.path == path


def test_the_field_of_messages_has_any_name_or_none() -> None:
    with Checkpointer.open(":memory:", messages="talk", window=1) as saves:
        saves.save("chat", {"talk": [message(1), message(2)], "messages": "free"}, at="after_model")
        loaded = saves.load("chat")
        assert loaded is not None
        assert loaded.state == {"talk": [message(2)], "messages": "free"}
    with Checkpointer.open(":memory:", messages=None) as saves:
        saves.save("chat", {"messages": ["text", "text"]}, at="after_model")
        assert saves.load("chat").state == {"messages": ["text", "text"]}  # type: ignore[union-attr]
        with pytest.raises(InvalidInput):
            saves.summarise("chat", "hello", through="text", at="loop_head")


@pytest.mark.parametrize(
    "options",
    [
        {"window": 0},
        {"window": True},
        {"every": 0},
        {"every": 1.5},
        {"messages": ""},
        {"messages": None, "window": 3},
    ],
    ids=str,
)
def test_options_that_are_none_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as told:
        Checkpointer.open(":memory:", **options)
    assert told.value.path in options


def test_a_page_has_messages() -> None:
    with Checkpointer.open(":memory:") as saves, pytest.raises(InvalidInput):
        list(saves.archive("chat", page=0))


saying = st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["said", "mended"])), max_size=8)


@given(
    turns=st.lists(st.tuples(saying, st.sampled_from(["window", "all", "anew"])), min_size=1, max_size=8),
    window=st.integers(1, 4),
    every=st.integers(1, 4),
)
def test_whatever_is_said_is_in_the_state_or_the_archive_in_its_last_version(
    turns: list[tuple[list[tuple[int, str]], str]], window: int, every: int
) -> None:
    """A model of it: the last version of everything ever saved, each in one of the two."""
    everything: dict[str, dict[str, Any]] = {}
    history: list[dict[str, Any]] = []
    with Checkpointer.open(":memory:", window=window, every=every) as saves:
        for said, how in turns:
            new = [message(number, text) for number, text in said]
            loaded = saves.load("chat")
            in_window = [] if loaded is None else loaded.state["messages"]
            base = history if how == "all" else in_window
            if how == "anew":
                saves._engine._tails.clear()  # as in a program that was started again
            history = [*base, *new]
            everything |= {one["id"]: one for one in history}
            saves.save("chat", {"messages": history}, at="after_model")
        kept, old = in_state(saves, "chat"), archived(saves, "chat", page=3)
        ids = [one["id"] for one in (*old, *kept)]
        assert len(kept) <= window
        assert len(ids) == len(set(ids))
        assert {one["id"]: one for one in (*old, *kept)} == everything
