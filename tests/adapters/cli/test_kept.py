"""`--kept`: lists find runs by the read model, and tell the same as those that read every run."""

from __future__ import annotations

import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ledger import Limits, Source, open_ledger
from ledger.errors import RunIsHeld
from ledger.events import EffectIntended
from ledger.values import Recovery
from tests.adapters.cli.conftest import Alter, Call
from tests.adapters.cli.ledgers import AGENT, KIM, ticking

ALTER_QUIET = "UPDATE events SET hash = zeroblob(32) WHERE run = 'quiet'"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a ledger of runs that stand in every way; nothing projects it yet."""
    path = tmp_path_factory.mktemp("kept") / "ledger.db"
    with open_ledger(path, clock=ticking(datetime(2020, 1, 31, tzinfo=UTC)), actor=AGENT) as ledger:
        ledger.source("policy:a", actor=KIM).publish("1", {"x": "Be kind", "y": "Be quick"}, by="human:kim")
        for name in ("old", "older", "quiet"):
            run = ledger.open_run(name, "goal", rests_on=["assumption:a"], labels={"team": name[0]})
            run.accept("x", "Be kind", source=Source("policy", "a"), asserted_by="human:kim")
        for name in ("older", "old"):
            ledger.run(name).assume("a", "so it is")
            ledger.run(name).refute("a", evidence="it is not")
            ledger.resume(name)
        spent = ledger.open_run("spent", "Walk", limits=Limits(steps=1), thread="t-1")
        spent.accept("mine", "Be quick", source=Source("policy", "a", item="y"), asserted_by="human:kim")
        spent.move("one")
        with suppress(RunIsHeld):
            spent.move("two")
        act = EffectIntended(
            act="a" * 64,
            args="{}",
            key="5" * 64,
            key_scheme="v1",
            recovery=Recovery.AT_MOST_ONCE,
            tool="mail",
        )
        ledger.import_events("quiet", [act], expected=ledger.contract("quiet").position)
        ledger.open_run("gone", "Nothing", owner="human:kim").close("cancelled")
        ledger.restart("spent", as_="new", reason="anew", by="human:kim", actor=KIM)
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "ledger.db"))


LISTS = (
    ("runs",),
    ("runs", "--limit", "2"),
    ("runs", "--after", "old", "--limit", "1"),
    ("runs", "--status", "suspended"),
    ("runs", "--owner", "human:kim"),
    ("runs", "--thread", "t-1"),
    ("runs", "--label", "team=o"),
    ("runs", "--prefix", "old"),
    ("runs", "--held"),
    ("runs", "--held", "--limit", "0"),
    ("runs", "--verdict", "restart"),
    ("runs", "--verdict", "replan"),
    ("runs", "--older-than", "1h"),
    ("runs", "--older-than", "500000d"),
    ("runs", "--held", "--prefix", "olde"),
    ("runs", "--quiet-for", "1h", "--limit", "1"),
    ("effects",),
    ("effects", "--unknown"),
    ("sources", "affected", "policy:a"),
    ("sources", "affected", "policy:a", "y"),
    ("sources", "affected", "policy:a", "none"),
    ("sources", "affected", "policy:none"),
)


def test_they_tell_the_same(path: Path, call: Call) -> None:
    with_runs = 0
    for arguments in LISTS:
        told = call(*arguments, "--ledger", path, "--json")
        kept = call(*arguments, "--kept", "--ledger", path, "--json")
        assert (kept.code, kept.err) == (told.code, told.err), arguments
        if told.code == 0:
            document = kept.document
            assert document.pop("as_of") == "25", arguments
            assert document == told.document, arguments
            with_runs += any(bool(found) for found in document.values() if isinstance(found, list))
    assert with_runs > 12


@pytest.mark.parametrize("arguments", [("runs", "--held"), ("effects",), ("sources", "affected", "policy:a")])
def test_as_text_they_say_as_of_when(path: Path, call: Call, arguments: tuple[str, ...]) -> None:
    told = call(*arguments, "--ledger", path)
    kept = call(*arguments, "--kept", "--ledger", path)
    assert kept.out == told.out
    assert "as of global position 25; 25 events handled; by the clock at " in kept.err


def test_what_happened_since_is_there(path: Path, call: Call) -> None:
    call("runs", "--held", "--kept", "--ledger", path)
    with open_ledger(path, actor=AGENT) as ledger:
        ledger.open_run("later", "goal").accept(
            "x", "Be kind", source=Source("policy", "a"), asserted_by="human:kim"
        )
    found = call("sources", "affected", "policy:a", "--kept", "--ledger", path, "--json").document["affected"]
    assert "later" in [one["run"] for one in found]


def test_what_is_altered_is_named_where_it_is_among_them(path: Path, call: Call, alter: Alter) -> None:
    call("runs", "--held", "--kept", "--ledger", path)
    alter(path, ALTER_QUIET)
    for arguments in (("effects",), ("runs", "--quiet-for", "1h"), ("sources", "affected", "policy:a")):
        said = call(*arguments, "--kept", "--ledger", path, "--json")
        assert [one["run"] for one in said.document["unread"]] == ["quiet"]
        assert said.code == 1
    assert call("runs", "--held", "--kept", "--ledger", path).code == 0
    assert call("runs", "--held", "--ledger", path).code == 1


def test_what_was_altered_before_it_was_handled_is_named_beside_the_others(
    path: Path, call: Call, alter: Alter
) -> None:
    alter(path, ALTER_QUIET)
    for arguments in (("runs", "--held"), ("effects",), ("sources", "affected", "policy:a")):
        told = call(*arguments, "--ledger", path, "--json")
        kept = call(*arguments, "--kept", "--ledger", path, "--json")
        assert (kept.code, told.code) == (1, 1), arguments
        assert kept.document["unread"] == told.document["unread"]
    for command in ("obligations", "approvals"):
        said = call(command, "--ledger", path, "--json")
        assert said.code == 1
        assert "set aside quiet from position" in said.document["notes"][0]
        assert call(command, "--run", "quiet", "--ledger", path).code == 1


def test_a_run_that_is_named_is_not_looked_for(path: Path, call: Call) -> None:
    assert call("effects", "quiet", "--kept", "--ledger", path).code == 64
