"""The examples of the how-tos run as they stand, and print what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, open_ledger
from tests.conftest import ROOT
from tests.outside.manners import LOST, Manner, refused
from tests.outside.orders import orders
from tests.outside.outside import Outside
from tests.test_readme import blocks, run

PAGE = (ROOT / "docs/how-to/effects.md").read_text("utf-8")
HTTP_PAGE = (ROOT / "docs/how-to/effects-http.md").read_text("utf-8")
EXAMPLE, WORKER, RETRIES = blocks(PAGE, "python")
PRINTED, WORKED, RETRIED = blocks(PAGE, "text")


def test_the_example_runs(tmp_path: Path) -> None:
    assert run(EXAMPLE, tmp_path) == PRINTED


def test_what_is_tried_again_ends_in_what_is_owed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(RETRIES, "retries.py", "exec"), {"__name__": "retries"})
    assert capsys.readouterr().out == RETRIED


@pytest.fixture
def program() -> dict[str, Any]:
    """Return the names of the worker's program, with an outside that has done nothing."""
    names: dict[str, Any] = {"__name__": "worker"}
    exec(compile(WORKER, "worker.py", "exec"), names)
    return names


def test_the_worker_sends_again_what_is_deduped_and_leaves_the_rest_to_people(
    program: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slept: list[float] = []
    with open_ledger(tmp_path / "refunds.db") as ledger:
        program["work"](ledger, [1, 2, 3, 4], slept.append)
        assert (capsys.readouterr().out, slept) == (WORKED, [1.0])
        assert sorted(program["BANK"].values()) == ["re_1", "re_2", "re_3"]
        (mail,) = ledger.effects(unknown=True)

    with open_ledger(tmp_path / "refunds.db") as ledger:
        program["work"](ledger, [1, 2, 3, 4], slept.append)
        told = capsys.readouterr().out.splitlines()
        assert told[:2] == ["1 before", "2 before"]
        assert [line.partition(":")[0] for line in told[2:]] == ["3 reconcile", "4 refused"]
        ledger.settle(mail.effect.key, happened=True, evidence="in the log", by="human:kim", result="sent")
        program["work"](ledger, [3], slept.append)
        assert capsys.readouterr().out == "3 done\n"
    assert slept == [1.0]


def test_the_worker_leaves_to_another_what_that_is_executing(
    program: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_ledger(tmp_path / "refunds.db") as ledger:
        other = ledger.open_run("refund-1", "Refund order 1", actor=Actor("service:refunds", session="two"))
        with other.effect(program["refund"], {"order": 1}, step="refund") as effect:
            program["work"](ledger, [1], pytest.fail)
            effect.succeed("re_other")
        told = capsys.readouterr().out.splitlines()
        assert "1 reconcile: service:refunds in session two is at work on it" in told
        assert ledger.contract("refund-1").status == "open", "the other one goes on"
        other.close("completed")
        program["work"](ledger, [1], pytest.fail)
    assert capsys.readouterr().out == "1 before\n"
    assert not program["BANK"]


def test_a_lost_answer_of_a_service_is_asked_for_under_the_same_key(
    order_server: Outside, tmp_path: Path
) -> None:
    (example,), (printed,) = blocks(HTTP_PAGE, "python"), blocks(HTTP_PAGE, "text")
    order_server.expect(LOST, Manner(), refused(422))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=tmp_path,
        env={**os.environ, "SHOP_URL": order_server.url, "NO_PROXY": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, printed), done.stderr
    (order,) = orders(order_server.url)
    assert (order.body, order.repeats) == ({"of": "tea"}, 1)
