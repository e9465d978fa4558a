"""A run that nobody stopped and nobody heard of for three days: everything that grew old is told at once."""

from __future__ import annotations

from datetime import timedelta

from ledger.commands import RecordObservation, RenewAuthority, ReviseGoal
from ledger.values import Payload
from tests.scenarios.conftest import Begin
from tests.scenarios.scene import DAY, KIM, PROGRAM, RUN


def test_what_grew_old_is_looked_at_given_and_confirmed_anew_one_by_one(begin: Begin) -> None:
    desk = begin(3 * DAY)
    scene, now = desk.scene, desk.scene.clock()
    run = scene.begin()
    person = scene.program(KIM).run(RUN)
    ends = now + timedelta(days=1)
    said = {"principal": PROGRAM.id, "scopes": ["pay"], "granted_by": "human:kim"}
    person.grant("till", **said, expires_at=ends)  # type: ignore[arg-type]
    run.observe("order-17", {"total": "10"}, tool="get_order", observed_at=now, fresh_for=3600)
    run.perform(scene.till.tool(), {"order": 17}, step="pay")
    run.move("mail", needs=("observation:order-17",))
    scene.clock.tick(3 * DAY)

    everything = {
        "authority_expired": "authority.renewed",
        "observation_stale": "observation.recorded",
        "idle": "goal.revised",
    }
    told = desk.is_held("reapprove", *everything)
    assert dict(zip(told.kinds, told.cleared_by, strict=True)) == everything
    assert told.kinds[0] == "authority_expired"

    desk.say(RenewAuthority(id="till", by="human:kim", expires_at=ends + timedelta(days=365)))
    desk.is_held("replan", "observation_stale", "idle")
    seen = Payload(json_text='{"total":"10"}')
    at = scene.clock()
    desk.say(RecordObservation(key="order-17", tool="get_order", observed_at=at, fresh_for=3600, value=seen))
    desk.is_held("replan", "idle")
    desk.say(ReviseGoal(text="Refund order 17", reason="still wanted", by="human:kim"))
    told = desk.goes_on()
    assert "3 days after the last sign of life" in (told.message or "")

    run = scene.program().run(RUN)
    run.perform(scene.till.tool(), {"order": 17}, step="pay")
    run.close("completed")
    assert scene.till.orders == [17]
    assert scene.is_sound()


def test_looking_again_is_a_call_where_the_tools_are_known(begin: Begin) -> None:
    desk = begin(3 * DAY)
    scene, now = desk.scene, desk.scene.clock()
    looked: list[int] = []

    def get_order(order: int) -> dict[str, int]:
        looked.append(order)
        return {"total": 10 * len(looked)}

    ledger = scene.program()
    tool = ledger.tool(recovery="read_only", fresh_for=3600)(get_order)
    run = ledger.open_run(RUN, "Refund order 17")
    run.perform(tool, {"order": 17})
    (seen,) = run.contract.observations
    assert seen.observed_at is not None
    assert seen.observed_at >= now
    run.move("pay", needs=(f"observation:{seen.key}",))
    run.suspend(reason="the shop is closed")
    scene.clock.tick(3 * DAY)
    desk.is_held("replan", "observation_stale")
    again = scene.program(PROGRAM, tool).run(RUN).refresh()
    assert [one.is_fresh for one in again] == [True]
    desk.goes_on()
    assert looked == [17, 17]
