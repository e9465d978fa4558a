"""`runs`."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ledger import Limits, open_ledger
from ledger.errors import RunIsHeld
from tests.adapters.cli.command import at_terminal
from tests.adapters.cli.conftest import Alter, Call
from tests.adapters.cli.ledgers import AGENT, KIM, RAISE_THE_LIMIT, respelt, ticking


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
    assert call("runs", "--ledger", good, "--held").err == (
        "no run matches\n"
        "what is at work, or was until it died, is not held: intent-ledger runs --quiet-for 15m\n"
    )
    assert call("runs", "--ledger", good, "--owner", "human:nobody").err == "no run matches\n"
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
        ["--held", "--after", "a"],
        ["--held", "--quiet-for", "1h"],
        ["--held", "--limit", "0"],
        ["--quiet-for", "1h", "--status", "held"],
        ["--quiet-for", "soon"],
        ["--older-than", "-1h"],
        ["--older-than", "999999999w"],
        ["--verdict", "continue"],
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


# --- who watches ---------------------------------------------------------------------------------------


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    """Return a ledger of runs that are held since 2020 and since now, stopped by a limit, quiet and alive."""
    path = tmp_path / "watched.db"
    with open_ledger(path, clock=ticking(datetime(2020, 1, 31, tzinfo=UTC)), actor=AGENT) as ledger:
        for name in ("old", "older", "quiet"):
            ledger.open_run(name, f"Goal of {name}", rests_on=["assumption:a"])
        for name in ("older", "old"):
            ledger.run(name).assume("a", "so it is")
            ledger.run(name).refute("a", evidence="it is not")
            ledger.resume(name)
        spent = ledger.open_run("spent", "Walk", limits=Limits(steps=1))
        spent.move("one")
        with suppress(RunIsHeld):
            spent.move("two")
        ledger.open_run("gone", "Nothing").close("cancelled")
    with open_ledger(path, actor=AGENT) as ledger:
        ledger.open_run("young", "Wait").suspend(reason="night")
        ledger.open_run("alive", "Go on")
    return path


def test_what_is_held_comes_longest_first_with_its_verdict(call: Call, watched: Path) -> None:
    answer = call("runs", "--held", "--ledger", watched)
    header, *rows = (line.split() for line in answer.out.splitlines())
    assert " ".join(header) == "RUN STATUS REASONS HELD SINCE FOR OWED UNSETTLED GOAL"
    assert [row[:4] for row in rows] == [[name, "held:", "restart", "1"] for name in ("older", "old")]
    assert rows[0][4] == "2020-01-31"
    document = call("runs", "--held", "--ledger", watched, "--json").document
    assert ids(document) == ["older", "old"]
    first = document["runs"][0]
    assert (first["verdict"], first["reasons"], first["status"]) == ("restart", 1, "held")
    assert (first["held_at"], document["next"], document["left_out"]) == (first["at"], None, 0)


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (["--verdict", "restart"], ["older", "old"]),
        (["--verdict", "replan"], []),
        (["--older-than", "1h"], ["older", "old"]),
        (["--older-than", "500000d"], []),
        (["--held", "--prefix", "olde"], ["older"]),
        (["--quiet-for", "1h"], ["quiet"]),
        (["--quiet-for", "0s"], ["quiet", "alive"]),
        (["--quiet-for", "0s", "--prefix", "al"], ["alive"]),
        (["--status", "suspended"], ["spent", "young"]),
    ],
)
def test_filters_of_who_watches(call: Call, watched: Path, filters: list[str], found: list[str]) -> None:
    assert ids(call("runs", *filters, "--ledger", watched, "--json").document) == found


def test_what_goes_beyond_the_limit_is_counted(call: Call, watched: Path) -> None:
    document = call("runs", "--held", "--limit", "1", "--ledger", watched, "--json").document
    assert (ids(document), document["left_out"]) == (["older"], 1)
    assert call("runs", "--held", "--limit", "1", "--ledger", watched).err == "1 more: --limit 2\n"


def test_a_run_that_is_stuck_shows_how_long_nothing_was_heard(call: Call, watched: Path) -> None:
    answer = call("runs", "--quiet-for", "1h", "--ledger", watched)
    header, row = (line.split() for line in answer.out.splitlines())
    assert " ".join(header) == (
        "RUN STATUS EVENTS LAST SIGN OF LIFE QUIET FOR LAST EVENT OWED UNSETTLED GOAL"
    )
    assert row[:4] == ["quiet", "open", "1", "2020-01-31"]
    assert row[6] == "d"


def test_the_limit_that_stopped_a_run_is_named(call: Call, watched: Path) -> None:
    out = call("runs", "--status", "suspended", "--ledger", watched).out
    assert "spent  suspended: steps  " in out
    assert "young  suspended         " in out


def test_a_run_that_cannot_be_read_is_named_whoever_watches(call: Call, watched: Path, alter: Alter) -> None:
    alter(watched, "UPDATE events SET hash = zeroblob(32) WHERE run = 'old'")
    answer = call("runs", "--held", "--ledger", watched, "--json")
    assert answer.code == 1
    assert (ids(answer.document), ids({"runs": answer.document["unread"]})) == (["older"], ["old"])


@pytest.mark.parametrize("arguments", [("--held",), ("--quiet-for", "1h")])
def test_a_narrow_terminal_tells_how_long(watched: Path, arguments: tuple[str, ...]) -> None:
    out = " ".join(at_terminal("runs", *arguments, "--ledger", watched, columns=60).out.split())
    assert ("held: restart, for " in out) is (arguments == ("--held",))
    assert ("quiet for " in out) is (arguments != ("--held",))


# --- kin -----------------------------------------------------------------------------------------------


@pytest.fixture
def kin(tmp_path: Path) -> Path:
    path = tmp_path / "kin.db"
    with open_ledger(path, actor=KIM) as ledger:
        run = ledger.open_run("p", "All")
        run.promise("tell", "Tell him", owed_to="human:kim")
        run.open_child("p/c", "A part")
        ledger.fork("p", as_="what-if", at=2)
        ledger.restart("p", as_="p2", reason="anew", by="human:kim")
    return path


def test_runs_name_what_they_come_from_and_what_answers_for_them(call: Call, kin: Path) -> None:
    found = {run["run"]: run for run in call("runs", "--ledger", kin, "--json").document["runs"]}
    assert (found["p"]["successor"], found["p"]["obligations"]) == ("p2", 2)
    assert (found["p2"]["parent"]["relation"], found["p2"]["parent"]["run"]) == ("successor", "p")
    header, *rows = call("runs", "--ledger", kin).out.splitlines()
    assert "  LINEAGE" in header
    at = header.index("LINEAGE"), header.index("GOAL")
    assert [(row.split()[0], row.split()[5], row[slice(*at)].strip()) for row in rows] == [
        ("p", "-", "restarted as p2"),
        ("p/c", "-", "child of p"),
        ("p2", "2", "successor of p"),
        ("what-if", "-", "fork of p"),
    ]


@pytest.mark.parametrize("columns", [60, 80])
def test_a_narrow_terminal_names_kin_too(kin: Path, columns: int) -> None:
    out = " ".join(at_terminal("runs", "--ledger", kin, columns=columns).out.split())
    for words in ("restarted as p2", "child of p", "successor of p", "fork of p"):
        assert words in out
    assert out.count(" owed") == 1


def test_a_run_from_the_future_is_not_called_quiet(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "ahead.db"
    with open_ledger(path, clock=ticking(datetime(2999, 1, 1, tzinfo=UTC))) as ledger:
        ledger.open_run("r", "Goal")
    out = at_terminal("runs", "--ledger", path).out
    assert "last sign of life AHEAD OF THE CLOCK" in " ".join(out.split())
    assert "quiet for" not in out
