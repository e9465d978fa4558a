"""Two reasons at once: both are told, the strictest names the verdict, and each is cleared for itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from ledger import Run, Runtime, Source
from ledger.commands import AcknowledgeRevision, AdoptRuntime, Command, GrantAuthority, RecordObservation
from ledger.errors import OutcomeUnknown
from ledger.values import Payload
from tests.scenarios.conftest import Begin
from tests.scenarios.desk import Desk
from tests.scenarios.scene import DAY, KIM, LIMIT, PROGRAM, RUN, accept
from tests.scenarios.till import Till

NOW = Runtime(model="small-4")
MAY = {"principal": PROGRAM.id, "scopes": ("pay", "vouchers"), "granted_by": "human:kim"}


class Trouble(NamedTuple):
    """A reason, how a run comes to it, and how people clear it."""

    kind: str
    verdict: str
    happens: Callable[[Desk, Run], object]
    clear: Callable[[Desk], object]


def say(*commands: Command) -> Callable[[Desk], object]:
    return lambda desk: [desk.say(command) for command in commands]


def lost(desk: Desk, run: Run) -> None:
    def lose() -> None:
        raise TimeoutError("no answer")

    tool = Till(desk.scene.till.path, lose).tool("at_most_once", name="vouchers")
    with pytest.raises(OutcomeUnknown):
        run.perform(tool, {"order": 18}, step="pay-18")


def settled(desk: Desk) -> None:
    (effect,) = desk.scene.program().contract(RUN).effects
    desk.settle(effect.key, happened=True)


def revoked(desk: Desk, run: Run) -> None:
    desk.scene.program(KIM).run(RUN).revoke("till", reason="left the team", by="human:kim")


def seen(desk: Desk, run: Run) -> None:
    now = desk.scene.clock()
    run.observe("order-17", {"total": "10"}, tool="get_order", observed_at=now, fresh_for=3600)
    run.move("mail", needs=("observation:order-17",))


def looked_again(desk: Desk) -> None:
    value = Payload(json_text='{"total":"10"}')
    now = desk.scene.clock()
    desk.say(
        RecordObservation(key="order-17", tool="get_order", observed_at=now, fresh_for=3600, value=value)
    )


TROUBLES = [
    Trouble("effect_unknown", "reconcile", lost, settled),
    Trouble(
        "authority_revoked",
        "reapprove",
        revoked,
        say(GrantAuthority(id="again", **MAY)),  # type: ignore[arg-type]
    ),
    Trouble("observation_stale", "replan", seen, looked_again),
    Trouble(
        "source_revised",
        "replan",
        lambda desk, run: desk.scene.publish("5", {"limit-100": LIMIT, "tell": "Tell"}),
        say(AcknowledgeRevision(source=Source("policy", "refunds", revision="5"), by="human:kim")),
    ),
    Trouble(
        "runtime_changed",
        "replan",
        lambda desk, run: None,
        say(AdoptRuntime(runtime=NOW, reason="small-3 is gone", by="human:kim")),
    ),
]
ORDER = ["continue", "replan", "reconcile", "reapprove", "restart", "refuse"]
PAIRS = [(one, other) for n, one in enumerate(TROUBLES) for other in TROUBLES[n + 1 :]]


def stopped(desk: Desk, *troubles: Trouble) -> dict[str, Any]:
    """Stop a run that paid, with these troubles; return how the gate is to be asked."""
    scene = desk.scene
    scene.publish("4", {"limit-100": LIMIT})
    run = scene.begin(runtime=Runtime(model="small-3"))
    accept(run)
    scene.program(KIM).run(RUN).grant("till", on_resume="continue", **MAY)  # type: ignore[arg-type]
    run.perform(scene.till.tool(), {"order": 17}, step="pay-17")
    for trouble in troubles:
        trouble.happens(desk, run)
    run.suspend(reason="night")
    scene.clock.tick(DAY)
    named = any(trouble.kind == "runtime_changed" for trouble in troubles)
    return {"runtime": NOW} if named else {}


def is_held(desk: Desk, options: dict[str, Any], *troubles: Trouble) -> None:
    kinds = {trouble.kind for trouble in troubles}
    if "authority_revoked" in kinds:
        kinds.add("authority_missing")
    strictest = max((trouble.verdict for trouble in troubles), key=ORDER.index)
    told = desk.is_held(strictest, *kinds, **options)
    places = [ORDER.index(_verdict(kind)) for kind in told.kinds]
    assert places == sorted(places, reverse=True)


def _verdict(kind: str) -> str:
    return next((one.verdict for one in TROUBLES if one.kind == kind), "reapprove")


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0].kind}, {pair[1].kind}")
@pytest.mark.parametrize("begin", ["memory"], indirect=True)
@pytest.mark.parametrize("backwards", [False, True])
def test_each_is_cleared_for_itself(begin: Begin, pair: tuple[Trouble, Trouble], backwards: bool) -> None:
    desk = begin(DAY)
    first, then = reversed(pair) if backwards else pair
    options = stopped(desk, *pair)
    is_held(desk, options, *pair)
    first.clear(desk)
    is_held(desk, options, then)
    then.clear(desk)
    desk.goes_on(**options)
    run = desk.scene.program().run(RUN)
    run.perform(desk.scene.till.tool(), {"order": 17}, step="pay-17")
    assert desk.scene.till.orders in ([17], [17, 18])


def test_all_at_once_are_cleared_one_by_one(begin: Begin) -> None:
    desk = begin(DAY)
    options = stopped(desk, *TROUBLES)
    for number, trouble in enumerate(TROUBLES):
        is_held(desk, options, *TROUBLES[number:])
        trouble.clear(desk)
    desk.goes_on(**options)
    run = desk.scene.program().run(RUN)
    run.perform(desk.scene.till.tool(), {"order": 17}, step="pay-17")
    run.perform(desk.scene.till.tool("at_most_once", name="vouchers"), {"order": 18}, step="pay-18")
    assert desk.scene.till.orders == [17, 18]
    assert desk.scene.is_sound()
