"""Errors, as a model reads them: what is wrong and what to do, and nothing of the machine."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError

from ledger import Ledger, open_ledger
from ledger import errors as e
from ledger.adapters.mcp import faults
from ledger.adapters.mcp.desk import Desk
from tests.adapters.mcp.served import AGENT, served

pytestmark = pytest.mark.anyio

ALL = [kind for kind in vars(e).values() if isinstance(kind, type) and issubclass(kind, e.LedgerError)]
DSN = "postgresql://ledger:hunter2@db.internal:5432/app"


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_each_error_says_what_to_do_in_words_without_marks(kind: type[e.LedgerError]) -> None:
    said = faults.fault(kind("it is so", run="r", evidence={"at": object()}))
    assert said["code"] == kind.code
    assert said["retryable"] is kind.retryable
    assert len(said["hint"]) > 20
    assert "\n" not in said["hint"]
    assert "Ledger.resume" not in said["hint"]
    json.dumps(said)
    assert said["code"] in faults.words(said)


@pytest.mark.parametrize(
    "kind", [e.StoreUnavailable, e.StoreBusy, e.UnsafeStore, e.ChainBroken, e.RunNotFound]
)
def test_none_tells_where_the_ledger_is(kind: type[e.LedgerError]) -> None:
    path = "/srv/data/runs.db"
    error = kind(
        f"{path}: cannot be read; {DSN} neither",
        path=path,
        where=f"db.internal ({DSN})",
        reason=f"see {path}",
    )
    said = json.dumps(faults.fault(error, hidden=(path, "/srv/data")))
    for told in ("srv", "runs.db", "hunter2", "db.internal"):
        assert told not in said


def test_what_is_hidden_is_the_file_of_the_ledger_or_its_address(tmp_path: Path) -> None:
    with open_ledger(":memory:") as ledger:
        assert _hidden(ledger, str(tmp_path / "runs.db"))[0] == str(tmp_path / "runs.db")
        assert _hidden(ledger, DSN) == (DSN,)
        assert _hidden(ledger, ":memory:") == ()


def _hidden(ledger: Ledger, url: str) -> tuple[str, ...]:
    found: list[tuple[str, ...]] = []

    async def look() -> None:
        found.append(Desk(ledger, AGENT, url=url).hidden)

    anyio.run(look)
    return found[0]


async def test_a_ledger_that_was_closed_under_it_is_told_without_its_path(tmp_path: Path) -> None:
    path = tmp_path / "secret-name.db"
    ledger = open_ledger(path)
    ledger.open_run("r", "Go")
    async with served(ledger, url=str(path)) as one:
        ledger.close()
        for tool, arguments in (("contract", {"run": "r"}), ("cursor_move", {"run": "r", "node": "a"})):
            error = await one.fails(tool, **arguments)
            assert error["code"] == "store_unavailable"
            assert "secret-name" not in json.dumps(error)
            assert str(tmp_path) not in json.dumps(error)


async def test_a_defect_is_told_as_one_and_its_trace_goes_to_the_log(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*given: Any) -> None:
        raise ZeroDivisionError("at /home/kim/secret.py")

    ledger.open_run("r", "Go")
    async with served(ledger) as one:
        monkeypatch.setattr(one.desk, "handle", broken)
        with caplog.at_level(logging.ERROR, "ledger"):
            error = await one.fails("cursor_move", run="r", node="a")
        assert (error["code"], error["retryable"]) == ("defect", False)
        assert "secret" not in json.dumps(error)
        assert "ZeroDivisionError" in caplog.text


async def test_a_resource_that_cannot_be_read_is_an_error_of_the_protocol(ledger: Ledger) -> None:
    async with served(ledger) as one:
        for uri, code in (
            ("ledger://runs/nope/contract", "run_not_found"),
            ("ledger://runs/nope/secrets", "invalid_input"),
            ("ledger://runs/%ff/contract", "invalid_input"),
            ("ledger://runs/nope/log?after=x", "invalid_input"),
            ("ledger://runs/nope/brief?after=1", "invalid_input"),
            ("file:///etc/passwd", "invalid_input"),
        ):
            with pytest.raises(MCPError) as told:
                await one.client.read_resource(uri)
            assert told.value.data["code"] == code, uri
