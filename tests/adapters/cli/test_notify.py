"""`notify`: people are told what waits for them, from the command line."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from ledger import Actor, Ledger, open_ledger
from ledger.stores.read_models import Cursor, Model
from tests.adapters.cli import waits
from tests.adapters.cli.command import PROGRAM, Answer, environment
from tests.adapters.cli.conftest import Alter, Call
from tests.adapters.cli.waits import Waits
from tests.adapters.notifying.hooks import Hook, hooked
from tests.stores.builder import until


@pytest.fixture(scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Waits:
    return waits.make(tmp_path_factory.mktemp("waits") / "ledger.db")


@pytest.fixture
def made(_made: Waits, tmp_path: Path) -> Waits:
    """Return a ledger of its own for each test."""
    return _made._replace(path=Path(shutil.copy(_made.path, tmp_path / "waits.db")))


@pytest.fixture
def say(call: Call, made: Waits) -> Call:
    def said(*arguments: str) -> Answer:
        return call("notify", *arguments, "--ledger", made.path)

    return said


@pytest.fixture
def hook() -> Iterator[Hook]:
    with hooked() as found:
        yield found


def test_a_command_is_told_what_waits_and_of_nothing_twice(say: Call, made: Waits, tmp_path: Path) -> None:
    told = tmp_path / "told"
    keep = f'{sys.executable} -c \'import sys; open("{told}", "a").write(sys.stdin.read())\''
    first = say("--command", keep, "--until-current")
    assert first.code == 0
    assert first.out == f"told: pay of shop waits, approval {made.waiting}\n"
    assert first.err == "1 request told, 3 passed over\n"
    again = say("--command", keep, "--until-current", "--json")
    nothing = {"name": "default", "told": 0, "passed_over": 0, "unreadable": 0, "whole": True}
    assert (again.code, again.document) == (0, nothing)
    (line,) = told.read_text().splitlines()
    assert json.loads(line)["approve"] == (
        f"intent-ledger approve {made.waiting} --by human:NAME --ledger {made.path}"
    )
    assert say("--command", keep, "--until-current", "--anew", "--json").document["told"] == 1
    assert say("--command", keep, "--until-current", "--name", "more", "--json").document["told"] == 1


def test_a_secret_header_comes_from_the_environment_and_is_kept_nowhere(
    say: Call, made: Waits, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESK_TOKEN", "Bearer not-for-the-record")
    answer = say("--post", hook.url, "--header", "Authorization=DESK_TOKEN", "--until-current")
    assert answer.code == 0
    ((headers, body),) = hook.got
    assert (headers["authorization"], headers["idempotency-key"]) == (
        "Bearer not-for-the-record",
        made.waiting,
    )
    assert json.loads(body)["args"] == {"order": 3, "amount": "10.00"}
    for file in made.path.parent.glob("waits.db*"):
        assert b"not-for-the-record" not in file.read_bytes()
        assert b"sesame" not in file.read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say who is told"),
        (("--command", "true", "--post", "http://x"), "say who is told"),
        (("--command", "true", "--header", "A=B"), "--header goes with --post"),
        (("--post", "http://x", "--header", "A"), "NAME=VARIABLE"),
        (("--post", "http://x", "--header", "A=NOT_SET_ANYWHERE"), "NOT_SET_ANYWHERE is not set"),
        (("--command", "none-such-command"), "none-such-command"),
        (("--post", "x"), "address of a server"),
        (("--command", "true", "--name", "No-Name"), "No-Name"),
        (("--command", "true", "--tries", "2"), "--tries goes with --until-current"),
    ],
)
def test_a_malformed_command_line_tells_nobody(say: Call, words: tuple[str, ...], said: str) -> None:
    answer = say(*words)
    assert (answer.code, answer.out) == (64, "")
    assert said in answer.err


def test_what_was_not_taken_is_told_by_the_next_one(say: Call, made: Waits, hook: Hook) -> None:
    hook.answers = [503]
    gave_up = say("--post", hook.url, "--until-current", "--tries", "1", "--json")
    assert (gave_up.code, gave_up.error["code"]) == (3, "gave_up")
    assert gave_up.error["data"]["approval"] == made.waiting
    assert "127.0.0.1 answered 503" in gave_up.error["message"]
    assert "sesame" not in gave_up.err
    assert say("--post", hook.url, "--until-current", "--json").document["told"] == 1


def test_a_run_that_cannot_be_read_is_bad_news_and_keeps_nobody_else_back(
    say: Call, made: Waits, alter: Alter
) -> None:
    alter(
        made.path,
        "UPDATE events SET record = CAST(replace(record, 'Pay order 4', 'Pay order 5') AS BLOB) "
        "WHERE run = 'moved' AND position = 1;",
    )
    answer = say("--command", "true", "--until-current", "--json")
    assert answer.code == 1
    assert (answer.document["told"], answer.document["unreadable"]) == (1, 1)
    assert "nobody is told of 'moved' position 3" in answer.err


def begun(made: Waits, hook: Hook, *more: str) -> subprocess.Popen[bytes]:
    words: list[str | Path] = [PROGRAM, "notify", "--post", hook.url, "--ledger", made.path, "--json", *more]
    return subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.slow
def test_one_that_was_killed_while_it_told_tells_it_again_and_goes_on(made: Waits, hook: Hook) -> None:
    asked, goes_on = Event(), Event()

    def waits_once() -> None:
        if not asked.is_set():
            asked.set()
            goes_on.wait(60)

    hook.waits = waits_once
    with begun(made, hook) as killed:
        assert asked.wait(60)
        with open_ledger(made.path, actor=Actor("agent:refunds")) as ledger:
            later = waits.ask(ledger.run("shop"), 5)
        os.kill(killed.pid, signal.SIGKILL)
        killed.communicate()
    goes_on.set()
    with open_ledger(made.path) as ledger:
        # Nobody waits for the end of a dead one's lease here.
        cursor = cursor_of(ledger)
        assert cursor.holder is not None
        ledger.store.read_models().release("default", Model("notify_default", 1, ()), cursor.fence)
    with begun(made, hook) as process:
        until(lambda: len(hook.got) == 3)
        # What was told is stored a moment later.
        with open_ledger(made.path) as ledger:
            until(lambda: cursor_of(ledger).reached.gid == ledger.store.end())
        os.kill(process.pid, signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
    assert hook.ids == [made.waiting, made.waiting, later]
    assert (process.returncode, json.loads(out)["told"]) == (0, 2)


@pytest.mark.slow
def test_one_that_follows_says_that_it_began_and_for_whom_it_waits(made: Waits, hook: Hook) -> None:
    with open_ledger(made.path) as ledger:
        model = Model("notify_default", 1, ())
        assert ledger.store.read_models().take("default", model, holder="the-first", seconds=3600.0)
    with begun(made, hook) as process:
        assert process.stderr is not None
        began, waits_for = (process.stderr.readline().decode() for _ in range(2))
        os.kill(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)
    assert began == "notifier default tells what waits in tenant default, until it is ended\n"
    assert "another notifier of this name, the-first, was heard of at " in waits_for
    assert hook.got == []


def test_a_tenant_of_which_nothing_is_recorded_is_told(say: Call, call: Call, made: Waits) -> None:
    nothing = "nothing is recorded of tenant shp: name another with --tenant\n"
    assert say("--command", "true", "--until-current", "--tenant", "shp").err.startswith(nothing)
    for verb in ("approvals", "effects", "obligations"):
        assert call(verb, "--ledger", made.path, "--tenant", "shp").err.startswith(nothing)
        assert nothing not in call(verb, "--ledger", made.path).err


@pytest.mark.slow
def test_one_that_is_ended_before_it_is_done_says_so(made: Waits, hook: Hook) -> None:
    hook.answers = [503] * 100
    with begun(made, hook, "--until-current") as process:
        until(lambda: len(hook.got) == 1)
        os.kill(process.pid, signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 143
    assert json.loads(said.splitlines()[-1])["code"] == "terminated"
    with open_ledger(made.path) as ledger:
        assert cursor_of(ledger).holder is None


def cursor_of(ledger: Ledger) -> Cursor:
    """Return where the notifier stands."""
    cursors = ledger.store.read_models().cursors("default")
    return next(one for one in cursors if one.projection == "notify_default")
