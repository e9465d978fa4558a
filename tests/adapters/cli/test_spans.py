"""Spans of time, typed and read."""

from __future__ import annotations

from datetime import timedelta

import pytest
import typer

from ledger.adapters.cli.spans import read_span, span_words


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("15m", 900), ("2h", 7200), ("3d", 259200), ("1w", 604800), ("1d12h", 129600)],
)
def test_a_span_is_whole_numbers_with_a_unit_each(text: str, seconds: int) -> None:
    assert read_span(text, option="--older-than") == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "soon", "-1h", "1.5h", "h", "1y", "2h ", "1h30", "٣d", "9999999999d"])
def test_anything_else_is_none(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="no span of time"):
        read_span(text, option="--older-than")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0 s"),
        (0, "0 s"),
        (0.9, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (725, "12 min 5 s"),
        (3600, "1 h"),
        (3605, "1 h"),
        (90061, "1 d 1 h"),
        (400 * 86400, "400 d"),
    ],
)
def test_a_span_is_told_in_its_two_largest_units(seconds: float, words: str) -> None:
    assert span_words(timedelta(seconds=seconds)) == words
