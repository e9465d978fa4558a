"""What commands have in common: the options that name a ledger, and groups of commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ledger.adapters.cli.app import command
from tests.adapters.cli.conftest import Call

SHARED = ["ledger", "tenant", "actor", "as_json"]


def every_command(at: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name in at.list_commands(None):
        one = at.get_command(None, name)
        if hasattr(one, "list_commands"):
            yield from every_command(one, (*path, name))
        else:
            yield (*path, name), one


def test_the_options_that_commands_share_stand_behind_their_own_and_in_one_order() -> None:
    # A remedy is built when it is named; all that `do` has are built alike.
    found = [(path, one) for path, one in every_command(command()) if one.params]
    assert len(found) > 90
    for path, one in found:
        names = [parameter.name for parameter in one.params if parameter.name != "help"]
        shared = [name for name in names if name in SHARED]
        assert names[len(names) - len(shared) :] == shared, path
        assert shared == [name for name in SHARED if name in shared], path
        assert "as_json" in shared, path


@pytest.mark.parametrize("group", ["do", "project", "review", "rules", "sources", "threads"])
def test_a_command_with_others_under_it_shows_its_help_where_none_is_named(call: Call, group: str) -> None:
    alone, asked = call(group), call(group, "--help")
    assert (alone.code, alone.out) == (0, asked.out)
    assert f"intent-ledger {group}" in alone.out
