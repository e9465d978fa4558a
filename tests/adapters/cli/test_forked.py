"""What tests take for a new process behaves as one that a shell begins."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.adapters.cli.command import at_terminal, environment, run, run_anew
from tests.adapters.cli.forked import is_as_loaded


@pytest.mark.parametrize(
    "arguments",
    [
        ("contract", "refund-17"),
        ("contract", "refund-17", "--json"),
        ("log", "nobody", "--json"),
        ("nonsense",),
    ],
)
def test_it_says_what_one_says_that_begins_from_nothing(good: Path, arguments: tuple[str, ...]) -> None:
    variables = {"INTENT_LEDGER_URL": good.name}
    forked = run(*arguments, cwd=good.parent, **variables)
    assert forked == run_anew(*arguments, cwd=good.parent, **variables)
    assert forked.out or forked.code


def test_none_leaves_anything_to_the_next(good: Path) -> None:
    assert run("runs", INTENT_LEDGER_URL=str(good)).code == 0
    assert run("runs").code == 3
    assert at_terminal("runs").code == 3


def test_its_terminal_and_its_pipes_are_its_own(good: Path) -> None:
    piped = run("contract", "refund-17", "--ledger", good).out
    shown = at_terminal("contract", "refund-17", "--ledger", good, columns=30).out
    assert max(map(len, shown.splitlines())) <= 30
    assert max(map(len, piped.splitlines())) > 30
    assert at_terminal("contract", "nobody", "--ledger", good, watched=False).out == ""


def test_what_is_read_at_the_beginning_asks_for_one_that_begins_from_nothing() -> None:
    assert is_as_loaded(environment())
    assert not is_as_loaded(environment(LC_ALL="C" if os.environ.get("LC_ALL") != "C" else "C.UTF-8"))
