"""A run, or a source that it relies on, was written by a newer program, or is not what was written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger import Verdict
from ledger.adapters.cli.log import own_records
from ledger.application.verifying import verify
from ledger.errors import ChainBroken, SchemaMismatch, UnknownEventName
from ledger.events import RunRefused
from tests.scenarios.conftest import Begin
from tests.scenarios.meddling import SOURCE_STREAM, append_raw, store_of
from tests.scenarios.scene import KIM, LIMIT, RUN, Scene, accept

Change = Callable[[dict[str, Any]], dict[str, Any]]


def changed(**fields: Any) -> Change:
    return lambda record: {**record, **fields}


WRITTEN: dict[str, tuple[Change, str, type[Exception], str]] = {
    "a newer format": (changed(v=2), "newer_format", SchemaMismatch, "format 2, this program reads up to 1"),
    "an event to come": (
        changed(name="weather.changed"),
        "unknown_event",
        UnknownEventName,
        "weather.changed",
    ),
    "a version to come": (changed(version=7), "unknown_event", UnknownEventName, "7"),
    "another chain": (changed(prev="ab" * 32), "chain_broken", ChainBroken, "not what was written"),
}


def refusals(scene: Scene) -> list[RunRefused]:
    """Read the ledger's own stream: which runs could not be read."""
    found = [record.event for record in own_records(scene.program(KIM), 0)]
    assert all(isinstance(event, RunRefused) for event in found)
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("why", WRITTEN)
def test_what_cannot_be_read_is_refused_once_and_nothing_is_written_to_it(begin: Begin, why: str) -> None:
    change, kind, error, words = WRITTEN[why]
    desk = begin()
    scene = desk.scene
    scene.begin().suspend(reason="night")
    scene.program().open_run("another", "Refund order 18").suspend(reason="night")
    position = append_raw(scene, change)
    for _ in range(2):
        said = desk.resume()
        assert (said.verdict, said.kinds, said.position) == ("refuse", [kind], None)
        assert words in said.whats[0]
    (refused,) = refusals(scene)
    assert (refused.run, refused.position) == (RUN, position)
    if kind == "newer_format":
        assert (refused.found, refused.supported) == (2, 1)
    with store_of(scene) as store:
        assert len(store.read("default", RUN)) == position
    with pytest.raises(error):
        scene.program(KIM).contract(RUN)
    assert verify(scene.program(KIM), RUN).exit_code != 0
    # The others go on.
    desk.goes_on("another")
    assert verify(scene.program(KIM), "another").findings == ()


@pytest.mark.parametrize("why", ["a newer format", "an event to come"])
def test_who_follows_is_told_where_it_cannot_go_on(scene: Scene, why: str) -> None:
    change, _, error, _ = WRITTEN[why]
    scene.begin()
    append_raw(scene, change)
    following = scene.program(KIM).follow()
    assert next(following).name == "run.opened"
    with pytest.raises(error):
        next(following)


@pytest.mark.parametrize("why", WRITTEN)
def test_a_dry_run_records_nothing_of_it(scene: Scene, why: str) -> None:
    scene.begin()
    append_raw(scene, WRITTEN[why][0])
    said = scene.program().resume(RUN, dry_run=True)
    assert (said.verdict, [one.kind for one in said.reasons]) == (Verdict.REFUSE, [WRITTEN[why][1]])
    assert refusals(scene) == []


@pytest.mark.parametrize("why", WRITTEN)
def test_a_source_that_cannot_be_read_refuses_the_runs_that_follow_it(begin: Begin, why: str) -> None:
    change, kind, _, words = WRITTEN[why]
    desk = begin()
    scene = desk.scene
    scene.publish("4", {"limit-100": LIMIT})
    accept(scene.begin())
    scene.program().run(RUN).suspend(reason="night")
    position = append_raw(scene, change, SOURCE_STREAM)
    before = scene.names()
    for _ in range(2):
        said = desk.resume()
        assert (said.verdict, said.kinds, said.position) == ("refuse", [kind], None)
        assert words in said.whats[0]
    (refused,) = refusals(scene)
    assert (refused.run, refused.position) == (RUN, position)
    assert scene.names() == before


@pytest.mark.parametrize("begin", ["sqlite", "commands"], indirect=True)
@pytest.mark.parametrize("why", WRITTEN)
def test_it_goes_on_when_what_was_written_is_there_again(begin: Begin, why: str, tmp_path: Path) -> None:
    """The remedy of a person: a backup, or the program that can read it."""
    change, kind, _, _ = WRITTEN[why]
    desk = begin()
    scene = desk.scene
    run = scene.begin()
    run.perform(scene.till.tool(), {"order": 17}, step="pay-17")
    run.suspend(reason="night")
    backup = scene.backup(tmp_path / "backup.db")
    append_raw(scene, change)
    assert desk.resume().kinds == [kind]
    scene.restore(backup)
    desk.goes_on()
    scene.program().run(RUN).perform(scene.till.tool(), {"order": 17}, step="pay-17")
    assert scene.till.orders == [17]
    assert scene.is_sound()
