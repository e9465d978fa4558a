"""Runs that somebody or a limit stopped, and runs that came from elsewhere, go on through the gate."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ledger import Limits, Run
from ledger.commands import GrantAuthority
from ledger.errors import EffectFailed, OffPlan, RunIsHeld
from ledger.events import EffectIntended, EffectStarted, MessageRecorded, RunOpened, RunSuspended
from ledger.run.keys import act_key, effect_key
from ledger.values import Payload, Recovery
from tests.scenarios.conftest import Begin
from tests.scenarios.desk import Desk
from tests.scenarios.scene import DAY, KIM, PROGRAM, RUN, Scene
from tests.scenarios.till import LEASE, NAME


def pay(scene: Scene, order: int, run: str = RUN) -> None:
    scene.program().run(run).perform(scene.till.tool(), {"order": order}, step=f"pay-{order}")


def test_a_suspended_run_says_why_it_waited(begin: Begin) -> None:
    desk = begin(10 * DAY)
    scene = desk.scene
    run = scene.begin()
    pay(scene, 17)
    scene.program(KIM).run(RUN).suspend(reason="the shop is closed", by="human:kim")
    with pytest.raises(RunIsHeld):
        pay(scene, 18)
    with pytest.raises(RunIsHeld):
        run.move("never")
    # Somebody stopped it on purpose: that it lay still is no reason.
    scene.clock.tick(10 * DAY)
    told = desk.goes_on()
    assert 'suspended by human:kim: "the shop is closed"' in (told.message or "")
    pay(scene, 17)
    pay(scene, 18)
    assert scene.till.orders == [17, 18]


# --- limits ----------------------------------------------------------------------------------------------

LIMITS: dict[str, dict[str, Any]] = {
    "effects": {"effects": 1},
    "steps": {"steps": 1},
    "wall_seconds": {"wall_seconds": 60},
    "refusals_in_a_row": {"refusals_in_a_row": 1},
}


def beyond(desk: Desk, limit: str, number: int) -> None:
    """Work until the limit stops the run."""
    scene = desk.scene
    run = scene.program().run(RUN)
    if limit == "steps":
        run.move(f"node-{number}")
        with pytest.raises(RunIsHeld):
            run.move("beyond")
    elif limit == "effects":
        pay(scene, 17 + number)
        with pytest.raises(RunIsHeld):
            pay(scene, 27 + number)
    elif limit == "wall_seconds":
        run.move(f"node-{number}")
        scene.clock.tick(60)
        with pytest.raises(RunIsHeld):
            run.move("beyond")
    else:
        with pytest.raises(OffPlan):
            run.perform(scene.till.tool(), {"order": 40}, step=f"never-{number}")


@pytest.mark.parametrize("limit", LIMITS)
def test_a_person_lets_go_on_what_a_limit_stopped_and_it_counts_anew(begin: Begin, limit: str) -> None:
    desk = begin(200)
    scene = desk.scene
    run = scene.begin(limits=Limits(**LIMITS[limit]))
    if limit == "refusals_in_a_row":
        run.commit_plan(["pay-17", "pay-18"])
    for number in range(2):
        beyond(desk, limit, number)
        suspended = scene.program().contract(RUN).suspended
        assert suspended is not None
        assert suspended.cause == limit
        said = desk.is_held("reapprove", "limit_reached")
        assert said.cleared_by == ["authority.granted"]
        desk.goes_on(actor=KIM)
        scene.catch_up()
    assert scene.till.orders == ([17, 18] if limit == "effects" else [])
    assert scene.is_sound()


def test_a_grant_lets_the_agent_itself_go_on(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    scene.begin(limits=Limits(effects=1))
    beyond(desk, "effects", 0)
    desk.is_held("reapprove", "limit_reached")
    desk.say(GrantAuthority(id="more", principal=PROGRAM.id, scopes=("*",), granted_by="human:kim"))
    desk.goes_on()
    pay(scene, 17)
    pay(scene, 18)
    with pytest.raises(RunIsHeld):
        pay(scene, 19)
    assert scene.till.orders == [17, 18]


# --- imported ----------------------------------------------------------------------------------------------


def imported(scene: Scene, *more: Any, suspended: bool = True) -> Run:
    """Import a run that another program recorded."""
    said = MessageRecorded(content=Payload(json_text='"Refund order 17, please"'), id="m-1", role="user")
    events = [RunOpened(goal="Refund order 17"), said, *more]
    if suspended:
        events.append(RunSuspended(cause="imported", reason="the recording ends here"))
    scene.program(KIM).import_events(RUN, events, expected=0)
    return scene.program().run(RUN)


def test_an_imported_run_goes_on(begin: Begin) -> None:
    desk = begin()
    run = imported(desk.scene)
    with pytest.raises(RunIsHeld):
        run.move("never")
    told = desk.goes_on()
    assert "the recording ends here" in (told.message or "")
    pay(desk.scene, 17)
    desk.scene.program().run(RUN).close("completed")
    assert desk.scene.till.orders == [17]


def test_an_imported_run_that_lay_still_is_confirmed(begin: Begin) -> None:
    desk = begin(2 * DAY)
    imported(desk.scene, suspended=False)
    desk.scene.clock.tick(2 * DAY)
    desk.is_held("replan", "idle")
    person = desk.scene.program(KIM).run(RUN)
    person.record_message("m-2", "user", "Yes, please")
    desk.goes_on()


def test_an_act_that_the_recording_left_open_is_found_out(begin: Begin) -> None:
    desk = begin(2 * LEASE)
    scene = desk.scene
    args = '{"order":17}'
    key, act = effect_key("default", RUN, "pay-17", NAME, None, args), act_key("default", RUN, NAME, args)
    with scene.till.path.open("w") as file:
        file.write(f'{{"key": "{key}", "order": 17}}\n')
    intended = EffectIntended(
        act=act,
        args=args,
        key=key,
        key_scheme="v1",
        recovery=Recovery.QUERYABLE,
        step="pay-17",
        tool=NAME,
    )
    until = scene.clock() + timedelta(seconds=LEASE)
    started = EffectStarted(attempt=1, key=key, lease_until=until, root=RUN, worker="elsewhere")
    imported(scene, intended, started)
    scene.clock.tick(2 * LEASE)
    desk.is_held("reconcile", "effect_unknown")
    assert desk.reconcile(scene.till.tool(), "queryable") == ["happened"]
    desk.goes_on()
    pay(scene, 17)
    assert scene.till.orders == [17]


def test_what_a_limit_and_a_person_stopped_is_led_out_of_both(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    run = scene.begin(limits=Limits(effects=1))

    def refused(order: int) -> None:
        raise ValueError("no such order")

    with pytest.raises(EffectFailed):
        run.perform("pay", {"order": 17}, refused, step="pay-17", definite_errors=(ValueError,))
    with pytest.raises(RunIsHeld):
        pay(scene, 18)
    scene.program(KIM).run(RUN).suspend(reason="and it is night", by="human:kim")
    desk.goes_on(actor=KIM)
    # The person let it go on after the night; the limit is told once more, and let go on as well.
    with pytest.raises(RunIsHeld):
        pay(scene, 18)
    desk.is_held("reapprove", "limit_reached")
    desk.goes_on(actor=KIM)
    pay(scene, 18)
    assert scene.till.orders == [18]
