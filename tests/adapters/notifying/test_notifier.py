"""The notifier: at least once, in order, and not of what is settled by then."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

import pytest

from ledger import Actor, Ledger, open_ledger
from ledger.adapters.notifying import GaveUp, Notice, Notifier, Tally
from ledger.errors import InvalidInput
from projections.errors import ProjectionAhead
from tests.adapters.notifying.desk import Desk, ask, opened
from tests.stores.builder import until

KIM = Actor("human:kim")
QUICK = {"first_pause": 0.001, "longest_pause": 0.002}


def notifier(ledger: Ledger, desk: Desk, **options: float | str | int) -> Notifier:
    return Notifier(ledger, desk, **{**QUICK, **options})  # type: ignore[arg-type]


def test_each_request_is_told_once_in_the_order_in_which_they_were_asked(kept: Ledger) -> None:
    first, second = opened(kept, "first"), opened(kept, "second")
    ids = [ask(first, 1), ask(second, 2), ask(first, 3)]
    desk = Desk()
    assert notifier(kept, desk).run(until_current=True) == Tally(told=3, whole=True)
    assert desk.ids == ids
    ids.append(ask(second, 4))
    assert notifier(kept, desk).run(until_current=True) == Tally(told=1, whole=True)
    assert desk.ids == ids
    assert notifier(kept, Desk(), name="another").run(until_current=True).told == 4, "each has a place"


def test_a_notice_holds_what_an_approver_needs(ledger: Ledger) -> None:
    id = ask(opened(ledger), 1, seconds=3600)
    desk = Desk()
    Notifier(ledger, desk, where=("--tenant", "default")).run(until_current=True)
    (notice,) = desk.told
    (approval,) = ledger.contract("shop").approvals
    document = notice.document()
    assert approval.expires_at is not None
    assert document.pop("requested_at")[:19] == approval.at.isoformat()[:19]
    assert document.pop("expires_at")[:19] == approval.expires_at.isoformat()[:19]
    assert document == {
        "approval": id,
        "run": "shop",
        "tenant": "default",
        "key": id[:64],
        "tool": "pay",
        "step": None,
        "args": {"order": 1, "amount": "10.00"},
        "question": "pay is only done once a person has approved it",
        "requested_by": "agent:shop",
        "goal": "Pay what is due",
        "approve": f"intent-ledger approve {id} --by human:NAME --tenant default",
        "deny": f"intent-ledger deny {id} --reason TEXT --by human:NAME --tenant default",
    }


def test_what_is_settled_by_then_is_passed_over(ledger: Ledger) -> None:
    run = opened(ledger)
    answered, waits = ask(run, 1), ask(run, 2)
    ledger.deny(answered, by="human:kim", actor=KIM)
    void = opened(ledger, "void")
    ask(void, 3)
    void.revise_goal("Wait", reason="no hurry", by="human:kim")
    gone = opened(ledger, "gone")
    ask(gone, 4)
    gone.close("cancelled", reason="enough", by="human:kim")
    desk = Desk()
    assert notifier(ledger, desk).run(until_current=True) == Tally(told=1, passed_over=3, whole=True)
    assert desk.ids == [waits]


def test_what_has_expired_is_passed_over() -> None:
    now = [datetime(2031, 5, 6, 12, tzinfo=UTC)]
    with open_ledger(":memory:", clock=lambda: now[0]) as ledger:
        ask(opened(ledger), 1, seconds=60)
        now[0] += timedelta(seconds=60)
        assert notifier(ledger, Desk()).run(until_current=True) == Tally(passed_over=1, whole=True)


def test_what_is_not_taken_is_told_again_before_anything_behind_it(ledger: Ledger) -> None:
    run = opened(ledger)
    ids = [ask(run, order) for order in (1, 2)]
    desk = Desk(lambda notice: len(desk.tried) > 3)
    assert notifier(ledger, desk).run(until_current=True).told == 2
    assert desk.tried == [ids[0]] * 4 + [ids[1]]
    assert desk.ids == ids


def test_one_that_is_to_end_gives_up_and_goes_on_there_the_next_time(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    run = opened(ledger)
    ids = [ask(run, order) for order in (1, 2, 3)]
    down = Desk(lambda notice: notice.approval != ids[1])
    with caplog.at_level(logging.WARNING, "ledger"), pytest.raises(GaveUp) as gave_up:
        notifier(ledger, down, tries=3).run(until_current=True)
    assert gave_up.value.data["approval"] == ids[1]
    assert "ConnectionError: nobody is at the desk" in str(gave_up.value)
    assert down.tried == [ids[0], *[ids[1]] * 3]
    assert [record.getMessage().rpartition("; ")[2] for record in caplog.records] == [
        "again in 0.001 s",
        "again in 0.002 s",
    ]
    desk = Desk()
    notifier(ledger, desk).run(until_current=True)
    assert desk.ids == ids[1:]


def test_what_is_answered_while_its_receiver_is_down_lets_the_next_one_pass(ledger: Ledger) -> None:
    run = opened(ledger)
    ids = [ask(run, order) for order in (1, 2)]

    def takes(notice: object) -> bool:
        if len(desk.tried) == 2:
            ledger.approve(ids[0], by="human:kim", actor=KIM)
        return len(desk.tried) > 2

    desk = Desk(takes)
    assert notifier(ledger, desk).run(until_current=True) == Tally(told=1, passed_over=1, whole=True)
    assert desk.tried == [ids[0], ids[0], ids[1]]


class Killed(BaseException):
    """Stands for the end of a process."""


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("at", range(4))
def test_wherever_it_is_killed_nobody_is_left_out_and_the_order_is_kept(
    ledger: Ledger, at: int, taken: bool
) -> None:
    run = opened(ledger)
    ids = [ask(run, order) for order in range(4)]
    desk = Desk()

    def killed(notice: Notice) -> None:
        if notice.approval == ids[at]:
            if taken:
                desk(notice)
            raise Killed
        desk(notice)

    with pytest.raises(Killed):
        Notifier(ledger, killed).run(until_current=True)
    assert desk.ids == ids[: at + taken]
    notifier(ledger, desk).run(until_current=True)
    assert list(dict.fromkeys(desk.ids)) == ids
    assert desk.ids == [*ids[: at + taken], *ids[at:]], "what was taken and not noted is told again"


def test_it_follows_what_is_asked_meanwhile_and_ends_when_it_is_told(kept: Ledger) -> None:
    desk = Desk()
    run = opened(kept)
    with notifier(kept, desk).in_background():
        first = ask(run, 1)
        until(lambda: desk.ids == [first])
        second = ask(run, 2)
        until(lambda: desk.ids == [first, second])


def test_it_ends_within_a_pause(ledger: Ledger) -> None:
    ask(opened(ledger), 1)
    desk, stop = Desk(lambda notice: False), Event()
    found: list[Tally] = []
    follower = Notifier(ledger, desk, first_pause=3600.0)
    thread = Thread(target=lambda: found.append(follower.run(stop=stop)))
    thread.start()
    assert desk.was_tried.wait(60)
    stop.set()
    thread.join(60)
    assert found == [Tally()]


def test_of_two_of_a_name_one_tells_and_the_other_takes_over(kept: Ledger, url: str) -> None:
    run = opened(kept)
    first, second = Desk(), Desk()
    with open_ledger(url) as beside:
        begun = notifier(kept, first, holder="first", lease_seconds=3600.0)
        stop = Event()
        thread = Thread(target=begun.run, kwargs={"stop": stop})
        thread.start()
        one = ask(run, 1)
        until(lambda: first.ids == [one])
        with notifier(beside, second, holder="second", lease_seconds=3600.0).in_background():
            two = ask(run, 2)
            until(lambda: first.ids == [one, two])
            assert second.tried == []
            stop.set()
            thread.join(60)
            three = ask(run, 3)
            until(lambda: second.ids == [three])
    assert first.ids == [one, two]


def test_one_that_stands_by_says_once_for_whom(kept: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    opened(kept)
    waiting = notifier(kept, Desk(), holder="second", lease_seconds=3600.0)
    models = kept.store.read_models()
    taken = models.take("default", waiting._place.model, holder="first", seconds=3600.0)
    assert taken is not None
    stop = Event()
    with caplog.at_level(logging.WARNING, "ledger"):
        thread = Thread(target=waiting.run, kwargs={"stop": stop})
        thread.start()
        until(lambda: bool(caplog.records))
        models.release("default", waiting._place.model, taken.fence)
        until(lambda: models.cursors("default")[0].holder == "second")
        stop.set()
        thread.join(60)
    (said,) = (record.getMessage() for record in caplog.records)
    assert said.startswith("another notifier of this name, first, was heard of at ")


def test_one_that_is_to_end_is_content_with_what_another_told(kept: Ledger, url: str) -> None:
    run = opened(kept)
    desk, idle = Desk(), Desk()
    with open_ledger(url) as beside, notifier(kept, desk).in_background():
        id = ask(run, 1)
        until(lambda: desk.ids == [id])
        assert notifier(beside, idle).run(until_current=True) == Tally(whole=True)
    assert idle.tried == []


def test_one_that_lost_its_lease_stores_nothing_and_what_it_told_is_told_again(kept: Ledger) -> None:
    """It slept in its receiver for longer than its lease."""
    id = ask(opened(kept), 1)
    other = Desk()

    def takes(notice: object) -> bool:
        if not other.tried:
            kept.store.read_models().forget("default", slow._place.model)
            notifier(kept, other, holder="other").run(until_current=True)
        return True

    desk = Desk(takes)
    slow = notifier(kept, desk, holder="slow")
    assert slow.run(until_current=True) == Tally(told=1, whole=True)
    assert (desk.ids, other.ids) == ([id], [id])


def test_other_tenants_are_not_told_of(kept: Ledger, url: str) -> None:
    with open_ledger(url, tenant="other") as other:
        theirs = ask(opened(other), 1)
        desk = Desk()
        assert notifier(kept, desk).run(until_current=True) == Tally(whole=True)
        assert notifier(other, desk).run(until_current=True) == Tally(told=1, whole=True)
    assert desk.ids == [theirs]


def test_begun_anew_it_tells_once_more_of_what_still_waits(ledger: Ledger) -> None:
    id = ask(opened(ledger), 1)
    desk = Desk()
    notifier(ledger, desk).run(until_current=True)
    again = notifier(ledger, desk)
    again.begin_anew()
    again.run(until_current=True)
    assert desk.ids == [id, id]


def test_a_place_in_another_history_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("restored")
    with open_ledger(folder / "one.db") as ledger:
        run = opened(ledger)
        for order in (1, 2):
            ask(run, order)
        notifier(ledger, Desk()).run(until_current=True)
        (cursor,) = ledger.store.read_models().cursors("default")
    with open_ledger(folder / "other.db") as other:
        opened(other, "else")
        place = notifier(other, Desk())._place
        assert place.take()
        place._store(place._held, cursor.reached)  # type: ignore[arg-type]
        place.release()
        with pytest.raises(ProjectionAhead, match="--anew"):
            notifier(other, Desk()).run(until_current=True)
        anew = notifier(other, Desk())
        anew.begin_anew()
        assert anew.run(until_current=True).whole


@pytest.mark.parametrize("name", ["", "Desk", "a-b", "x" * 32])
def test_a_name_is_one_that_a_database_keeps(ledger: Ledger, name: str) -> None:
    with pytest.raises(InvalidInput, match="name"):
        Notifier(ledger, Desk(), name=name)


@pytest.mark.parametrize("number", ["lease_seconds", "first_pause", "tries"])
def test_numbers_are_above_zero(ledger: Ledger, number: str) -> None:
    with pytest.raises(InvalidInput, match=number):
        notifier(ledger, Desk(), **{number: 0})


def test_a_closed_ledger_ends_it() -> None:
    with open_ledger(":memory:") as ledger:
        desk = Desk()
        ask(opened(ledger), 1)
        found: list[Tally] = []
        thread = Thread(target=lambda: found.append(notifier(ledger, desk).run()))
        thread.start()
        until(lambda: len(desk.told) == 1)
    thread.join(60)
    assert found == [Tally(told=1)]
