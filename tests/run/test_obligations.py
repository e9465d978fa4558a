"""Obligations are owed until they are discharged with evidence, waived or transferred."""

from __future__ import annotations

import pytest

from ledger import events as e
from ledger.commands import (
    Command,
    DischargeObligation,
    OpenObligation,
    TransferObligation,
    WaiveObligation,
)
from ledger.testing import given
from tests.run import examples as x

OPENED = e.ObligationOpened(id="tell", owed_to="customer:17", text="Mail the customer")
OPEN = OpenObligation(id="tell", owed_to="customer:17", text="Mail the customer")

ENDINGS: list[tuple[Command, e.Event]] = [
    (
        DischargeObligation(by="agent:a", evidence="mail 42", id="tell", refs=("effect:x",)),
        e.ObligationDischarged(by="agent:a", evidence="mail 42", id="tell", refs=("effect:x",)),
    ),
    (
        WaiveObligation(by="customer:17", id="tell", reason="never mind"),
        e.ObligationWaived(by="customer:17", id="tell", reason="never mind"),
    ),
    (
        TransferObligation(by="human:kim", id="tell", reason="our turn ended", to="agent:mail"),
        e.ObligationTransferred(by="human:kim", id="tell", reason="our turn ended", to="agent:mail"),
    ),
]


def test_a_promise_is_owed_once() -> None:
    history = given(x.opened()).when(OPEN).then(OPENED)
    assert [(item.id, item.owed_to, item.position) for item in history.contract.obligations] == [
        ("tell", "customer:17", 2)
    ]
    history.when(OPEN).then_stands_at(2)
    history.when(OPEN.model_copy(update={"owed_to": "customer:18"})).then_refused("id_in_use", position=2)


@pytest.mark.parametrize(("command", "event"), ENDINGS)
def test_it_ends_and_its_id_is_free(command: Command, event: e.Event) -> None:
    history = given(x.opened(), OPENED).when(command).then(event)
    assert history.contract.obligations == ()
    history.when(command).then_refused("not_open")
    history.when(OPEN).then(OPENED)


@pytest.mark.parametrize(("command", "event"), ENDINGS)
def test_what_is_not_owed_cannot_end(command: Command, event: e.Event) -> None:
    given(x.opened()).when(command).then_refused("not_open", position=None)
