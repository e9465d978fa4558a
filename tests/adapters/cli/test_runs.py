"""`runs`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.cli.command import at_terminal
from tests.adapters.cli.conftest import Alter, Call
from tests.adapters.cli.ledgers import RAISE_THE_LIMIT, respelt


def ids(document: dict[str, list[dict[str, str]]]) -> list[str]:
    return [run["run"] for run in document["runs"]]


def test_lists_every_run_with_where_it_stands(call: Call, good: Path) -> None:
    answer = call("runs", "--ledger", good)
    assert (answer.code, answer.err) == (0, "")
    header, *rows = (line.split() for line in answer.out.splitlines())
    assert header == ["RUN", "STATUS", "EVENTS", "LAST", "EVENT", "OWED", "UNSETTLED", "GOAL"]
    assert [row[:3] for row in rows] == [
        ["done", "closed", "2"],
        ["other", "suspended", "2"],
        ["pays", "open", "3"],
        ["refund-17", "open", "11"],
    ]
    refund, pays = rows[3], rows[2]
    assert refund[5:7] == ["1", "-"]
    assert pays[5:7] == ["-", "1"]


def test_writes_one_document(call: Call, good: Path) -> None:
    document = call("runs", "--ledger", good, "--json").document
    assert ids(document) == ["done", "other", "pays", "refund-17"]
    assert document["next"] is None
    refund = document["runs"][3]
    assert refund["labels"] == {"shop": "north", "team": "refunds"}
    assert refund["at"] == "2026-01-31T09:00:11.000000Z"


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (["--status", "open"], ["pays", "refund-17"]),
        (["--status", "suspended"], ["other"]),
        (["--held"], []),
        (["--owner", "human:kim"], ["refund-17"]),
        (["--thread", "t-1"], ["refund-17"]),
        (["--label", "team=refunds", "--label", "shop=north"], ["refund-17"]),
        (["--label", "team=refunds", "--label", "shop=south"], []),
        (["--prefix", "re"], ["refund-17"]),
        (["--after", "other"], ["pays", "refund-17"]),
        (["--tenant", "nobody"], []),
    ],
)
def test_filters(call: Call, good: Path, filters: list[str], found: list[str]) -> None:
    assert ids(call("runs", "--ledger", good, "--json", *filters).document) == found


@pytest.mark.parametrize(
    "altered", [(), ("done", "pays"), ("refund-17",), ("done", "other", "pays", "refund-17")]
)
def test_pages_meet_without_gap_or_overlap(
    call: Call, good: Path, alter: Alter, altered: tuple[str, ...]
) -> None:
    for run in altered:
        alter(good, f"UPDATE events SET hash = zeroblob(32) WHERE run = '{run}'")
    seen: list[str] = []
    unread: list[str] = []
    more: list[str] = []
    while True:
        document = call("runs", "--ledger", good, "--json", "--limit", "1", *more).document
        unread += ids({"runs": document["unread"]})
        seen += ids(document) + ids({"runs": document["unread"]})
        if document["next"] is None:
            break
        more = ["--after", document["next"]]
    assert seen == ["done", "other", "pays", "refund-17"]
    assert unread == list(altered)


def test_says_on_standard_error_that_there_is_more(call: Call, good: Path) -> None:
    answer = call("runs", "--ledger", good, "--limit", "2")
    assert len(answer.out.splitlines()) == 3
    assert "--after other" in answer.err


def test_says_that_nothing_matches(call: Call, good: Path) -> None:
    assert call("runs", "--ledger", good, "--held").err == "no run matches\n"
    assert call("runs", "--ledger", good, "--tenant", "x").err == "this tenant has no runs yet\n"


def test_an_altered_run_is_named_and_the_others_are_listed(call: Call, good: Path, alter: Alter) -> None:
    alter(good, RAISE_THE_LIMIT)
    answer = call("runs", "--ledger", good)
    assert answer.code == 1
    assert answer.out.startswith("refund-17: ALTERED: ")
    assert [line.split()[0] for line in answer.out.splitlines()[-3:]] == ["done", "other", "pays"]
    document = call("runs", "--ledger", good, "--json", "--status", "suspended").document
    assert ids(document) == ["other"]
    assert [(run["run"], run["standing"]) for run in document["unread"]] == [("refund-17", "altered")]
    assert call("runs", "--ledger", good, "--prefix", "pay").code == 0


def test_a_run_of_a_newer_release_is_named_and_is_not_called_altered(
    call: Call, good: Path, alter: Alter
) -> None:
    alter(good, respelt(good, b'"name":"run.closed"', b'"name":"run.dreamt"'))
    answer = call("runs", "--ledger", good)
    assert answer.code == 3
    assert answer.out.startswith("done: NEWER THAN THIS PROGRAM: ")
    assert call("runs", "--ledger", good, "--prefix", "done", "--json").document["runs"] == []


@pytest.mark.parametrize(
    "filters",
    [
        ["--status", "sleeping"],
        ["--held", "--status", "open"],
        ["--owner", "kim"],
        ["--label", "team"],
        ["--label", "team=a", "--label", "team=b"],
        ["--limit", "0"],
        ["--limit", "many"],
        ["--colour", "red"],
    ],
)
def test_a_malformed_filter_is_a_usage_error(call: Call, good: Path, filters: list[str]) -> None:
    answer = call("runs", "--ledger", good, *filters)
    assert (answer.code, answer.out) == (64, "")
    assert answer.err.startswith("intent-ledger: ")
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("columns", [20, 80, 200])
def test_every_width_shows_every_id(good: Path, columns: int) -> None:
    answer = at_terminal("runs", "--ledger", good, columns=columns)
    assert answer.code == 0
    for run in ("done", "other", "pays", "refund-17"):
        assert run in answer.out
