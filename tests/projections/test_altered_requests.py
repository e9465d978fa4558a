"""A run of which somebody altered what was intended keeps nobody from seeing what waits in others."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from ledger import Actor, Ledger
from ledger.application.looking import all_under_each
from ledger.errors import ApprovalRequired
from ledger.gateway.tools import declare
from projections import views
from tests.projections.questions.telling import on_memory
from tests.stores.builder import shown


def pay(to: str) -> None:
    """Pay somebody."""


@on_memory
def test_what_waits_in_other_runs_is_told(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = declare(pay, needs_approval=True)
    for run in ("altered", "whole"):
        ledger.open_run(run, "Pay them", actor=Actor("agent:a"))
        with pytest.raises(ApprovalRequired):
            ledger.run(run, actor=Actor("agent:a")).perform(tool, {"to": "x"})
    shown(ledger.store)

    def altering(*given: Any, **more: Any) -> Any:
        for row in all_under_each(*given, **more):
            forged = row.record.replace(b'\\"x\\"', b'\\"y\\"')
            assert forged != row.record or b"intended" not in row.record
            yield row._replace(record=forged) if row.stream == "altered" else row

    assert [one.run for one in views.approvals(ledger).rows] == ["altered", "whole"]
    monkeypatch.setattr(sys.modules["projections.views.approvals"], "all_under_each", altering)
    for pending in (False, True):
        found = views.approvals(ledger, pending=pending)
        assert [(one.run, one.tool) for one in found.rows] == [("whole", "pay")]
        assert found.left_out == ("altered",)
        [note] = found.notes
        assert note.startswith("what waits in run 'altered' is left out: ")
