"""Ledgers to ask questions of: one as it should be, one full of what strangers might write."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ledger import Actor, Ledger, Limits, Run, Runtime, Source, Step, open_ledger
from ledger.canonical import canonical_text
from ledger.errors import OutcomeUnknown
from ledger.events import EffectIntended, EffectUnknown, RunOpened
from ledger.record import digest
from ledger.run.keys import act_key, effect_key
from ledger.values import Recovery

BEGIN = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)
KIM = Actor("human:kim", authenticated_by="badge")
AGENT = Actor("agent:refunds", session="s-1")

STEERING = "\x1b[2J\x1b]0;pwned\x07\x9b31m\r\x08\x7f\u202e\u2028\U000e0041"
"""What a terminal would obey, or hide."""
MARKUP = "[bold red]x[/bold red] [link=http://e.example]y[/link] [/] :boom:"
"""What rich would take for markup."""
HOSTILE = f"a{STEERING}b {MARKUP}"
HOSTILE_ID = f"id[red]\u202e:boom:{'x' * 90}"
"""Ids hold no control characters, but markup and bidirectional overrides."""
HOSTILE_KEY = effect_key(
    "default", HOSTILE_ID, HOSTILE_ID, HOSTILE_ID, HOSTILE_ID, canonical_text({HOSTILE: HOSTILE})
)

RAISE_THE_LIMIT = """
UPDATE events SET record = CAST(replace(record, '100 EUR', '900 EUR') AS BLOB)
WHERE run = 'refund-17' AND position = 2;
"""
"""What somebody with the file might do to a constraint."""


def respelt(path: Path, old: bytes, new: bytes) -> str:
    """Write the statement that gives the last event of `done` other bytes and the hash they have."""
    with closing(sqlite3.connect(path)) as connection:
        (record,) = connection.execute(
            "SELECT record FROM events WHERE run = 'done' AND position = 2"
        ).fetchone()
    changed = record.replace(old, new)
    assert changed != record
    values = f"record = x'{changed.hex()}', hash = x'{digest(changed).hex()}'"
    return f"UPDATE events SET {values} WHERE run = 'done' AND position = 2"


def ticking(begin: datetime = BEGIN) -> Callable[[], datetime]:
    """Return a clock that goes on by a second each time it is read."""
    moments = (begin + timedelta(seconds=n) for n in itertools.count())
    return lambda: next(moments)


def make(path: Path) -> None:
    """Make a ledger with one of everything that a contract shows."""
    with open_ledger(path, clock=ticking(), actor=KIM) as ledger:
        ledger.source("policy:refunds").publish("4", {"limit-100": "At most 100 EUR"}, by="human:kim")
        run = ledger.open_run(
            "refund-17",
            "Refund order 17",
            actor=AGENT,
            owner="human:kim",
            thread="t-1",
            labels={"team": "refunds", "shop": "north"},
            limits=Limits(steps=100),
            runtime=Runtime(model="small-3"),
        )
        source = Source("policy", "refunds", revision="4")
        run.accept("limit-100", "At most 100 EUR", source=source, asserted_by="human:kim")
        run.accept("limit-500", "Up to 500 EUR", source=source, asserted_by="customer:17")
        run.assume("in-stock", "The item is in stock")
        run.commit_plan([Step(name="look-up", tool="get_order"), Step(name="refund")])
        run.observe("order:17", {"total": "64.90"}, tool="get_order", observed_at=BEGIN, fresh_for=60)
        run.revise_goal("Refund order 17, tell the customer", reason="customer asked", by="human:kim")
        run.promise("tell", "Mail the customer", owed_to="customer:17", due=BEGIN + timedelta(hours=1))
        run.record_message("m1", "user", "Where is my money?")
        run.move("refund", round=2, next=("tell",))
        ledger.run("refund-17").grant(
            "till-noon",
            principal="agent:refunds",
            scopes=["refund"],
            budget={"EUR": "100.00"},
            granted_by="human:kim",
            expires_at=BEGIN + timedelta(hours=3),
        )
        ledger.open_run("other", "Something else").suspend(reason="lunch", by="human:kim")
        ledger.open_run("done", "Finished").close("cancelled", reason="not needed", by="human:kim")
        _with_open_effect(ledger)


def _with_open_effect(ledger: Ledger) -> None:
    key = effect_key("default", "pays", "book", "pay", None, "{}")
    act = act_key("default", "pays", "pay", "{}")
    intended = EffectIntended(
        act=act,
        args="{}",
        key=key,
        key_scheme="v1",
        recovery=Recovery.AT_MOST_ONCE,
        step="book",
        tool="pay",
        witnessed=False,
    )
    unknown = EffectUnknown(attempt=1, because="imported", key=key)
    ledger.import_events("pays", [RunOpened(goal="Pay"), intended, unknown], expected=0)


def make_hostile(path: Path) -> None:
    """Make a ledger whose every text is hostile."""
    with open_ledger(path, clock=ticking()) as ledger:
        ledger.source("policy:x").publish("4", {HOSTILE_ID: HOSTILE}, by="human:kim")
        run = ledger.open_run(
            HOSTILE_ID,
            HOSTILE,
            owner="human:[red]\u202e",
            thread=HOSTILE_ID,
            labels={"team": HOSTILE},
            runtime=Runtime(model=HOSTILE_ID),
        )
        source = Source("policy", "x", revision="4")
        run.accept(HOSTILE_ID, HOSTILE, source=source, asserted_by=f"customer:{HOSTILE_ID}")
        run.assume(HOSTILE_ID, HOSTILE)
        run.commit_plan([Step(name=HOSTILE_ID, tool=HOSTILE_ID, description=HOSTILE)])
        run.observe("seen", {HOSTILE: HOSTILE}, tool=HOSTILE_ID, observed_at=BEGIN)
        run.invalidate("seen", reason=HOSTILE)
        run.revise_goal(HOSTILE, reason=HOSTILE, by=f"human:{HOSTILE_ID}")
        run.promise(HOSTILE_ID, HOSTILE, owed_to=f"customer:{HOSTILE_ID}")
        run.refute(HOSTILE_ID, evidence=HOSTILE)
        run.record_message(HOSTILE_ID, "user", HOSTILE)
        run.record_message("m2", "tool", {HOSTILE: [HOSTILE]})
        run.move(HOSTILE_ID, next=(HOSTILE_ID,))
        run.sign_review("objection", by="human:kim", note=HOSTILE)
        _with_hostile_effect(run)
        run.suspend(reason=HOSTILE, by="human:kim")


def _with_hostile_effect(run: Run) -> None:
    """Leave an act open, and say of it whatever can be said."""

    def fails(**args: object) -> None:
        raise ValueError(HOSTILE)

    with suppress(OutcomeUnknown):
        run.perform(HOSTILE_ID, {HOSTILE: HOSTILE}, fails, step=HOSTILE_ID, occurrence=HOSTILE_ID)
    key = run.contract.effects[0].key
    said = {"evidence": HOSTILE, "by": f"human:{HOSTILE_ID}"}
    run.settle(key, happened=True, result={HOSTILE: HOSTILE}, external_ref=HOSTILE_ID, **said)
    run.settle(key, happened=False, **said)
