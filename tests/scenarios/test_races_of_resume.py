"""A source moves, or somebody says something, between the question and the answer."""

from __future__ import annotations

import threading

from ledger import Source, Verdict
from ledger.errors import ContractChanged, LedgerError
from tests.scenarios.scene import KIM, LIMIT, OTHER, RUN, Scene, accept

RESUMED = frozenset({"run.resumed"})


def asleep(scene: Scene) -> None:
    scene.publish("4", {"limit-100": LIMIT})
    run = scene.begin()
    accept(run)
    run.perform(scene.till.tool(), {"order": 17}, step="pay-17")
    run.suspend(reason="night")


def once(said: list[object]) -> bool:
    """Tell whether it is the first time."""
    said.append(None)
    return len(said) == 1


def test_a_withdrawal_that_comes_first_is_judged_again(scene: Scene) -> None:
    asleep(scene)
    ledger, store = scene.hooked()
    tries: list[object] = []
    store.before(RESUMED, lambda: scene.withdraw() if once(tries) else None)
    said = ledger.resume(RUN)
    assert (said.verdict, [one.kind for one in said.reasons]) == (Verdict.RESTART, ["constraint_withdrawn"])
    assert len(tries) == 1
    assert "run.resumed" not in scene.names()
    assert scene.names()[-1] == "run.resume_refused"
    scene.program(KIM).restart(RUN, as_="refund-17b", reason="gone", by="human:kim")
    successor = scene.program().resume("refund-17b")
    assert successor.run is not None
    successor.run.perform(scene.till.tool(), {"order": 17}, step="pay-17")
    assert scene.till.orders == [17]


def test_a_revision_that_touches_nothing_of_it_is_judged_again_too(scene: Scene) -> None:
    asleep(scene)
    ledger, store = scene.hooked()
    tries: list[object] = []
    revise = {"limit-100": LIMIT, "tell": "Tell the customer"}
    store.before(RESUMED, lambda: scene.publish("5", revise) if once(tries) else None)
    assert ledger.resume(RUN).verdict is Verdict.REPLAN
    assert "run.resumed" not in scene.names()


def test_a_refusal_whose_reason_is_cleared_meanwhile_is_not_recorded(scene: Scene) -> None:
    scene.begin().suspend(reason="night")
    scene.program(KIM).run(RUN).grant(
        "till", principal="agent:refunds", scopes=["pay"], granted_by="human:kim", on_resume="continue"
    )
    person = scene.program(KIM).run(RUN)
    person.revoke("till", reason="left", by="human:kim")
    ledger, store = scene.hooked()
    tries: list[object] = []

    def grant() -> None:
        if once(tries):
            person.grant("again", principal="agent:refunds", scopes=["pay"], granted_by="human:kim")

    store.before(frozenset({"run.resume_refused"}), grant)
    assert ledger.resume(RUN).verdict is Verdict.CONTINUE
    assert "run.resume_refused" not in scene.names()


def test_a_goal_that_is_revised_meanwhile_is_told(scene: Scene) -> None:
    scene.begin().suspend(reason="night")
    ledger, store = scene.hooked()
    tries: list[object] = []

    def revise() -> None:
        if once(tries):
            person = scene.program(KIM).run(RUN)
            person.revise_goal("Refund order 18", reason="asked", by="human:kim")

    store.before(RESUMED, revise)
    said = ledger.resume(RUN)
    assert said.verdict is Verdict.CONTINUE
    assert said.prompt is not None
    assert "Refund order 18" in said.prompt
    assert "Refund order 17" not in said.prompt


def test_somebody_else_who_goes_on_meanwhile_is_told_of(scene: Scene) -> None:
    scene.begin().suspend(reason="night")
    ledger, store = scene.hooked()
    tries: list[object] = []
    store.before(RESUMED, lambda: scene.program(OTHER).resume(RUN) if once(tries) else None)
    said = ledger.resume(RUN)
    assert (said.verdict, [one.kind for one in said.reasons]) == (Verdict.RECONCILE, ["still_running"])
    assert said.position is None
    assert scene.names().count("run.resumed") == 1
    scene.program(OTHER).run(RUN).move("goes on")


def test_nothing_goes_on_after_a_withdrawal(scene: Scene) -> None:
    """Two threads at once: in the one order of the ledger no resume, and no act, comes after it."""
    for number in range(6):
        race(scene, f"policy:p-{number}", f"r-{number}")
    assert scene.is_sound()


def race(scene: Scene, policy: str, name: str) -> None:

    source = scene.program(KIM).source(policy)
    source.publish("4", {"limit-100": LIMIT}, by="human:kim")
    program = scene.program()
    run = program.open_run(name, "Refund order 17")
    words = Source(policy.partition(":")[0], policy.partition(":")[2], revision="4")
    run.accept("limit-100", LIMIT, source=words, asserted_by="human:kim")
    run.suspend(reason="night")
    begin = threading.Barrier(2)
    came: list[object] = []

    def resume_and_pay() -> None:
        begin.wait()
        said = program.resume(name)
        came.append(said.verdict)
        if said.run is not None:
            try:
                said.run.perform(scene.till.tool(), {"order": 17}, step="pay-17")
            except LedgerError as error:
                came.append(type(error))

    thread = threading.Thread(target=resume_and_pay)
    thread.start()
    begin.wait()
    source.withdraw("limit-100", reason="gone", by="human:kim")
    thread.join()
    order = [
        record.name
        for record in sorted(
            [*scene.program(KIM).log(name), *scene.program(KIM).log_source(policy)],
            key=lambda record: record.global_position or 0,
        )
    ]
    after = order[order.index("source.constraint_withdrawn") :]
    assert "run.resumed" not in after
    assert "effect.started" not in after
    if came[0] is Verdict.RESTART:
        assert "run.resumed" not in order
    else:
        assert came in ([Verdict.CONTINUE], [Verdict.CONTINUE, ContractChanged])
        assert came[1:] == ([] if "effect.started" in order else [ContractChanged])
