"""Stored text on a screen: all of it is shown, none of it is obeyed."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from ledger.adapters.cli.visible import lines_of, one_line, visible
from tests.adapters.cli.ledgers import STEERING

STEERS = {"Cc", "Cf", "Cs", "Zl", "Zp"}
ANY_TEXT = st.text(st.characters(exclude_categories=[]))


def steers(text: str) -> bool:
    return any(unicodedata.category(c) in STEERS and c not in "\u200c\u200d" for c in text)


@given(ANY_TEXT)
def test_nothing_that_steers_a_terminal_is_left(text: str) -> None:
    assert not steers(visible(text))
    assert not steers(one_line(text))
    assert not any(steers(line) for line in lines_of(text))


@given(st.text(st.characters(categories=["L", "N", "P", "S", "M", "Zs"])))
def test_text_that_only_shows_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_what_steers_is_shown_as_its_escape() -> None:
    assert visible("a\x1b[2Jb\x9bc\u202ed\U000e0041e") == r"a\x1b[2Jb\x9bc\u202ed\U000e0041e"
    assert steers(STEERING)


def test_joiners_of_words_and_emoji_are_kept() -> None:
    assert visible("क\u200dष 👩\u200d👧 a\u200cb") == "क\u200dष 👩\u200d👧 a\u200cb"


def test_lines_are_split_where_the_text_has_line_feeds_and_nowhere_else() -> None:
    assert lines_of("a\nb\r\nc\rd\u2028e\tf") == ["a", "b", r"c\x0dd\u2028e    f"]


def test_one_line_is_cut_with_a_mark() -> None:
    assert one_line("a  b\n c", most=5) == "a b c"
    assert one_line("abcdef", most=5) == "ab..."
