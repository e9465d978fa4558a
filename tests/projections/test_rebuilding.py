"""A projection is made anew beside the one that is read, which goes on answering until they change places."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from ledger import Ledger
from ledger.application.ledger import edge_of
from ledger.errors import InvalidInput
from ledger.stores.builds import Build
from projections.base import Projection
from projections.errors import NoPreviousBuild, ProjectionStopped
from projections.rebuilding import drop, rebuild, serve_previous
from projections.runner import Progress, Runner
from projections.serving import served_of
from projections.standing import Standing, forget, resume_projection, status, wait_for
from tests.projections.conftest import OpenLedger
from tests.projections.samples import (
    Counts,
    Fragile,
    Goals,
    catch_up,
    fill,
    kept,
    kept_in,
    naive,
    standing,
)
from tests.projections.test_taking_over import Stalled, in_thread
from tests.stores.builder import shown, until


class Newer(Counts):
    version = 2


class Newest(Counts):
    version = 3


def built(ledger: Ledger, *projections: Projection, **options: Any) -> None:
    shown(ledger.store)
    rebuild(ledger, projections, **options)


def interrupted(ledger: Ledger, *projections: Projection, pages: int, **options: Any) -> None:
    """Rebuild, and end after some pages."""
    stop, told = Event(), list[Progress]()

    def progress(now: Progress) -> None:
        told.append(now)
        if len(told) == pages:
            stop.set()

    built(ledger, *projections, stop=stop, progress=progress, page=2, **options)


def builds(ledger: Ledger) -> dict[tuple[int, int], tuple[str | None, str]]:
    return {(one.version, one.slot): (one.part, one.state) for one in status(ledger)}


def served(ledger: Ledger, projection: Projection) -> Build | None:
    found = served_of(edge_of(ledger), projection.model)
    return None if found is None else found.build


def test_it_is_made_beside_what_is_read_and_takes_its_place_when_it_has_caught_up(ledger: Ledger) -> None:
    fill(ledger)
    catch_up(ledger, Counts())
    before = kept(ledger, Counts())
    interrupted(ledger, Counts(), pages=3)
    assert builds(ledger) == {(1, 0): ("served", "active"), (1, 1): ("next", "building")}
    assert kept(ledger, Counts()) == before
    beside = next(one for one in status(ledger) if one.part == "next")
    assert 0 < beside.events < 15
    # Meanwhile the one that is read is kept up to date.
    ledger.run("run-1").revise_goal("meanwhile", reason="it changed", by="human:kim")
    catch_up(ledger, Counts())
    assert kept(ledger, Counts()) == naive(ledger, Counts())
    built(ledger, Counts())
    assert builds(ledger) == {(1, 0): ("previous", "active"), (1, 1): ("served", "active")}
    assert kept(ledger, Counts()) == kept_in(ledger, Counts().model) == naive(ledger, Counts())
    # And once more, into the place of what was served before.
    built(ledger, Counts(), page=3)
    assert builds(ledger) == {(1, 0): ("served", "active"), (1, 1): ("previous", "active")}
    assert kept(ledger, Counts()) == naive(ledger, Counts())


def test_what_was_interrupted_goes_on_where_it_was_unless_it_is_to_begin_anew(ledger: Ledger) -> None:
    fill(ledger)
    fragile = Fragile()
    catch_up(ledger, fragile)
    interrupted(ledger, fragile, pages=3)
    handled = len(fragile.handled)
    built(ledger, fragile)
    assert 15 < handled < len(fragile.handled) == 30
    interrupted(ledger, fragile, pages=3)
    handled = len(fragile.handled)
    built(ledger, fragile, fresh=True)
    assert len(fragile.handled) == handled + 15
    assert kept(ledger, fragile) == naive(ledger, Counts())
    assert builds(ledger) == {(1, 0): ("served", "active"), (1, 1): ("previous", "active")}


def test_what_was_never_built_is_built_and_one_that_never_ended_is_gone_on_with(ledger: Ledger) -> None:
    fill(ledger)
    interrupted(ledger, Counts(), Goals(), pages=4)
    assert {one.part for one in status(ledger)} == {"served"}
    built(ledger, Counts(), Goals())
    assert {(one.projection, one.slot, one.part, one.state) for one in status(ledger)} == {
        ("counts", 0, "served", "active"),
        ("goals", 0, "served", "active"),
    }
    for projection in (Counts(), Goals()):
        assert kept(ledger, projection) == naive(ledger, projection)


def test_one_goes_back_and_it_catches_up(ledger: Ledger) -> None:
    fill(ledger)
    catch_up(ledger, Counts())
    with pytest.raises(NoPreviousBuild):
        serve_previous(ledger, Counts())
    built(ledger, Counts())
    ledger.run("run-1").revise_goal("later", reason="it changed", by="human:kim")
    catch_up(ledger, Counts())
    # What is served alone was followed; what was served before stands where it was.
    assert serve_previous(ledger, Counts()) == Build(1, 0)
    assert standing(ledger, Counts()).events == 15
    catch_up(ledger, Counts())
    assert builds(ledger) == {(1, 0): ("served", "active"), (1, 1): ("previous", "active")}
    assert kept(ledger, Counts()) == naive(ledger, Counts())
    assert serve_previous(ledger, Counts()) == Build(1, 1)
    # What is not served any more is deleted, and there is no way back.
    assert drop(ledger, Counts()) == [Build(1, 0)]
    assert drop(ledger, Counts()) == []
    assert kept_in(ledger, Counts().model) == {"said": [], "runs": []}
    assert kept(ledger, Counts()) == naive(ledger, Counts())
    with pytest.raises(NoPreviousBuild):
        serve_previous(ledger, Counts())


def test_a_newer_version_takes_the_place_of_an_older_one_and_no_older_one_does(ledger: Ledger) -> None:
    fill(ledger)
    catch_up(ledger, Counts())
    interrupted(ledger, Newer(), pages=2)
    assert builds(ledger) == {(1, 0): ("served", "active"), (2, 0): ("next", "building")}
    # Whoever runs the newer version goes on with it.
    catch_up(ledger, Newer(), page=2)
    assert builds(ledger) == {(1, 0): ("previous", "active"), (2, 0): ("served", "active")}
    # Programs of the older version go on with theirs, which does not take the place again.
    ledger.run("run-1").revise_goal("later", reason="it changed", by="human:kim")
    for projection in (Counts(), Newer()):
        catch_up(ledger, projection)
        assert kept(ledger, projection) == naive(ledger, Counts())
    assert served(ledger, Counts()) == Build(2, 0)
    # Who has gone back stays there, whoever runs what.
    assert serve_previous(ledger, Newer()) == Build(1, 0)
    for projection in (Counts(), Newer()):
        catch_up(ledger, projection)
    assert served(ledger, Counts()) == Build(1, 0)
    catch_up(ledger, Newest())
    assert builds(ledger) == {
        (1, 0): ("previous", "active"),
        (2, 0): (None, "active"),
        (3, 0): ("served", "active"),
    }
    # Also tables of versions that this program does not have are emptied.
    assert drop(ledger, Newest()) == [Build(1, 0), Build(2, 0)]
    assert kept_in(ledger, Newer().model) == kept_in(ledger, Counts().model) == {"said": [], "runs": []}
    assert kept(ledger, Newest()) == naive(ledger, Counts())


def test_a_runner_goes_on_with_what_has_taken_the_place(open_on: OpenLedger) -> None:
    ledger = open_on()
    fill(ledger)
    with Runner(ledger, [Counts()], holder="follows").in_background():
        assert wait_for(ledger, Counts(), timeout=60)
        for number in range(3):
            built(open_on(), Counts(), page=4)
            ledger.run("run-1").revise_goal(f"later {number}", reason="it changed", by="human:kim")
            assert wait_for(ledger, Counts(), timeout=60)
            assert kept(ledger, Counts()) == naive(ledger, Counts())
            until(lambda: standing(ledger, Counts()).holder == "follows")
        assert served(ledger, Counts()) == Build(1, 1)


def test_rows_are_read_and_events_appended_all_through_a_rebuild(open_on: OpenLedger) -> None:
    """Whoever looks at any moment finds all that was handled when he began to look, and never less."""
    ledger = open_on()
    fill(ledger)
    catch_up(ledger, Counts())
    models, model = ledger.store.read_models(), Counts().model
    seen: list[int] = []

    def look(found: Any) -> tuple[int, int]:
        build = next(one.build for one in found.served() if one.projection == "counts")
        cursor = next(one for one in found.cursors() if one.build == build)
        tables = {"counts.said": (model._replace(slot=build.slot), model.table("said"))}
        rows = found.select("SELECT count(*) FROM {counts.said} AS s", tables, {})[0][0]
        return rows, cursor.reached.events

    def watch(_: Progress) -> None:
        ledger.run("run-1").revise_goal(f"{len(seen)}", reason="it changed", by="human:kim")
        rows, events = models.look(ledger.tenant, look)
        assert rows == events
        seen.append(events)

    with Runner(open_on(), [Counts()]).in_background():
        rebuild(open_on(), [Counts()], page=2, progress=watch)
        watch(Progress("counts", 0, 0))
        assert wait_for(ledger, Counts(), timeout=60)
        watch(Progress("counts", 0, 0))
    assert served(ledger, Counts()) == Build(1, 1)
    assert seen == sorted(seen)
    assert seen[0] >= 15
    assert kept(ledger, Counts()) == naive(ledger, Counts(), standing(ledger, Counts()).position)


class Trying:
    """A store that notes when somebody tries to work on a projection."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.tried = Event()

    def read_models(self) -> Any:
        return _TryingModels(self._store.read_models(), self.tried)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class _TryingModels:
    def __init__(self, models: Any, tried: Event) -> None:
        self._models = models
        self._tried = tried

    def take(self, *args: Any, **options: Any) -> Any:
        found = self._models.take(*args, **options)
        self._tried.set()
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._models, name)


def test_of_two_at_once_one_works_and_the_other_waits_for_it(open_on: OpenLedger) -> None:
    ledger = open_on()
    fill(ledger)
    stalled, other = Stalled(), Fragile()
    stalled.go.set()
    catch_up(ledger, stalled)
    stalled.go.clear()
    stalled.handled.clear()
    first = in_thread(lambda: rebuild(open_on(), [stalled], page=2, holder="first"))
    assert stalled.stands.wait(60)
    trying: Any = Trying(ledger.store)
    second = in_thread(lambda: rebuild(open_on(store=trying), [other], holder="second"))
    # By then it has chosen to go on with the same build, which another works on.
    assert trying.tried.wait(60)
    stalled.go.set()
    for thread in (first, second):
        thread.join(60)
    assert (len(stalled.handled), other.handled) == (15, [])
    assert builds(ledger) == {(1, 0): ("previous", "active"), (1, 1): ("served", "active")}
    assert kept(ledger, other) == naive(ledger, Counts())


def test_a_record_that_cannot_be_handled_stops_it_and_leaves_what_is_served(ledger: Ledger) -> None:
    fill(ledger)
    fragile = Fragile()
    catch_up(ledger, fragile)
    fragile.poison.add(("run-1", 3))
    with pytest.raises(ProjectionStopped) as stopped:
        built(ledger, fragile)
    assert (stopped.value.run, stopped.value.position) == ("run-1", 3)
    assert builds(ledger) == {(1, 0): ("served", "active"), (1, 1): ("next", "stopped")}
    assert kept(ledger, fragile) == naive(ledger, Counts())
    fragile.poison.clear()
    fragile.handled.clear()
    built(ledger, fragile)
    assert 0 < len(fragile.handled) < 15
    assert kept(ledger, fragile) == naive(ledger, Counts())
    assert served(ledger, fragile) == Build(1, 1)


def test_it_can_be_mended_while_it_is_under_way(open_on: OpenLedger) -> None:
    ledger = open_on()
    fill(ledger)
    fragile = Fragile(("run-2", 4))
    with Runner(ledger, [fragile]).in_background():
        until(lambda: standing(ledger, fragile).state == "stopped")
        fragile.poison.clear()
        # What never was whole is gone on with, and nothing is made beside it.
        rebuild(open_on(), [Fragile()])
        assert builds(ledger)[1, 0] == ("served", "active")
        resume_projection(ledger, fragile)
    assert kept(ledger, fragile) == naive(ledger, Counts())


def test_to_forget_what_is_being_made_does_not_touch_what_is_served(ledger: Ledger) -> None:
    fill(ledger)
    catch_up(ledger, Counts())
    interrupted(ledger, Newer(), pages=2)
    forget(ledger, Newer())
    assert builds(ledger) == {(1, 0): ("served", "active")}
    assert kept(ledger, Counts()) == naive(ledger, Counts())
    # To forget what is served leaves what is to be next.
    interrupted(ledger, Newer(), pages=2)
    forget(ledger, Counts())
    assert builds(ledger) == {(2, 0): ("served", "building")}
    catch_up(ledger, Newer())
    assert kept(ledger, Newer()) == naive(ledger, Counts())


@pytest.mark.parametrize(
    "call",
    [
        lambda ledger: rebuild(ledger, []),
        lambda ledger: rebuild(ledger, [Counts(), Newer()]),
        lambda ledger: rebuild(ledger, [Counts()], workers=0),
        lambda ledger: rebuild(ledger, [Counts()], workers=2),
        lambda ledger: rebuild(ledger, [Counts()], page=0),
        lambda ledger: rebuild(ledger, [Goals()], park=True),
    ],
)
def test_what_cannot_be_meant_is_refused(ledger: Ledger, call: Callable[[Ledger], None]) -> None:
    with pytest.raises(InvalidInput):
        call(ledger)


def test_how_they_stand_names_what_is_read_and_what_is_to_be(ledger: Ledger) -> None:
    fill(ledger)
    new: Standing = standing(ledger, Counts())
    assert (new.state, new.part, new.slot) == ("new", None, 0)
    catch_up(ledger, Counts())
    interrupted(ledger, Counts(), pages=1)
    found = {one.part: one for one in status(ledger, [Counts()])}
    assert set(found) == {"served", "next"}
    assert found["next"].events + found["next"].lag_events == 15
