"""Which run a thread is: no two threads share one, whatever they are called."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ledger.adapters.threads.naming import LONGEST, line_name, run_name, thread_name
from ledger.errors import InvalidInput
from ledger.values import check_id

ODD = [
    "$source:policy",
    "%24source:policy",
    "a#1",
    "a%231",
    "a",
    "a ",
    " a",
    "\u00e9",
    "e\u0301",
    "\x00",
    "\n",
]
LONG = ["x" * LONGEST, "x" * (LONGEST + 1), "x" * 114 + "%~", "#" * 61, "\U0001f4ac" * 300]
TRAPS = st.sampled_from([*ODD, *LONG, "\ud800", "\udfff", "\u2028", "%~"])
TEXTS = st.one_of(TRAPS, st.text(st.characters(), min_size=1, max_size=8), st.text(min_size=100)).filter(
    lambda text: bool(text.strip())
)


@given(TEXTS, TEXTS, st.integers(1, 10**9), st.integers(1, 10**9))
@example("a#1", "a", 1, 11)
@example("a", "a#", 11, 1)
@example("$a", "%24a", 1, 1)
def test_no_two_threads_share_a_run(one: str, other: str, first: int, second: int) -> None:
    assert (run_name(one, first) == run_name(other, second)) == ((one, first) == (other, second))


@given(TEXTS, st.integers(1, 10**12))
def test_a_run_of_a_thread_has_a_valid_id(thread: str, generation: int) -> None:
    name = run_name(thread, generation)
    assert check_id(name) == name
    assert not name.startswith("$"), "streams of the ledger itself begin so"
    assert name.rpartition("#")[2] == str(generation)
    assert name.count("#") == 1


@given(st.text(st.characters(max_codepoint=0x7E, min_codepoint=0x20, exclude_characters="#%$"), min_size=1))
def test_ordinary_names_stay_as_they_are(thread: str) -> None:
    if thread.strip() and len(thread) <= LONGEST:
        assert thread_name(thread) == thread


@given(st.just("") | TEXTS, st.just("") | TEXTS)
def test_no_two_lines_share_a_name(one: str, other: str) -> None:
    assert (line_name(one) == line_name(other)) == (one == other)
    assert line_name("") is None


def test_a_long_name_begins_as_it_does_and_is_told_apart() -> None:
    one, other = thread_name("chat with " + "x" * 300), thread_name("chat with " + "x" * 301)
    assert one != other
    assert one.startswith("chat with xxx")
    assert len(one) == len(other) == LONGEST


@pytest.mark.parametrize("thread", ["", " ", "\n", None, 7, b"x"])
def test_what_names_nothing_is_refused(thread: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        run_name(thread, 1)  # type: ignore[arg-type]
    assert refused.value.data["path"] == "thread_id"
