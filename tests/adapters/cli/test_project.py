"""`project`: projections run, stop, are looked at and begun anew from the command line."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from ledger import Actor, open_ledger
from projections.built_in import BUILT_IN
from projections.runs import Runs
from projections.standing import status
from projections.timeline import Timeline
from tests.adapters.cli.command import PROGRAM, at_terminal, environment, run, run_anew
from tests.adapters.cli.conftest import Alter
from tests.stores.builder import until
from tests.stores.place import address


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    with open_ledger(path, actor=Actor("service:tests")) as opened:
        for number in range(3):
            opened.open_run(f"run-{number}", "goal").promise("mail", "Mail", owed_to="customer:17")
    return path


def test_it_catches_up_and_says_how_they_stand(ledger: Path) -> None:
    before = run("project", "status", "--ledger", ledger, "--json").document["projections"]
    assert {one["projection"] for one in before} == set(BUILT_IN)
    assert {(one["state"], one["build"], one["lag"]["events"]) for one in before} == {("new", None, 6)}
    ran = run("project", "run", "--until-current", "--page", "2", "--ledger", ledger, "--json")
    assert ran.code == 0
    one = next(one for one in ran.document["projections"] if one["projection"] == "runs")
    assert one == {
        "projection": "runs",
        "about": Runs().about,
        "version": Runs.version,
        "slot": 0,
        "name": f"v{Runs.version}",
        "build": "served",
        "state": "active",
        "position": "6",
        "events": 6,
        "at": one["at"],
        "lag": {"events": 0, "seconds": 0.0},
        "holder": None,
        "held_until": None,
        "updated_at": one["updated_at"],
    }
    assert run("project", "status", "--ledger", ledger, "--json").document == ran.document


def test_as_text_it_is_a_table_or_entries(ledger: Path) -> None:
    assert run("project", "run", "runs", "--until-current", "--ledger", ledger).out == (
        f"PROJECTION  BUILD   STATE   EVENTS  WAITING\nruns v{Runs.version}   served  active       6  -\n"
    )
    with open_ledger(ledger) as opened:
        opened.open_run("later", "goal")
    assert "1 for " in run("project", "status", "--ledger", ledger).out
    narrow = at_terminal("project", "status", "--ledger", ledger, columns=40).out
    assert f"runs v{Runs.version}" in narrow
    assert "served, active, 6 events, waiting:" in " ".join(narrow.split())


def test_one_is_made_anew_and_one_goes_back_and_drops_it(ledger: Path) -> None:
    run("project", "run", "runs", "--until-current", "--ledger", ledger)
    made = run("project", "rebuild", "runs", "--page", "2", "--ledger", ledger, "--json")
    assert made.code == 0
    assert [(one["slot"], one["build"], one["events"]) for one in made.document["projections"]] == [
        (0, "previous", 6),
        (1, "served", 6),
    ]
    back = run("project", "serve", "runs", "--previous", "--ledger", ledger)
    assert back.out == f"runs is read from v{Runs.version}\n"
    again = run("project", "serve", "runs", "--previous", "--ledger", ledger, "--json")
    assert again.document == {
        "projection": "runs",
        "version": Runs.version,
        "slot": 1,
        "name": f"v{Runs.version}b",
    }
    dropped = run("project", "drop", "runs", "--ledger", ledger, "--json")
    assert dropped.document == {
        "dropped": [{"projection": "runs", "version": Runs.version, "slot": 0, "name": f"v{Runs.version}"}]
    }
    assert run("project", "drop", "runs", "--ledger", ledger).out == "there is nothing that is not read\n"
    gone = run("project", "serve", "runs", "--previous", "--ledger", ledger)
    assert (gone.code, gone.err) == (
        3,
        "intent-ledger: there is no build of runs that was read before: a rebuild leaves one\n",
    )


def test_a_tenant_that_is_not_there_is_told(ledger: Path) -> None:
    said = run("project", "status", "--tenant", "nix", "--ledger", ledger)
    assert (said.code, said.err) == (0, "the tenant 'nix' has recorded nothing\n")
    assert run("project", "status", "--ledger", ledger).err == ""


def test_what_stopped_at_an_altered_record_is_not_to_be_mended(ledger: Path, alter: Alter) -> None:
    alter(
        ledger,
        """
        UPDATE events SET record = CAST(replace(record, 'customer:17', 'customer:18') AS BLOB)
        WHERE run = 'run-1' AND position = 2;
        """,
    )
    said = run("project", "run", "timeline", "--until-current", "--ledger", ledger)
    assert said.code == 1
    assert "bring it back from a backup or an export" in " ".join(said.out.split())
    assert "project run timeline --park" in " ".join(said.out.split())
    parked = run("project", "run", "timeline", "--until-current", "--park", "--ledger", ledger)
    assert (parked.code, "intent-ledger project resume timeline" in parked.out) == (1, True)


@pytest.mark.slow
def test_several_processes_make_one_anew(ledger: Path) -> None:
    with open_ledger(ledger) as opened:
        for number in range(40):
            opened.open_run(f"more-{number}", "goal").promise("mail", "Mail", owed_to="customer:17")
    made = run_anew("project", "rebuild", "runs", "timeline", "--workers", "2", "--ledger", ledger, "--json")
    assert made.code == 0
    found = made.document["projections"]
    assert [(one["projection"], one["build"], one["events"]) for one in found] == [
        ("runs", "served", 86),
        ("timeline", "served", 86),
    ]


def test_a_run_that_is_set_aside_is_bad_news_until_it_is_handled(ledger: Path) -> None:
    with closing(sqlite3.connect(ledger, isolation_level=None)) as database:
        database.execute("DROP TRIGGER events_refuse_update")
        query = "SELECT record FROM events WHERE run = 'run-1' AND position = 2"
        (record,) = database.execute(query).fetchone()
        change = "UPDATE events SET record = ? WHERE run = 'run-1' AND position = 2"
        database.execute(change, (record.replace(b"Mail", b"Maul"),))
        ran = run("project", "run", "runs", "--park", "--until-current", "--ledger", ledger)
        assert ran.code == 1
        assert "runs has set run-1 aside from position 2 on: ChainBroken:" in ran.out
        assert "intent-ledger project resume runs" in " ".join(ran.out.split())
        seen = run("project", "status", "--ledger", ledger, "--json")
        assert seen.code == 1
        (one,) = (one for one in seen.document["projections"] if one["projection"] == "runs")
        assert (one["state"], one["events"]) == ("active", 6)
        assert (one["parked"]["streams"], one["parked"]["events"]) == (1, 1)
        assert (one["parked"]["first"][0]["run"], one["parked"]["first"][0]["position"]) == ("run-1", 2)
        run("project", "run", "timeline", "--park", "--until-current", "--ledger", ledger)
        asked = run("ask", "writers", "run=run-0", "--as-is", "--ledger", ledger, "--json")
        assert (asked.code, asked.document["rows"] != []) == (1, True)
        assert "set aside run-1 from position 2" in asked.document["notes"][0]
        # Before that record nothing was aside.
        assert run("ask", "writers", "run=run-0", "--as-of", "3", "--ledger", ledger, "--json").code == 0
        database.execute(change, (record,))
    for name in ("runs", "timeline"):
        run("project", "resume", name, "--ledger", ledger)
        assert run("project", "run", name, "--until-current", "--ledger", ledger).code == 0
    assert run("project", "status", "--ledger", ledger).code == 0


def test_a_stopped_one_is_bad_news_with_its_place(ledger: Path) -> None:
    with closing(sqlite3.connect(ledger, isolation_level=None)) as database:
        database.execute("DROP TRIGGER events_refuse_update")
        database.execute(
            "UPDATE events SET record = CAST(replace(record, 'Mail', 'Maul') AS BLOB) "
            "WHERE run = 'run-1' AND position = 2"
        )
    ran = run("project", "run", "timeline", "--until-current", "--ledger", ledger)
    assert ran.code == 1
    assert "timeline stopped before run-1 position 2: ChainBroken:" in ran.out
    seen = run("project", "status", "--ledger", ledger, "--json")
    assert seen.code == 1
    (one,) = (one for one in seen.document["projections"] if one["projection"] == "timeline")
    assert (one["state"], one["events"], one["stopped"]["run"], one["stopped"]["global_position"]) == (
        "stopped",
        3,
        "run-1",
        "4",
    )
    resumed = run("project", "resume", "timeline", "--ledger", ledger, "--json")
    assert resumed.document == {"resumed": ["timeline"]}
    idle = run("project", "resume", "timeline", "effects", "--ledger", ledger)
    assert (idle.code, idle.out) == (0, "nothing had stopped: timeline, effects\n")
    assert run("project", "resume", "timeline", "--ledger", ledger, "--json").document == {"resumed": []}
    assert run("project", "status", "--ledger", ledger).code == 0


def test_one_that_is_ahead_is_made_anew(ledger: Path) -> None:
    run("project", "run", "runs", "--until-current", "--ledger", ledger)
    with closing(sqlite3.connect(ledger, isolation_level=None)) as database:
        database.execute("UPDATE projections SET position = 9")
    seen = run("project", "status", "--ledger", ledger)
    assert seen.code == 1
    assert "intent-ledger project rebuild runs" in " ".join(seen.out.split())
    ran = run("project", "run", "runs", "--until-current", "--ledger", ledger, "--json")
    assert (ran.code, ran.error["code"]) == (3, "projection_ahead")
    assert run("project", "rebuild", "runs", "--ledger", ledger).code == 0
    # What was read before comes from another history, and nobody reads it any more.
    assert run("project", "status", "--ledger", ledger).code == 0
    assert run("project", "serve", "runs", "--previous", "--ledger", ledger, "--json").error["code"] == (
        "projection_ahead"
    )
    assert run("project", "forget", "runs", "--ledger", ledger).out == "forgotten: runs\n"
    assert run("project", "run", "runs", "--until-current", "--ledger", ledger).code == 0


# Tests that run in the background have Ctrl-C ignored, and so have the programs that they start.
HEEDED = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
HEEDED += "os.execv(sys.argv[1], sys.argv[1:])"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_follower_ends_when_it_is_told_and_lets_go(ledger: Path, how: signal.Signals) -> None:
    with (
        subprocess.Popen(
            [sys.executable, "-c", HEEDED, PROGRAM, "project", "run", "runs", "--ledger", ledger, "--json"],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
        open_ledger(ledger) as opened,
    ):
        until(lambda: any(one.events == 6 for one in status(opened)))
        opened.open_run("later", "goal")
        until(lambda: any(one.events == 7 for one in status(opened)))
        os.kill(process.pid, how)
        out, _ = process.communicate(timeout=60)
        assert [one.holder for one in status(opened)] == [None]
    if how == signal.SIGTERM:
        assert process.returncode == 0
        assert json.loads(out)["projections"][0]["events"] == 7
    else:
        assert process.returncode == 130


@pytest.mark.parametrize(("how", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("what", [("rebuild", "--workers", "1"), ("run", "--until-current")])
def test_what_is_ended_before_it_is_done_says_so(
    ledger: Path, what: tuple[str, ...], how: signal.Signals, code: int
) -> None:
    # Another one is at work, so that this one waits.
    with open_ledger(ledger) as opened:
        models = opened.store.read_models()
        models.take("default", Timeline().model, holder="another", seconds=3600)
        words: list[str | Path] = [
            "project",
            what[0],
            "timeline",
            "goals",
            *what[1:],
            "--ledger",
            ledger,
            "--json",
        ]
        with subprocess.Popen(
            [sys.executable, "-c", HEEDED, PROGRAM, *words],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            # It handles signals from before it begins with the first.
            until(lambda: any((one.projection, one.events) == ("goals", 6) for one in status(opened)))
            os.kill(process.pid, how)
            _, said = process.communicate(timeout=60)
    assert process.returncode == code
    told = json.loads(said)
    assert (told["code"], told["message"]) == (
        "terminated" if how == signal.SIGTERM else "interrupted",
        "interrupted; the same command goes on",
    )


def test_tables_are_made_by_themselves_and_for_those_who_may_not(tmp_path: Path) -> None:
    url = address("postgres", tmp_path)
    open_ledger(url).close()
    assert run("project", "create", "runs", "--ledger", url).out == "made the tables of runs\n"
    assert run("project", "create", "runs", "--ledger", url, "--json").document == {"created": []}
    made = run("project", "create", "--ledger", url, "--json").document["created"]
    assert sorted([*made, "runs"]) == sorted(BUILT_IN)
    assert run("project", "create", "--ledger", url).out == "all tables are there\n"
    assert run("project", "run", "--until-current", "--ledger", url).code == 0


def test_tenants_are_asked_one_by_one(ledger: Path) -> None:
    with open_ledger(ledger, tenant="acme") as opened:
        opened.open_run("run", "goal")
    for tenant, events in (("acme", 1), ("default", 6)):
        ran = run("project", "run", "--until-current", "--ledger", ledger, "--tenant", tenant, "--json")
        assert ran.document["projections"][0]["events"] == events


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("run", "none", "--until-current"), 64),
        (("forget",), 64),
        (("rebuild", "none"), 64),
        (("rebuild", "--workers", "0"), 64),
        (("serve", "runs"), 64),
        (("serve", "runs", "--previous"), 3),
        (("drop",), 64),
        (("run", "--page", "0"), 64),
        (("status", "--ledger", "none.db"), 3),
        (("run", "--until-current", "--ledger", "none.db"), 3),
    ],
)
def test_what_cannot_be_done_is_told(ledger: Path, arguments: tuple[str, ...], code: int) -> None:
    assert run("project", *arguments, cwd=ledger.parent).code == code


def test_the_group_alone_shows_its_help(ledger: Path) -> None:
    told = run("project").out
    assert "intent-ledger project run --until-current" in told
    listed = " ".join(told.partition("Projections:")[2].split())
    assert listed == " ".join(f"{name} {one.about}" for name, one in BUILT_IN.items())


def test_a_bar_is_shown_where_somebody_watches(ledger: Path) -> None:
    watched = at_terminal("project", "run", "runs", "--until-current", "--ledger", ledger)
    assert watched.code == 0
    assert "6/6" in watched.out
