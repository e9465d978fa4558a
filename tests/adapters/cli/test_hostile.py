"""No text that a ledger holds reaches a terminal as anything but text, whatever the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adapters.cli.command import at_terminal
from tests.adapters.cli.conftest import Call
from tests.adapters.cli.ledgers import HOSTILE, HOSTILE_ID, HOSTILE_KEY
from tests.adapters.cli.test_visible import steers

COMMANDS = (
    ("runs",),
    ("runs", "--limit", "1"),
    ("runs", "--held"),
    ("resume", HOSTILE_ID),
    ("resume", HOSTILE_ID, "--dry-run"),
    ("refresh", HOSTILE_ID),
    ("suspend", HOSTILE_ID, "--reason", HOSTILE),
    ("cancel", HOSTILE_ID, "--reason", HOSTILE),
    ("restart", HOSTILE_ID, "--as", "next", "--reason", HOSTILE, "--by", "human:kim"),
    ("fork", HOSTILE_ID, "--as", "next", "--at", "9"),
    ("revise-goal", HOSTILE_ID, "--reason", HOSTILE, "--by", "human:kim"),
    ("do", "message.record", HOSTILE_ID, "--id", "m9", "--role", "user", "--content", '"x"'),
    ("contract", HOSTILE_ID),
    ("contract", HOSTILE_ID, "--prompt"),
    ("contract", HOSTILE_ID, "--at", "99"),
    ("log", HOSTILE_ID),
    ("log", "--source", "policy:x"),
    ("log", f"{HOSTILE_ID}-nobody"),
    ("diff", HOSTILE_ID),
    ("diff", HOSTILE_ID, "--at", "99"),
    ("effects",),
    ("effects", HOSTILE_ID, "--all"),
    ("effect", HOSTILE_KEY),
    ("reconcile",),
    ("settle", HOSTILE_KEY, "--did-not", "--evidence", HOSTILE, "--by", "human:kim"),
    ("tools",),
    ("obligations",),
    ("ask", "writers", f"run={HOSTILE_ID}"),
    ("sources", "list"),
    ("sources", "show", "policy:x"),
    ("sources", "affected", "policy:x"),
    ("sources", "withdraw", "policy:x", HOSTILE_ID, "--by", "human:kim", "--reason", HOSTILE),
    ("expire", "--run", HOSTILE_ID, "--reason", HOSTILE, "--by", "human:kim"),
    ("threads", "list"),
    ("verify", HOSTILE_ID),
    ("verify", "--all"),
    ("doctor",),
)


def is_clean(text: str) -> bool:
    return not any(steers(line) for line in text.split("\n"))


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda value: " ".join(value)[:20])
def test_what_is_written_into_a_pipe_steers_nothing(
    call: Call, hostile: Path, arguments: tuple[str, ...]
) -> None:
    answer = call(*arguments, "--ledger", hostile)
    assert is_clean(answer.out)
    assert is_clean(answer.err)
    assert answer.out + answer.err


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda value: " ".join(value)[:20])
def test_what_is_written_as_json_steers_nothing_and_loses_nothing(
    call: Call, hostile: Path, arguments: tuple[str, ...]
) -> None:
    answer = call(*arguments, "--ledger", hostile, "--json")
    for text in (answer.out, answer.err):
        assert is_clean(text)
        assert text.isascii()
        for line in text.splitlines():
            json.loads(line)


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda value: " ".join(value)[:20])
def test_a_terminal_is_told_colours_and_nothing_else(hostile: Path, arguments: tuple[str, ...]) -> None:
    # These draw how far they are.
    watched = arguments[0] not in {"ask", "expire", "obligations", "verify"}
    answer = at_terminal(*arguments, "--ledger", hostile, columns=60, watched=watched)
    assert is_clean(answer.out)
    assert answer.out


def test_markup_and_escapes_are_shown_as_they_are_written(hostile: Path) -> None:
    out = at_terminal("contract", HOSTILE_ID, "--ledger", hostile, columns=5000).out
    assert r"a\x1b[2J\x1b]0;pwned\x07\x9b31m\x0d\x08\x7f\u202e\u2028\U000e0041b" in out
    assert "[bold red]x[/bold red] [link=http://e.example]y[/link] [/] :boom:" in out


def test_json_holds_the_exact_text(call: Call, hostile: Path) -> None:
    document = call("contract", HOSTILE_ID, "--ledger", hostile, "--json").document
    assert document["goal"]["text"] == HOSTILE
    assert document["run"] == HOSTILE_ID
    prompt = call("contract", HOSTILE_ID, "--ledger", hostile, "--prompt", "--json").document["prompt"]
    assert "\x1b[2J" in prompt
