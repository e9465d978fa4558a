"""Recorded runs of a real agent are imported, stopped, resumed, restarted and forked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ledger import Ledger, Verdict
from ledger.adapters.transcripts import import_transcripts
from ledger.errors import EffectsDisabled, RunIsClosed
from tests.adapters.cli.command import run as command_line
from tests.scenarios.conftest import scene_of
from tests.scenarios.scene import KIM, PROGRAM, Scene

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["memory", "sqlite", "postgres"])
def imported(
    request: pytest.FixtureRequest, shared_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    """Import them once for each store; each test takes runs of its own."""
    data = shared_dir / "data"
    with closing(scene_of(request.param, tmp_path_factory.mktemp("recorded"))) as scene:
        report = import_transcripts(
            scene.program(KIM), data / "airline-runs.jsonl", tools=data / "airline-tools.json"
        )
        assert report.counts["added"] == 40
        yield scene


def some(scene: Scene, first: int, last: int) -> tuple[Ledger, list[str]]:
    ledger = scene.program()
    return ledger, [one.run for one in ledger.runs().runs][first:last]


def test_each_goes_on_from_where_the_recording_ends(imported: Scene) -> None:
    ledger, names = some(imported, 0, 20)
    for name in names:
        before = ledger.contract(name)
        said = ledger.resume(name)
        assert said.run is not None
        contract = said.run.contract
        assert (contract.incarnation, contract.status) == (2, "open")
        assert (contract.goal, contract.constraints) == (before.goal, before.constraints)
        assert said.prompt is not None
        for constraint in contract.constraints:
            assert " ".join(constraint.text.split()) in " ".join(said.prompt.split())
        said.run.suspend(reason="night")
        assert ledger.resume(name).verdict is Verdict.CONTINUE
        assert ledger.contract(name).incarnation == 3
    assert imported.is_sound()


def test_each_has_a_successor_that_knows_what_was_done(imported: Scene) -> None:
    ledger, names = some(imported, 20, 30)
    for name in names:
        before = ledger.contract(name)
        heir = ledger.restart(name, as_=f"{name}+", reason="again", by="human:kim", actor=KIM)
        contract = heir.contract
        assert contract.tally.effects_done == before.tally.effects_done
        assert [one.id for one in contract.constraints] == [one.id for one in before.constraints]
        assert {effect.key for effect in contract.effects} == {effect.key for effect in before.effects}
        assert ledger.resume(f"{name}+").verdict is Verdict.CONTINUE
        with pytest.raises(RunIsClosed):
            ledger.resume(name)
    assert sum(ledger.contract(f"{name}+").tally.effects_done for name in names) > 0
    assert imported.is_sound()


def test_an_act_of_the_recording_is_not_done_again_by_a_successor(imported: Scene) -> None:
    """Each act that a recording has is found by its key, by whoever acts in the lineage."""
    ledger, names = some(imported, 30, 40)
    found = 0
    for name in names:
        done = [r.event for r in ledger.log(name) if r.name == "effect.intended"]
        heir = ledger.restart(name, as_=f"{name}+", reason="again", by="human:kim", actor=KIM)
        for act in done:
            assert ledger.effect(act.key).intended_in == name  # type: ignore[attr-defined]
            found += 1
        fork = ledger.fork(heir.id, as_=f"{name}-what-if", at=2, actor=PROGRAM)
        with pytest.raises(EffectsDisabled):
            fork.perform("cancel", {"order": 1}, lambda order: None, step="cancel")
    assert found > 0


def test_the_command_line_resumes_one(shared_dir: Path, tmp_path: Path) -> None:
    data, place = shared_dir / "data", str(tmp_path / "ledger.db")
    with closing(scene_of("sqlite", tmp_path)) as scene:
        tools = data / "airline-tools.json"
        import_transcripts(scene.program(KIM), data / "airline-runs.jsonl", tools=tools)
        name = scene.program().runs().runs[0].run
    answer = command_line("resume", name, "--json", "--ledger", place, "--actor", "agent:air")
    # By the machine's clock the recording was imported long ago, and it was stopped on purpose.
    assert (answer.code, answer.document["verdict"]) == (0, "continue")
    restarted = ("restart", name, "--as", "again", "--by", "human:kim", "--reason", "again")
    answer = command_line(*restarted, "--json", "--ledger", place, "--actor", "human:kim")
    assert (answer.code, answer.document["successor"]) == (0, "again")
