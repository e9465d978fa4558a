"""Commands that read JSON, and real servers that take it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ledger import Ledger
from ledger.adapters.notifying import Notice, Notifier, NotTold, Post, RunCommand
from ledger.errors import InvalidInput
from tests.adapters.notifying.desk import Desk, ask, opened
from tests.adapters.notifying.hooks import Hook


@pytest.fixture
def notice(ledger: Ledger) -> Notice:
    ask(opened(ledger), 1)
    desk = Desk()
    Notifier(ledger, desk).run(until_current=True)
    return desk.told[0]


# --- commands ----------------------------------------------------------------------------------------


def python(text: str) -> str:
    return f"{sys.executable} -c '{text}'"


def test_a_command_reads_one_line_of_json(notice: Notice, tmp_path: Path) -> None:
    path = tmp_path / "said"
    RunCommand(python(f'import sys; open("{path}", "w").write(sys.stdin.read())'))(notice)
    (line,) = path.read_text().splitlines()
    assert json.loads(line) == notice.document()


def test_a_command_that_fails_has_not_taken_it(notice: Notice) -> None:
    with pytest.raises(NotTold, match="ended with 7"):
        RunCommand(python("raise SystemExit(7)"))(notice)


def test_a_command_that_reads_nothing_may_take_it(notice: Notice) -> None:
    RunCommand("true")(notice)


def test_a_command_that_takes_too_long_is_ended(notice: Notice) -> None:
    with pytest.raises(NotTold, match=r"still running after 0\.05 s"):
        RunCommand("sleep 3600", seconds=0.05)(notice)


@pytest.mark.parametrize("command", ["", "none-such-command --x", "'"])
def test_a_command_has_to_be_there(command: str) -> None:
    with pytest.raises(InvalidInput, match="command"):
        RunCommand(command)


# --- servers -----------------------------------------------------------------------------------------


def test_a_server_gets_the_same_json_under_the_id_of_the_approval(hook: Hook, notice: Notice) -> None:
    with Post(hook.url, headers={"Authorization": "Bearer sesame"}) as post:
        post(notice)
        post(notice)
    (headers, body), again = hook.got
    assert json.loads(body) == notice.document()
    assert headers["idempotency-key"] == notice.approval
    assert (headers["content-type"], headers["authorization"]) == ("application/json", "Bearer sesame")
    assert again[1] == body


@pytest.mark.parametrize("code", [307, 400, 404, 429, 500, 503])
def test_any_answer_but_success_has_not_taken_it(hook: Hook, notice: Notice, code: int) -> None:
    hook.answers = [code]
    with Post(hook.url) as post, pytest.raises(NotTold) as not_told:
        post(notice)
    assert str(not_told.value) == f"127.0.0.1 answered {code}"
    assert len(hook.got) == 1, "a redirect is not followed"


def test_a_server_that_is_down_has_not_taken_it_and_its_address_is_not_told(
    hook: Hook, notice: Notice
) -> None:
    hook.server.server_close()
    with Post(hook.url) as post, pytest.raises(NotTold, match="was not reached") as not_told:
        post(notice)
    assert "sesame" not in str(not_told.value)


def test_what_a_server_refuses_for_a_while_reaches_it_in_order(ledger: Ledger, hook: Hook) -> None:
    run = opened(ledger)
    ids = [ask(run, order) for order in (1, 2, 3)]
    hook.answers = [503, 204, 500, 500, 204]
    with Post(hook.url) as post:
        Notifier(ledger, post, first_pause=0.001, longest_pause=0.001).run(until_current=True)
    told = [headers["idempotency-key"] for headers, _ in hook.got]
    assert told == [ids[0], ids[0], ids[1], ids[1], ids[1], ids[2]]


@pytest.mark.parametrize("url", ["", "chat.example/hook", "ftp://chat.example", "https://"])
def test_an_address_is_one_of_a_server(url: str) -> None:
    with pytest.raises(InvalidInput, match="address of a server"):
        Post(url)
