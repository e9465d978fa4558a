"""Ways out that are sent as they were printed: what is to be filled in is never recorded."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from ledger import open_ledger
from ledger.adapters.cli.placeholders import OPEN
from tests.adapters.cli.conftest import Call
from tests.adapters.cli.stops import FILLED, STOPS, filled, make

OPEN_WAYS = [kind for kind in STOPS if kind not in {"approval_void", "effect_executing"}]


@pytest.mark.parametrize("kind", OPEN_WAYS)
def test_a_way_out_sent_as_it_was_printed_is_refused_and_says_what_to_fill_in(
    call: Call, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "stops.db"
    stop = make(path, kind)
    reasons = call("resume", "r", *stop.ask, "--ledger", path, "--json").document["reasons"]
    with open_ledger(path) as ledger:
        before = ledger.contract("r").position
    for way in (way for reason in reasons for way in reason["ways_out"]):
        words = shlex.split(way)[1:]
        left = [word for word, put in zip(words, filled(way), strict=True) if word != put]
        assert left, "it needs no word of a reader"
        answer = call(*words)
        assert (answer.code, answer.out) == (64, "")
        for word in left:
            assert word in answer.err
    with open_ledger(path) as ledger:
        assert ledger.contract("r").position == before


def test_every_word_that_a_way_out_leaves_open_is_refused() -> None:
    assert set(FILLED) - OPEN == {
        "ID",  # which stands for what is there already
        '{"revision": "REVISION"}',  # which is refused as a whole, see above
    }


def test_it_is_refused_wherever_it_stands(call: Call, good: Path) -> None:
    who = call("--actor", "human:NAME", "suspend", "refund-17", "--reason", "night", "--ledger", good)
    assert (who.code, "--actor human:NAME" in who.err) == (64, True)
    said = ("do", "obligation.waive", "refund-17", "--id", "tell", "--reason", "TEXT", "--by", "human:NAME")
    answer = call(*said, "--ledger", good, "--json")
    assert (answer.code, answer.error["code"]) == (64, "usage")
    assert "--by human:NAME (Who decided it." in answer.error["message"]
    assert "--reason TEXT (Why)" in answer.error["message"]


def test_a_run_may_be_called_as_it_likes_and_words_in_capitals_stand_in_texts(
    call: Call, tmp_path: Path
) -> None:
    path = tmp_path / "l.db"
    with open_ledger(path) as ledger:
        ledger.open_run("TEXT", "Goal")
    assert call("contract", "TEXT", "--ledger", path).code == 0
    assert call("suspend", "TEXT", "--reason", "the TEXT is wrong: a=VALUE", "--ledger", path).code == 0
