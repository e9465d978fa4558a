"""A run of which a brief has something to say in every section, and what a brief is built from."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

from ledger import events as e
from ledger.run.brief import Brief, Told, build
from ledger.run.contract import Contract
from ledger.run.descent import descent_of, goals_of
from ledger.run.looking import histories as histories_of
from ledger.testing import START, History, given
from ledger.values import ErrorSaid, Step
from tests.run import examples as x


def told(history: History[Contract | None], **more: Any) -> Told:
    """Read what a brief holds beside the contract from a run that has no kin."""
    descent = descent_of(history.records)
    assert descent is not None
    keys = dict.fromkeys((*(effect.key for effect in history.contract.effects), *descent.keys))
    return Told(
        goals=goals_of({descent.kin.run: descent}, descent.kin.run),
        lineage=(descent.kin,),
        dropped=descent.dropped,
        effects=histories_of(keys, history.records),
        **more,
    )


def brief_of(history: History[Contract | None], now: datetime | None = None, **more: Any) -> Brief:
    return build(history.contract, told(history, **more), now or history.now)


def as_json(brief: Brief) -> Any:
    return json.loads(json.dumps(brief.model_dump(mode="json", exclude_none=True)))


FULL = given(
    x.opened(owner="human:kim", thread="t-1"),
    e.GoalRevised(by="human:kim", reason="customer asked", text="Refund order 17 and say so"),
    x.accepted(source=x.POLICY, source_position=1, published=True),
    x.accepted("kind", text="Be kind", source=x.POLICY, source_position=0, published=False),
    x.accepted("later", text="Be quick", valid_from=START + x.HOUR),
    x.accepted("before", text="Be slow", valid_until=START),
    x.observed(fresh_for=60),
    x.observed("weather"),
    e.ObservationInvalidated(key="weather", reason="broken sensor"),
    e.AssumptionMade(id="in-stock", text="The goods came back", rests_on=("observation:stock",)),
    e.AssumptionMade(id="kept", text="Nobody took them", rests_on=("assumption:in-stock",)),
    e.PlanCommitted(steps=(Step(name="pay", tool="refund", rests_on=("assumption:kept",)),)),
    e.ObligationOpened(id="tell", owed_to="customer:17", text="Mail the customer", due=START + x.HOUR),
    e.ObligationOpened(id="child", owed_to="human:kim", text="Find the box", because="run:child"),
    x.granted(budget=x.EUR_10 | {"tokens": Decimal(5)}, session="s-1", on_resume="reapprove"),
    x.granted("old", expires_at=START),
    e.ApprovalRequested(id="ok-1", key=x.ONE, question="Pay 10 EUR?", expires_at=START + x.HOUR),
    e.ApprovalRequested(id="ok-2", key="5" * 64),
    e.ApprovalAnswered(id="ok-2", answer="denied", by="human:kim"),
    e.CursorMoved(node="pay", next=("mail",), waits_for=("approval:ok-1",), needs=("observation:stock",)),
    x.intended(x.ONE, step="pay", authority=("refunds",), reserved=x.EUR_10),
    x.started(x.ONE),
    x.intended(x.TWO, act="b" * 64),
    x.started(x.TWO),
    e.EffectSucceeded(key=x.TWO, attempt=1, result=x.ANSWER, external_ref="ch_1"),
    x.intended(x.THREE, act="c" * 64),
    x.started(x.THREE),
    e.EffectFailed(key=x.THREE, attempt=1, error=ErrorSaid(message="no such order", type="NotFound")),
)
LATER = START + 2 * x.HOUR
"""When every lease of that run has ended."""
