"""A stream that cannot be handled is set aside where a projection says so, and handled after the fix."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import Actor, Ledger, open_ledger
from ledger.application.ledger import edge_of
from ledger.errors import InvalidInput
from ledger.record import Record
from projections import parking
from projections.asking import ask
from projections.base import Rows
from projections.built_in import BUILT_IN
from projections.errors import ProjectionStopped
from projections.rebuilding import rebuild
from projections.runner import Runner
from projections.standing import resume_projection
from projections.timeline import Timeline
from tests.projections.conftest import OpenLedger
from tests.projections.samples import Counts, Fragile, Goals, Place, catch_up, fill, kept, naive, standing
from tests.stores.builder import shown, until

POISON: Place = ("run-1", 3)


class Parking(Fragile):
    """Counts, which sets aside what it cannot handle."""

    on_poison = "park"


def without(ledger: Ledger, *streams: Place) -> dict[str, list[object]]:
    """Fold all records but those of some streams from some position on."""
    rows = naive(ledger, Counts())
    begins = dict(streams)

    def stays(run: object, position: object) -> bool:
        assert isinstance(run, str)
        assert isinstance(position, int)
        return position < begins.get(run, position + 1)

    said = [row for row in rows["said"] if stays(row[0], row[1])]
    return {"said": list(said)}


@pytest.mark.parametrize("page", [1, 2, 5, 500])
@pytest.mark.parametrize("how", ["poison", "broken", "at_end"])
def test_it_is_set_aside_with_all_that_follows_and_the_others_go_on(
    ledger: Ledger, page: int, how: str
) -> None:
    fill(ledger)
    fragile = Parking(POISON) if how == "poison" else Parking(**{how: [POISON]})
    catch_up(ledger, fragile, page=page)
    one = standing(ledger, fragile)
    assert (one.state, one.events, one.lag_events) == ("active", 15, 0)
    assert [(parked.run, parked.position, parked.events) for parked in one.parked] == [(*POISON, 3)]
    assert kept(ledger, fragile)["said"] == without(ledger, POISON)["said"]
    # What comes later is set aside as well, whoever works on it.
    ledger.run("run-1").revise_goal("later", reason="it changed", by="human:kim")
    ledger.run("run-2").revise_goal("later", reason="it changed", by="human:kim")
    again = Parking(POISON)
    catch_up(ledger, again, page=page)
    assert again.handled == [("run-2", 6)]
    assert standing(ledger, again).parked[0].events == 4
    # After the fix nothing is lost, and nothing is there twice.
    mended = Parking()
    resume_projection(ledger, mended)
    catch_up(ledger, mended, page=page)
    assert sorted(mended.handled) == [("run-1", position) for position in (3, 4, 5, 6)]
    assert standing(ledger, mended).parked == ()
    assert kept(ledger, mended) == naive(ledger, Counts())


def test_what_still_cannot_be_handled_stays_aside_from_there_on(ledger: Ledger) -> None:
    fill(ledger)
    fragile = Parking(POISON, ("run-1", 5), ("run-0", 1))
    catch_up(ledger, fragile)
    assert [parked[:1] for parked in standing(ledger, fragile).parked] == [("run-0",), ("run-1",)]
    fragile.poison.remove(POISON)
    fragile.handled.clear()
    # Without a word nothing is tried again.
    catch_up(ledger, fragile)
    assert fragile.handled == []
    resume_projection(ledger, fragile)
    catch_up(ledger, fragile)
    assert [(one.run, one.position, one.again) for one in standing(ledger, fragile).parked] == [
        ("run-0", 1, False),
        ("run-1", 5, False),
    ]
    assert kept(ledger, fragile)["said"] == without(ledger, ("run-0", 1), ("run-1", 5))["said"]
    assert "cannot read ('run-1', 5)" in standing(ledger, fragile).parked[1].error


def test_a_follower_hears_that_it_is_to_be_tried_again(ledger: Ledger) -> None:
    fill(ledger)
    fragile = Parking(POISON)
    with Runner(ledger, [fragile]).in_background():
        until(lambda: bool(standing(ledger, fragile).parked))
        fragile.poison.clear()
        resume_projection(ledger, fragile)
        until(lambda: not standing(ledger, fragile).parked)
        ledger.run("run-1").revise_goal("later", reason="it changed", by="human:kim")
        until(lambda: kept(ledger, fragile) == naive(ledger, Counts()))


def test_a_runner_may_say_so_for_those_that_would_stop(ledger: Ledger) -> None:
    fill(ledger)
    fragile = Fragile(POISON)
    catch_up(ledger, fragile, park=True)
    assert len(standing(ledger, fragile).parked) == 1
    # It stays aside under one that would stop, which stops at the next.
    fragile.poison.add(("run-2", 5))
    ledger.run("run-1").revise_goal("later", reason="it changed", by="human:kim")
    ledger.run("run-2").revise_goal("later", reason="it changed", by="human:kim")
    fragile.poison.add(("run-2", 6))
    with pytest.raises(ProjectionStopped):
        catch_up(ledger, fragile)
    assert [one.events for one in standing(ledger, fragile).parked] == [4]
    # Where rows come from several streams none can be set aside.
    with pytest.raises(InvalidInput):
        Runner(ledger, [Goals()], park=True)


def test_it_stops_where_too_many_are_aside(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parking, "MOST_PARKED", 2)
    fill(ledger, runs=4)
    fragile = Parking(*((f"run-{number}", 2) for number in range(4)))
    with pytest.raises(ProjectionStopped) as stopped:
        catch_up(ledger, fragile)
    assert (stopped.value.run, stopped.value.position) == ("run-2", 2)
    assert len(standing(ledger, fragile).parked) == 2


def test_tenants_and_builds_have_streams_of_their_own_aside(open_on: OpenLedger) -> None:
    mine, other = open_on("mine"), open_on("other")
    for ledger in (mine, other):
        fill(ledger)
    fragile = Parking(POISON)
    catch_up(mine, fragile)
    catch_up(other, Parking())
    assert (len(standing(mine, fragile).parked), standing(other, fragile).parked) == (1, ())
    resume_projection(other, fragile)
    assert not standing(mine, fragile).parked[0].again
    # To make it anew with the fix is another way.
    shown(mine.store)
    rebuild(mine, [Parking()], page=2)
    assert standing(mine, fragile).parked == ()
    assert kept(mine, fragile) == naive(mine, Counts())


@given(
    poison=st.sets(st.tuples(st.sampled_from(["run-0", "run-1", "run-2"]), st.integers(1, 5)), max_size=4),
    page=st.integers(1, 9),
    replay=st.integers(1, 9),
)
def test_whatever_was_set_aside_the_rows_after_the_fix_are_those_of_one_fold(
    poison: set[Place], page: int, replay: int
) -> None:
    with open_ledger(":memory:", actor=Actor("service:tests"), unsafe=True) as ledger:
        fill(ledger)
        fragile = Parking(*poison)
        catch_up(ledger, fragile, page=page)
        firsts = {run: min(at for of, at in poison if of == run) for run, _ in poison}
        assert {one.run: one.position for one in standing(ledger, fragile).parked} == firsts
        resume_projection(ledger, fragile)
        catch_up(ledger, Parking(), page=replay)
        assert kept(ledger, fragile) == naive(ledger, Counts())


# --- questions -------------------------------------------------------------------------------------------


class Picky(Timeline):
    """The timeline, which cannot read one run."""

    on_poison = "park"

    def handle(self, record: Record, rows: Rows) -> None:
        if (record.run, record.position) == POISON:
            raise ValueError("not this one")
        super().handle(record, rows)


def test_an_answer_names_what_is_aside_and_none_is_given_about_it(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ledger)
    shown(ledger.store)
    monkeypatch.setitem(BUILT_IN, "timeline", Picky())
    before = next(one for one in ledger.follow() if (one.run, one.position) == POISON).global_position
    assert before is not None
    assert ask(ledger, "writers", run="run-0").rows
    noted = ask(ledger, "about-subject", subject="customer:1").notes
    assert any("has set aside run-1 from position 3" in note for note in noted)
    with pytest.raises(ProjectionStopped) as refused:
        ask(ledger, "writers", run="run-1")
    assert (refused.value.run, refused.value.position) == POISON
    # What was so before is known.
    assert ask(ledger, "writers", run="run-1", as_of=before - 1).notes == ()
    monkeypatch.setitem(BUILT_IN, "timeline", Timeline())
    resume_projection(ledger, Timeline())
    assert ask(ledger, "writers", run="run-1", now=datetime(2026, 2, 1, tzinfo=UTC)).rows
    assert edge_of(ledger).store.read_models().parked(ledger.tenant, Timeline().model) == []
