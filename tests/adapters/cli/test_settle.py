"""`settle`."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger import open_ledger
from tests.adapters.cli.acts import FAILED, LEAK, MAIL, begin_now
from tests.adapters.cli.command import Answer
from tests.adapters.cli.conftest import Call

BY = ("--by", "human:kim")


@pytest.fixture
def say(call: Call, acts: Path) -> Call:
    """Return the command on a ledger of acts."""

    def said(key: str, *arguments: str, evidence: str = "seen") -> Answer:
        return call("settle", key, *arguments, "--evidence", evidence, *BY, "--ledger", acts)

    return said


def test_what_happened_is_settled_with_its_result(say: Call, acts: Path) -> None:
    answer = say(MAIL[:8], "--happened", "--result", '{"sent": true}', "--ref", "m-17", "--json")
    assert answer.code == 0
    document = answer.document
    assert document["came_to"] == "settled"
    effect = document["effect"]
    assert (effect["status"], effect["external_ref"]) == ("succeeded", "m-17")
    assert effect["result"] == {"json_text": '{"sent":true}'}
    evidence = effect["evidence"]
    assert (evidence["by"], evidence["method"], evidence["found"]) == ("human:kim", "person", "happened")
    with open_ledger(acts) as ledger:
        assert MAIL not in {one.effect.key for one in ledger.effects()}
        run = ledger.run("refund-17")
        assert run.perform("mail", {"to": "kim"}, lambda to: "sent again") == {"sent": True}


def test_what_did_not_happen_may_be_tried_again(say: Call, acts: Path) -> None:
    answer = say(MAIL, "--did-not")
    assert answer.code == 0
    assert answer.out.startswith("Settled: mail\nmail: did_not_happen since ")
    with open_ledger(acts) as ledger:
        assert ledger.run("refund-17").perform("mail", {"to": "kim"}, lambda to: to) == "kim"


def test_saying_it_twice_is_fine(say: Call, acts: Path) -> None:
    say(MAIL, "--happened")
    with open_ledger(acts) as ledger:
        position = ledger.contract("refund-17").position
    for evidence in ("seen", "seen again"):
        answer = say(MAIL, "--happened", evidence=evidence)
        assert (answer.code, answer.out.splitlines()[0]) == (0, "Nothing new: mail was settled so already")
    assert say(MAIL, "--happened", "--json").document["came_to"] == "repeat"
    with open_ledger(acts) as ledger:
        assert ledger.contract("refund-17").position == position


def test_while_the_lease_runs_that_it_did_not_happen_is_kept_and_does_not_count(
    say: Call, acts: Path
) -> None:
    key = begin_now(acts)
    answer = say(key, "--did-not")
    assert answer.code == 2
    assert answer.out.startswith("RECORDED, AND DOES NOT COUNT YET: ship: ")
    assert " may still be at it until 2" in answer.out
    again = say(key, "--did-not", "--json")
    assert (again.code, again.document["came_to"]) == (2, "not_yet")
    assert again.document["effect"]["status"] == "executing"
    assert again.document["effect"]["evidence"]["found"] == "unknown"
    assert again.document["effect"]["lease_until"]


def test_while_the_lease_runs_that_it_happened_counts(say: Call, acts: Path) -> None:
    assert say(begin_now(acts), "--happened", "--json").document["effect"]["status"] == "succeeded"


def test_a_contradiction_is_a_dispute_that_further_evidence_ends(say: Call) -> None:
    answer = say(FAILED, "--happened", evidence="it is in the list")
    assert answer.code == 1
    assert answer.out.startswith("DISPUTED: charge was recorded as failed (2020-01-31 ")
    again = say(FAILED, "--happened", evidence="it is in the list")
    assert (again.code, again.out.startswith("STILL DISPUTED: charge: ")) == (1, True)
    ended = say(FAILED, "--happened", "--json", evidence="the bank says so, too")
    assert (ended.code, ended.document["came_to"]) == (0, "settled")
    assert ended.document["effect"]["status"] == "succeeded"


def test_an_agent_may_not(say: Call, acts: Path) -> None:
    answer = say(MAIL, "--happened", "--actor", "agent:refunds", "--json")
    assert (answer.code, answer.error["code"]) == (4, "not_for_agents")
    with open_ledger(acts) as ledger:
        assert ledger.effect(MAIL).status == "unknown"


def test_nor_may_anybody_in_the_name_of_one(call: Call, acts: Path) -> None:
    said = ("--happened", "--evidence", "seen", "--by", "agent:refunds")
    answer = call("settle", MAIL, *said, "--ledger", acts, "--json")
    assert (answer.code, answer.error["code"]) == (4, "not_for_agents")
    assert answer.error["message"] == (
        "only a person or a service settles an effect, not agent:refunds: "
        "say with --by who found it out, with --actor who writes"
    )
    with open_ledger(acts) as ledger:
        assert ledger.effect(MAIL).status == "unknown"


def test_what_a_person_found_stands_by_itself_and_what_the_worker_said_below_it(say: Call) -> None:
    answer = say(MAIL, "--happened", evidence="it is in the outbox")
    said = [line.strip() for line in answer.out.splitlines() if "outbox" in line or "card expired" in line]
    assert said[0].startswith("last known: person by human:kim 2")
    assert said[0].endswith("Z: it is in the outbox")
    assert said[1:] == ["its worker had said: ValueError: card expired"]


def test_the_beginning_of_a_key_that_is_settled_is_told_to_need_its_run(say: Call) -> None:
    assert say(MAIL[:8], "--did-not").code == 0
    answer = say(MAIL[:8], "--did-not", "--json")
    assert (answer.code, answer.error["code"]) == (3, "effect_not_found")
    assert answer.error["message"].endswith(
        "of one that is settled give the whole key, or its run, too: --run RUN"
    )
    assert say(MAIL[:8], "--did-not", "--run", "refund-17", "--json").document["came_to"] == "repeat"


def test_a_key_that_nothing_was_intended_under_is_not_found(say: Call) -> None:
    answer = say("0" * 64, "--happened", "--json")
    assert (answer.code, answer.error["code"]) == (3, "effect_not_found")
    assert "intent-ledger effects" in answer.error["message"]


@pytest.mark.parametrize(
    ("arguments", "evidence", "path"),
    [
        (("--result", "{"), "seen", "--result"),
        (("--by", "kim"), "seen", "by"),
        (("--actor", "kim"), "seen", "--actor or INTENT_LEDGER_ACTOR"),
        ((), "", "evidence"),
        (("--ref", ""), "seen", "external_ref"),
    ],
)
def test_what_is_malformed_is_told_so_and_nothing_is_recorded(
    call: Call, acts: Path, arguments: tuple[str, ...], evidence: str, path: str
) -> None:
    answer = call(
        "settle", MAIL, "--happened", "--evidence", evidence, *BY, *arguments, "--ledger", acts, "--json"
    )
    assert (answer.code, answer.error["data"]["path"]) == (64, path)
    with open_ledger(acts) as ledger:
        assert ledger.effect(MAIL).status == "unknown"


def test_a_secret_in_what_somebody_says_is_neither_recorded_nor_shown(say: Call, acts: Path) -> None:
    answer = say(MAIL, "--happened", "--result", f'"{LEAK}"', evidence=f"logged in with {LEAK}")
    assert answer.code == 0
    assert LEAK not in answer.out
    assert "[redacted:" in answer.out
    assert LEAK.encode() not in acts.read_bytes()
