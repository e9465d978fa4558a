"""What a long run costs: bytes for each thing that happens, and questions to the store for its contract."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import Ledger, Recovery
from ledger.application.edge import Edge
from ledger.events import CursorMoved, RunOpened
from tests.application.test_cost_of_resuming import Counting

WORDS = "x" * 5_000


def sizes(ledger: Ledger, run: str) -> list[int]:
    """Return the bytes of each record of a run."""
    return [len(row.record) for row in ledger.store.read(ledger.tenant, run)]


def test_a_thing_that_happens_late_takes_no_more_bytes_than_an_early_one(ledger: Ledger) -> None:
    """Case-069, case-070: a state that grows is named by its digest, a large result lies beside."""
    run = ledger.open_run("r", "goal")
    turns = 60
    for turn in range(turns):
        # The state of a runtime that has said everything so far: what grows is not in here.
        run.move("think", round=turn, state=f"{turn:064x}")
        run.record_message(f"m-{turn:03d}", "user", f"{turn:03d} {WORDS}")
    turned = sizes(ledger, "r")[1:]
    early, late = sum(turned[:40]), sum(turned[-40:])
    # Places and rounds are written with a digit more.
    assert late < 1.01 * early
    run.perform("fetch", {"page": 1}, lambda page: WORDS * 200, recovery=Recovery.AT_MOST_ONCE)
    assert max(sizes(ledger, "r")[-3:]) < 2_000


def test_a_model_that_is_asked_with_all_that_was_said_is_recorded_by_digests(ledger: Ledger) -> None:
    """Case-071: a hundred calls, each with everything before it, 25 MB of prompts in all."""
    run = ledger.open_run("r", "goal")
    said: list[str] = []
    for number in range(100):
        said.append(f"{number} {WORDS}")
        answer = run.perform("model", {"messages": list(said)}, len_of, recovery=Recovery.READ_ONLY)
        assert answer == f"answer {number + 1}"
    assert sum(sizes(ledger, "r")) < 100_000
    # Nothing is bought twice: the digest of the request finds the answer.
    again = run.perform("model", {"messages": said}, never, recovery=Recovery.READ_ONLY)
    assert again == "answer 100"


def len_of(messages: list[str]) -> str:
    return f"answer {len(messages)}"


def never(messages: list[str]) -> str:
    pytest.fail("the model was asked again")


def asked_for(ledger: Ledger, length: int, *, warm: bool) -> list[tuple[str, str]]:
    """Return what the store is asked for the contract of a run without snapshots."""
    name = f"run-{length}"
    ledger.import_events(name, [RunOpened(goal="goal")], expected=0)
    at = 1
    while at < length:
        some = min(500, length - at)
        ledger.import_events(name, [CursorMoved(node=f"n-{at + n}") for n in range(some)], expected=at)
        at += some
    ledger.store.drop_snapshots()
    counting: Any = Counting(ledger.store)
    reader = Ledger(Edge(counting, ledger.tenant, ledger.actor))
    if warm:
        run = reader.run(name)
        list(counting.since())
        assert run.contract.position == length
    else:
        assert reader.contract(name).position == length
    return list(counting.since())


@pytest.mark.parametrize("warm", [False, True])
def test_a_contract_takes_as_many_questions_whatever_the_length_of_the_run(
    ledger: Ledger, warm: bool
) -> None:
    """Case-079, case-080: a walk from event to event would ask for each."""
    short = asked_for(ledger, 20, warm=warm)
    long = asked_for(ledger, 2_000, warm=warm)
    assert [name for name, _ in long] == [name for name, _ in short]
    assert len(long) <= 2
    if warm:
        # What is in memory is only asked whether it is the last.
        assert "load" not in [name for name, _ in long]
