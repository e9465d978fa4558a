"""The projection `effects`: what each event of an effect becomes, column by column."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import Ledger
from ledger.events import Event
from projections.effects import Effects
from tests.projections.conftest import SetClock
from tests.projections.samples import catch_up, kept, naive
from tests.record.golden_events import ACT, COMPLETE, HASH, KEY, MINIMAL
from tests.run.examples import EVENTS, TWO, accepted, intended, opened

COST = '{"EUR":"10.00","tokens":"5000"}'
ERROR = '{"message":"card declined\\n","type":"PaymentError"}'
WORDS = 'Zahle nie mehr als 100 €\nohne Rückfrage – "nie"\t\U0001f680\u2028␀'
NOON, LATER = "2026-01-31T12:00:00.000000Z", "2026-02-28T23:59:59.999999Z"


def of_effects(events: tuple[Event, ...]) -> list[Event]:
    return [event for event in events if event.name.startswith("effect.")]


def rows(ledger: Ledger) -> dict[str, list[dict[str, Any]]]:
    """Read the rows by table and column, without what is empty and where they come from."""
    names = ledger.store.read_models().columns(Effects().model)
    common = {"run", "at", "gid"}
    return {
        table: [
            {
                name: cell
                for name, cell in zip(names[table][1:], row, strict=True)
                if cell is not None and name not in common
            }
            for row in found
        ]
        for table, found in kept(ledger, Effects()).items()
    }


@pytest.fixture
def ledger_of(ledger: Ledger, clock: SetClock) -> Any:
    def tell(events: list[Event]) -> dict[str, list[dict[str, Any]]]:
        ledger.import_events("r", [opened(), *events], expected=0)
        catch_up(ledger, Effects())
        return rows(ledger)

    return tell


def test_everything_that_is_said_of_an_effect_has_its_column(ledger_of: Any) -> None:
    found = ledger_of(of_effects(COMPLETE))
    terms = found["intents"][0].pop("terms_digest")
    assert found["intents"] == [
        {
            "position": 2,
            "key": KEY,
            "key_scheme": "v1",
            "act": ACT,
            "tool": "refund",
            "step": "refund",
            "args": '{"amount":"10.00","order":17}',
            "args_in_full": '{"amount":"10.00","notify":true,"order":17}',
            "given": "refund of order 17",
            "occurrence": "second parcel",
            "approval": "a-1",
            "authority": '["g-1"]',
            "recovery": "idempotent",
            "reserved": COST,
            "resource": "order:17",
            "tool_schema": HASH,
            "terms_position": 1,
            "source_positions": '{"policy:refunds":4,"policy:zürich":0}',
            "repeat_reason": WORDS,
            "undone_by": HASH,
            "witnessed": 0,
            "max_attempts": 3,
        }
    ]
    assert found["steps"] == [
        {
            "position": 3,
            "key": KEY,
            "what": "started",
            "attempt": 2,
            "worker": "host-1/7",
            "lease_until": LATER,
        },
        {
            "position": 4,
            "key": KEY,
            "what": "succeeded",
            "attempt": 2,
            "cost": COST,
            "external_ref": "re_123",
            "occurred_at": NOON,
            "result_digest": HASH,
        },
        {
            "position": 5,
            "key": KEY,
            "what": "failed",
            "attempt": 1,
            "cost": COST,
            "error": ERROR,
            "occurred_at": NOON,
        },
        {
            "position": 6,
            "key": KEY,
            "what": "unknown",
            "attempt": 1,
            "because": "lease_lapsed",
            "error": ERROR,
        },
        {
            "position": 7,
            "key": KEY,
            "what": "reconciled",
            "attempt": 1,
            "by": "human:kim",
            "cost": COST,
            "evidence": WORDS,
            "external_ref": "re_123",
            "found": "happened",
            "method": "probe",
            "result_digest": HASH,
        },
        {
            "position": 8,
            "key": KEY,
            "what": "disputed",
            "attempt": 1,
            "error": ERROR,
            "occurred_at": NOON,
            "reported": "did_not_happen",
            "by": "host-1/7",
            "result": '{"a":[1,-0.5,1e-7,null,true],"\U0001f680":"\\u0000"}',
        },
        {
            "position": 9,
            "key": KEY,
            "what": "compensated",
            "by": "human:kim",
            "reason": WORDS,
            "undone_by": HASH,
        },
    ]
    assert found["refusals"] == [
        {
            "position": 10,
            "tool": "refund",
            "step": "refund",
            "key": KEY,
            "act": ACT,
            "rule": "constraint_violated",
            "refused_by": 3,
            "args": '{"amount":1e+21}',
            "evidence": '{"constraint":"limit-100","limit":"100 €"}',
            "terms_position": 1,
            "terms_digest": terms,
        }
    ]


def test_what_is_not_said_is_empty(ledger_of: Any) -> None:
    found = ledger_of(of_effects(MINIMAL))
    [intent], [refusal] = found["intents"], found["refusals"]
    assert intent.keys() - {"terms_position", "terms_digest"} == {
        *("position", "key", "key_scheme", "act", "tool", "args", "recovery", "witnessed", "max_attempts")
    }
    assert refusal.keys() - {"terms_position", "terms_digest"} == {"position", "tool", "rule"}
    own = [step.keys() - {"position", "key", "what", "attempt"} for step in found["steps"]]
    assert own == [
        *({"worker", "lease_until"}, set(), {"error"}, {"because"}, {"evidence", "found", "method"}),
        *({"reported"}, {"undone_by"}),
    ]


def test_an_intent_names_the_terms_it_was_under(ledger: Ledger) -> None:
    ledger.import_events("r", [opened(), intended(), accepted(), intended(TWO)], expected=0)
    catch_up(ledger, Effects())
    for intent, at in zip(rows(ledger)["intents"], (1, 3), strict=True):
        terms = ledger.contract("r", at=at).terms
        assert (intent["terms_position"], intent["terms_digest"]) == (terms.position, terms.digest)


def test_rows_are_those_of_one_fold_whatever_the_size_of_pages(ledger: Ledger) -> None:
    ledger.import_events("r", EVENTS, expected=0)
    for page in (1, 7):
        catch_up(ledger, Effects(), page=page)
        assert kept(ledger, Effects()) == naive(ledger, Effects())
    assert {name: len(found) for name, found in kept(ledger, Effects()).items()} == {
        "intents": 3,
        "steps": 9,
        "refusals": 1,
    }
