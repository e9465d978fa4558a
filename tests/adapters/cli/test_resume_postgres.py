"""Stopped runs on PostgreSQL: asked about, led out, held, restarted and cancelled."""

from __future__ import annotations

import pytest

from ledger import open_ledger
from tests.adapters.cli.command import Answer
from tests.adapters.cli.conftest import Call
from tests.adapters.cli.ledgers import AGENT, ticking
from tests.adapters.cli.stops import BEGIN, STOPS, filled

WHY = ("--reason", "seen", "--by", "human:kim")


@pytest.mark.parametrize(("kind", "code"), [("source_revised", 10), ("effect_unknown", 11)])
def test_a_stopped_run_is_led_out_and_succeeded(
    call: Call, fresh_database: str, kind: str, code: int
) -> None:
    def say(*words: str) -> Answer:
        return call(*words, "--ledger", fresh_database, "--json")

    with open_ledger(fresh_database, clock=ticking(BEGIN), actor=AGENT) as ledger:
        STOPS[kind].make(ledger)
    asked = say("resume", "r")
    assert asked.code == code
    (held,) = say("runs", "--held", "--verdict", asked.document["verdict"]).document["runs"]
    assert (held["run"], held["reasons"]) == ("r", 1)
    (reason,) = asked.document["reasons"]
    assert fresh_database not in asked.out
    assert say(*filled(reason["ways_out"][-1])).code == 0
    assert say("resume", "r").code == 0
    assert say("suspend", "r", *WHY).document["status"] == "suspended"
    assert say("restart", "r", "--as", "r2", *WHY).document["successor"] == "r2"
    for reason in say("resume", "r2").document["reasons"]:
        assert say(*filled(reason["ways_out"][-1])).code == 0
    assert say("resume", "r2").document["verdict"] == "continue"
    assert say("cancel", "r2", *WHY).code == 0
    assert say("verify", "--all").document["standing"] == "sound"
