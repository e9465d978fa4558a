"""Runs go on, are succeeded and forked from an event loop as from threads."""

from __future__ import annotations

import threading

import anyio
import pytest

from ledger import Actor, AsyncLedger, Ledger, Source, Verdict
from ledger.application.readers import Reading
from ledger.application.verifying import verify
from ledger.errors import ChainBroken, EffectsDisabled, RunIsClosed, RunIsHeld, RunNotFound, Superseded
from ledger.events import ResumeRefused, RunResumed
from tests.aio.conftest import Held, edge_on, until

pytestmark = pytest.mark.anyio

KIM = Actor("human:kim")


async def _stopped(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "Refund order 17")
    await run.suspend(reason="night")


async def test_a_run_goes_on_and_fences_older_handles(ledger: AsyncLedger) -> None:
    await _stopped(ledger)
    older = await ledger.run("r")
    tried = await ledger.resume("r", dry_run=True)
    assert tried.verdict is Verdict.CONTINUE
    assert (tried.run, tried.position, older.position) == (None, None, 2)
    answer = await ledger.resume("r")
    assert answer
    assert answer.run is not None
    assert answer.contract == await answer.run.contract
    assert answer.prompt is not None
    resumed = [record async for record in ledger.log("r", after=2)]
    assert isinstance(resumed[0].event, RunResumed)
    assert answer.position == resumed[0].position == 3
    await answer.run.move("pay")
    with pytest.raises(Superseded):
        await older.move("pay")
    assert verify(Ledger(edge_on(ledger.store))).findings == ()


async def test_what_may_not_go_on_is_held_and_led_out_by_a_restart(ledger: AsyncLedger) -> None:
    policy = await ledger.source("policy:refunds")
    await policy.publish("4", {"a": "Refund once"})
    run = await ledger.open_run("r", "Refund order 17")
    await run.accept("a", "Refund once", source=Source("policy", "refunds"), asserted_by="human:kim")
    await policy.withdraw("a", reason="replaced", by="human:kim")
    answer = await ledger.resume("r")
    assert not answer
    assert answer.verdict is Verdict.RESTART
    assert [one.kind for one in answer.reasons] == ["constraint_withdrawn"]
    assert answer.run is None
    assert (await ledger.resume("r")).position == answer.position == run.position
    refused = [record async for record in ledger.log("r") if isinstance(record.event, ResumeRefused)]
    assert len(refused) == 1
    with pytest.raises(RunIsHeld):
        await run.move("pay")
    successor = await ledger.restart("r", as_="r2", reason="policy changed", by="human:kim", actor=KIM)
    assert (await successor.contract).predecessor == "r"
    with pytest.raises(RunIsClosed):
        await ledger.resume("r")


async def test_a_fork_looks_back_and_performs_nothing(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "Refund order 17")
    await run.revise_goal("Refund order 18", reason="customer asked", by="human:kim")
    fork = await ledger.fork("r", as_="what-if", at=1)
    contract = await fork.contract
    assert (contract.fork_of, contract.goal.text) == ("r", "Refund order 17")
    with pytest.raises(EffectsDisabled):
        await fork.perform("refund", {}, lambda: "paid")


async def test_nobody_resumes_what_is_not_there(ledger: AsyncLedger) -> None:
    with pytest.raises(RunNotFound):
        await ledger.resume("nobody")
    assert (await ledger.runs()).runs == ()


async def test_sources_are_read_in_a_thread_and_never_left_behind(ledger: AsyncLedger) -> None:
    threads: list[threading.Thread] = []
    let_go, begun = threading.Event(), threading.Event()

    def read(source: str) -> Reading:
        threads.append(threading.current_thread())
        begun.set()
        assert let_go.wait(30)
        return Reading("5", {"a": "Refund once"})

    ledger.sources.register("policy", read, check_every=60)
    run = await ledger.open_run("r", "Refund order 17")
    await run.accept("a", "Refund once", source=Source("policy", "refunds"), asserted_by="human:kim")
    await run.suspend(reason="night")
    ended: list[bool] = []

    async def resume() -> None:
        try:
            await ledger.resume("r")
        finally:
            ended.append(begun.is_set())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(resume)
        await until(begun.is_set)  # the loop is free while the reader is not
        tasks.cancel_scope.cancel()
        assert ended == []
        let_go.set()
    assert ended == [True]
    assert threads[0] is not threading.current_thread()
    answer = await ledger.resume("r")
    # What the cancelled one had read was noted, so it is not read again so soon.
    assert (answer.checked, len(threads)) == ((), 1)
    assert "source_unchecked" not in [one.kind for one in answer.reasons]


async def test_two_tasks_that_resume_at_once_do_not_both_go_on(ledger: AsyncLedger, held: Held) -> None:
    await _stopped(ledger)
    answers = []

    async def resume(session: str) -> None:
        answers.append(await ledger.resume("r", actor=Actor("agent:refunds", session=session)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(resume, "s-1")
        tasks.start_soon(resume, "s-2")
    assert sorted(bool(answer) for answer in answers) == [False, True]
    lost = next(answer for answer in answers if not answer)
    assert [one.kind for one in lost.reasons] == ["still_running"]
    assert (lost.position, lost.run) == (None, None)


async def test_a_run_that_cannot_be_read_is_refused_with_a_record(
    ledger: AsyncLedger, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _stopped(ledger)

    def broken(*args: object, **options: object) -> None:
        raise ChainBroken("position 2 of 'r' is not what was written", run="r", position=2)

    # A ledger of its own: one that has the run in memory need not read it.
    async with AsyncLedger(Ledger(edge_on(held))) as other:
        monkeypatch.setattr(held, "load", broken, raising=False)
        dry = await other.resume("r", dry_run=True)
        answer = await other.resume("r")
        monkeypatch.undo()
        assert dry.reasons == answer.reasons
        assert [(one.kind, one.position) for one in answer.reasons] == [("chain_broken", 2)]
        assert (answer.verdict, answer.run, answer.contract) == (Verdict.REFUSE, None, None)
        assert (await other.run("r")).position == 2
        rows = held.read("default", "$ledger")
    assert len(rows) == 1
