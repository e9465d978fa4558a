"""Events of the golden file in shapes that were written before and are only read.

Of each a complete one and a smallest one.
"""

from __future__ import annotations

from datetime import timedelta

from ledger import events as e
from ledger import upcasting as u
from ledger import values as v
from tests.record.golden_events import (
    ACT,
    COST,
    HASH,
    JSON_VALUE,
    KEY,
    LATER,
    NOON,
    REFS,
    RULE,
    RUNTIME,
    TEXT,
)

RULE_V1 = u.RuleV1(**{name: value for name, value in RULE if name != "when"})
PUBLISHED_V1 = u.PublishedV1(id="limit-100", rule=RULE_V1, text=TEXT)

OLD_COMPLETE: tuple[e.Event, ...] = (
    u.ConstraintAcceptedV1(
        accepted_by="agent:refunds",
        asserted_at=NOON,
        asserted_by="human:kim",
        change=v.Change.TIGHTENED,
        id="limit-100",
        published=False,
        rule=RULE_V1,
        source=v.Source("policy", "refunds", item="limit", revision="4"),
        source_position=0,
        supersedes=3,
        text=TEXT,
        valid_from=NOON,
        valid_until=LATER,
    ),
    u.EffectIntendedV1(
        act=ACT,
        approval="a-1",
        args='{"amount":"10.00","order":17}',
        authority=("g-1",),
        dedupes_for=86_400,
        given="refund of order 17",
        key=KEY,
        key_scheme="v1",
        max_attempts=3,
        occurrence="second parcel",
        recovery=v.Recovery.IDEMPOTENT,
        repeat_reason=TEXT,
        reserved=COST,
        resource="order:17",
        rests_on=REFS,
        settle_seconds=30,
        source_positions={"policy:refunds": 4, "policy:zürich": 0},
        step="refund",
        tool="refund",
        tool_schema=HASH,
        undone_by=HASH,
        witnessed=False,
    ),
    u.ObservationRecordedV1(
        args_digest=HASH,
        cost=COST,
        fresh_for=600,
        key="order 17",
        observed_at=NOON - timedelta(seconds=1),
        occurrence="again",
        rests_on=REFS,
        runtime=RUNTIME,
        step="look",
        tool="get_order",
        value=JSON_VALUE,
        witnessed=False,
    ),
    u.RunOpenedV1(
        goal=TEXT,
        labels={"team": "rückgabe", "a": ""},
        limits=v.Limits(effects=1, refusals_in_a_row=2, steps=3, wall_seconds=4),
        owner="human:kim",
        parent=e.Parent(position=7, relation="child", root="run-0", run="run-1"),
        rests_on=REFS,
        runtime=RUNTIME,
        thread="thread 1",
    ),
    u.SourceRevisedV1(
        added=(PUBLISHED_V1,),
        by="human:kim",
        reason=TEXT,
        revision="4",
        reworded=(u.PublishedV1(id="b", text="Be kind"),),
        withdrawn=("c",),
    ),
)

OLD_MINIMAL: tuple[e.Event, ...] = (
    u.ConstraintAcceptedV1(accepted_by="agent:a", asserted_by="human:kim", id="c", text="x"),
    u.EffectIntendedV1(
        act=ACT, args="{}", key=KEY, key_scheme="given", recovery=v.Recovery.AT_MOST_ONCE, tool="t"
    ),
    u.ObservationRecordedV1(key="k", observed_at=NOON, tool="t", value=v.Payload(json_text="null")),
    u.RunOpenedV1(goal="x"),
    u.SourceRevisedV1(revision="1"),
)
