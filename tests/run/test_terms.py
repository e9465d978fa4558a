"""Terms change by what binds acts and by nothing else, and what is kept of them is what they are."""

from __future__ import annotations

import gc
import hashlib
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given as draws
from hypothesis import strategies as st

from ledger import events as e
from ledger.run import terms
from ledger.run.contract import Contract
from ledger.run.state import evolve
from ledger.run.terms import terms_text
from ledger.testing import START, History, given
from ledger.values import Operator, Predicate, Source
from tests.run import examples as x
from tests.run.histories import INSIDE, histories
from tests.strategies import FEW, event

BINDING = {
    e.GoalRevised,
    e.ConstraintAccepted,
    e.ConstraintWithdrawn,
    e.AuthorityGranted,
    e.AuthorityRenewed,
    e.AuthorityRevoked,
}
HARMLESS = [kind for kind in INSIDE if kind not in BINDING]

FULL = given(
    x.opened(), x.accepted(), x.granted(budget={"EUR": Decimal(100)}), x.accepted("kind", text="Be kind")
)


@draws(data=st.data())
def test_what_does_not_bind_acts_never_changes_the_terms(data: st.DataObject) -> None:
    history = data.draw(histories())
    terms = history.contract.terms
    for kind in HARMLESS:
        history = history.also(data.draw(event(kind, FEW)))
        assert history.contract.terms == terms, kind.name


def test_every_event_either_binds_acts_or_not() -> None:
    assert BINDING | set(HARMLESS) == set(INSIDE)


@draws(history=histories())
def test_the_mark_names_where_the_terms_last_changed_and_their_digest(
    history: History[Contract | None],
) -> None:
    text, place = b"", 0
    contract: Contract | None = None
    for record in history.records:
        contract = evolve(contract, record)
        if terms_text(contract) != text:
            text, place = terms_text(contract), record.position
        assert contract.terms.position == place
        assert contract.terms.digest == digest(text)


def digest(text: bytes) -> str:
    return "v1:" + hashlib.sha256(b"intent-ledger.terms.v1\n" + text).hexdigest()


CHANGES: list[e.Event] = [
    e.GoalRevised(by="human:kim", reason="r", text="else"),
    e.GoalRevised(by="human:kim", reason="r", rests_on=("assumption:a",), text="Refund order 17"),
    x.accepted("other", text="Be quick"),
    *(
        x.accepted("limit-100", supersedes=2, **change)
        for change in (
            {"text": "else"},
            {"asserted_by": "human:lee"},
            {"accepted_by": "human:lee"},
            {"rule": x.AT_MOST_100},
            {"source": Source("policy", "refunds")},
            {"valid_from": START},
            {"valid_until": START},
        )
    ),
    e.ConstraintWithdrawn(by="human:kim", id="kind", reason="r"),
    x.granted("other"),
    e.AuthorityRenewed(by="human:kim", id="refunds", add_budget={"EUR": Decimal(1)}),
    e.AuthorityRenewed(by="human:kim", id="refunds", expires_at=START),
    e.AuthorityRenewed(by="human:kim", id="refunds", session="s-1"),
    e.AuthorityRevoked(by="human:kim", id="refunds", reason="r"),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_what_binds_acts_changes_them_and_says_where(change: e.Event) -> None:
    before, after = FULL.contract.terms, FULL.also(change).contract.terms
    assert after.digest != before.digest
    assert after.position == 5


UNCHANGED: list[e.Event] = [
    e.GoalRevised(by="human:lee", reason="said again", text="Refund order 17"),
    x.accepted(supersedes=2, asserted_at=START),
    e.ConstraintWithdrawn(by="human:kim", id="unknown", reason="r"),
    e.AuthorityRenewed(by="human:kim", id="unknown", session="s-1"),
    e.AuthorityRevoked(by="human:kim", id="unknown", reason="r"),
]


@pytest.mark.parametrize("event", UNCHANGED, ids=lambda event: event.name)
def test_saying_the_same_in_other_words_around_it_keeps_the_mark(event: e.Event) -> None:
    assert FULL.also(event).contract.terms == FULL.contract.terms


def test_the_order_in_which_constraints_and_grants_came_does_not_matter() -> None:
    one = given(x.opened(), x.accepted("a"), x.accepted("b"), x.granted("c"), x.granted("d")).contract
    other = given(x.opened(), x.granted("d"), x.accepted("b"), x.granted("c"), x.accepted("a")).contract
    assert one.terms.digest == other.terms.digest


def test_spending_is_no_part_of_the_terms() -> None:
    history = FULL.also(x.intended(authority=("refunds",), reserved=x.EUR_10), x.started())
    spent = history.also(e.EffectSucceeded(key=x.ONE, attempt=1, cost=x.EUR_10))
    assert spent.contract.grants[0].spent == x.EUR_10
    assert spent.contract.terms == FULL.contract.terms


def test_the_digest_covers_this_text_for_ever() -> None:
    contract = given(
        x.opened(),
        x.accepted(source=x.POLICY, rule=x.AT_MOST_100),
        x.granted(budget={"EUR": Decimal("1.50")}),
    ).contract
    assert terms_text(contract).decode() == TEXT
    assert contract.terms.digest == digest(TEXT.encode())


def test_what_a_rule_speaks_of_is_in_the_text_where_it_is_said() -> None:
    """A rule that does not say it reads as it did before it could, so that what was recorded stays bound."""
    when = Predicate(operator=Operator.EQUAL, path="/currency", value='"EUR"')
    rule = x.AT_MOST_100.with_fields({"when": (when,)})
    contract = given(x.opened(), x.accepted(rule=rule)).contract
    assert b'"when":[{"operator":"eq","path":"/currency","value":"\\"EUR\\""}]' in terms_text(contract)
    assert b'"when"' not in terms_text(given(x.opened(), x.accepted(rule=x.AT_MOST_100)).contract)


TEXT = (
    '{"constraints":[{"accepted_by":"service:test","asserted_by":"human:kim","id":"limit-100",'
    '"rule":{"deny":[],"needs_approval":false,"require":[{"operator":"le","path":"/amount","value":"100"}],'
    '"tools":[]},"source":{"kind":"policy","name":"refunds","revision":"4"},'
    '"text":"Never refund more than 100 EUR"}],"goal":{"rests_on":[],"text":"Refund order 17"},'
    '"grants":[{"budget":{"EUR":"1.50"},"granted_by":"human:kim","id":"refunds",'
    '"principal":"agent:refunds","scopes":["refund"]}]}'
)


def test_effects_approvals_and_verdicts_record_the_terms_before_themselves() -> None:
    history = FULL
    for kind in (e.ApprovalRequested, e.EffectIntended, e.EffectRefused, e.ResumeRefused, e.RunResumed):
        assert kind.binds_terms
    record = history.also(x.intended()).records[-1]
    assert record.terms == FULL.contract.terms


def test_what_stays_in_force_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    wrote: list[str] = []
    write = terms._written

    def watched(item: Any, fields: tuple[str, ...]) -> bytes:
        wrote.append(item.id)
        return write(item, fields)

    monkeypatch.setattr(terms, "_written", watched)
    history = given(x.opened(), x.granted("g"), *(x.accepted(f"c-{number}") for number in range(20)))
    assert wrote == ["g", *(f"c-{number}" for number in range(20))]
    changed = history.also(x.accepted("c-7", text="else"), x.granted("g", scopes=("mail",)))
    assert wrote[21:] == ["c-7", "g"]
    assert changed.contract.terms.digest == digest(terms_text(changed.contract))


def test_what_is_kept_of_written_values_is_gone_with_them() -> None:
    gc.collect()
    before = len(terms._TEXTS)
    history = given(x.opened(), *(x.accepted(f"c-{number}") for number in range(20)))
    assert len(terms._TEXTS) >= before + 20
    del history
    gc.collect()
    assert len(terms._TEXTS) <= before
