"""`demo`: what it shows really happened."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from ledger import open_ledger
from ledger.adapters.demo import approval, story, succession, worker
from ledger.errors import StoreError
from ledger.events import (
    ApprovalAnswered,
    ApprovalRequested,
    EffectIntended,
    EffectReconciled,
    EffectRefused,
    EffectStarted,
)
from tests.adapters.cli.command import run, run_anew
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Play the demonstration once, as text."""
    folder = tmp_path_factory.mktemp("demo") / "new folder"
    answer = run("demo", folder)
    assert (answer.code, answer.err) == (0, "")
    return folder / "demo.db", answer.out


def test_fits_into_80_columns_without_escapes(shown: tuple[Path, str]) -> None:
    lines = shown[1].splitlines()
    # How long these are is up to where the program lies.
    commands = [line for line in lines if "export" in line or "/intent-ledger " in line]
    assert max(len(line) for line in lines if line not in commands) <= 80
    assert "\x1b" not in shown[1]
    assert all(line == line.rstrip() for line in lines)


def test_shows_who_asserted_what_when_from_which_source_and_what_changed(shown: tuple[Path, str]) -> None:
    path, out = shown
    with open_ledger(path, create=False) as ledger:
        contract = ledger.contract(worker.RUN)
    flat = " ".join(out.split())
    for item in contract.constraints:
        assert f"{item.id}: {item.text}" in flat
        assert f"by {item.asserted_by}, from policy:refunds revision 4" in flat
    assert "(CLAIMED)" in flat
    assert f"goal, revision 1: {worker.GOAL}" in flat
    assert f"goal, revision 2: {worker.NEW_GOAL}" in flat
    assert "because the customer asked" in flat
    assert "SOUND:" in flat
    assert "UNANCHORED:" in flat
    assert "Equal:" in flat


def test_a_payment_whose_answer_was_lost_is_not_made_again(shown: tuple[Path, str]) -> None:
    path, out = shown
    assert "The payment server's own record: 1 charge." in " ".join(out.split())
    with open_ledger(path, create=False) as ledger:
        events = [record.event for record in ledger.log(worker.RUN)]
    assert [type(event) for event in events].count(EffectStarted) == 1
    (finding,) = [event for event in events if isinstance(event, EffectReconciled)]
    assert (finding.found, finding.method) == ("happened", "probe")


def test_a_run_whose_rule_was_withdrawn_is_held_and_its_successor_pays_nothing_again(
    shown: tuple[Path, str],
) -> None:
    path, out = shown
    flat = " ".join(out.split())
    assert "The gate: RESTART." in flat
    assert "constraint:limit-100: policy:refunds withdrew it" in flat
    assert "PAID TWICE" not in flat
    assert "limit-100: said by human:kim (published, policy:refunds revision 4)" in flat
    assert "limit-500: said by customer:17 (CLAIMED, policy:refunds revision 4)" in flat
    with open_ledger(path, create=False) as ledger:
        held, after = ledger.contract(worker.RUN), ledger.contract(succession.SUCCESSOR)
        paid = [r for r in ledger.log(succession.SUCCESSOR) if isinstance(r.event, EffectStarted)]
    assert held.held is not None
    assert [one.kind for one in held.held.reasons] == ["constraint_withdrawn"]
    assert held.closed is not None
    assert held.closed.successor == after.run
    assert [one.id for one in after.constraints] == ["original-card", "limit-500"]
    assert [one.id for one in after.obligations] == [one.id for one in held.obligations]
    assert paid == []


def test_a_payment_above_the_limit_waits_for_a_person_and_is_made_once_by_another_process(
    shown: tuple[Path, str],
) -> None:
    path, out = shown
    with open_ledger(path, create=False) as ledger:
        records = list(ledger.log(approval.RUN))
        rules = ledger.contract(approval.RUN, at=4).constraints
    events = [record.event for record in records]
    (asked,) = (record for record in records if isinstance(record.event, ApprovalRequested))
    (answer,) = (event for event in events if isinstance(event, ApprovalAnswered))
    waiting, begun = (event for event in events if isinstance(event, EffectIntended))
    assert isinstance(asked.event, ApprovalRequested)
    assert (answer.id, answer.by, answer.answer) == (asked.event.id, approval.APPROVER, "approved")
    assert asked.actor.id == "agent:refunds"
    assert (waiting.approval, begun.approval) == (None, asked.event.id)
    assert [type(event) for event in events].count(EffectStarted) == 1
    flat = " ".join(out.split())
    assert asked.event.id in flat
    assert f"ask-above-100: {rules[0].text} by human:kim, from policy:payments revision 1;" in flat
    assert "nothing waits in memory. human:lee approved by that id, as `intent-ledger approve` does." in flat
    assert "The payment server's own record of order 18: 1 charge." in flat


def test_a_payment_that_breaks_a_rule_is_refused_and_the_rule_named(shown: tuple[Path, str]) -> None:
    path, out = shown
    with open_ledger(path, create=False) as ledger:
        events = [record.event for record in ledger.log(approval.RUN)]
    (refused,) = (event for event in events if isinstance(event, EffectRefused))
    assert refused.rule == "constraint_violated"
    assert refused.evidence is not None
    named = {name: refused.evidence[name] for name in ("asserted_by", "id", "revision", "source")}
    assert named == {
        "asserted_by": "human:kim",
        "id": "never-above-1000",
        "revision": "1",
        "source": "policy:payments",
    }
    assert "constraint 'never-above-1000' of policy:payments, asserted by human:kim" in " ".join(out.split())


@pytest.mark.slow
def test_what_it_tells_to_type_next_works(shown: tuple[Path, str]) -> None:
    path, out = shown
    assert str(path) in out.replace("'", "")
    typed = [line.split()[1:] for line in out.partition("export")[2].splitlines()[1:]]
    assert len(typed) > 4
    for arguments in typed:
        assert run(*arguments, INTENT_LEDGER_URL=str(path)).code == 0


def test_the_page_for_auditors_can_be_followed_on_its_ledger(shown: tuple[Path, str], tmp_path: Path) -> None:
    ledger = Path(shutil.copy(shown[0], tmp_path / "demo.db"))
    page = (ROOT / "docs/how-to/compliance.md").read_text()
    lines = [line.split()[1:] for line in page.splitlines() if line.startswith("    intent-ledger ")]
    assert lines[0][0] == "demo"
    assert len(lines) > 20
    answers = [run(*line, cwd=tmp_path, INTENT_LEDGER_URL=str(ledger)) for line in lines[1:]]
    assert {answer.code for answer in answers} == {0}
    asked = run("ask", "constraints-at-effect", "key=73bdaae05da9", "--json", INTENT_LEDGER_URL=str(ledger))
    assert answers[-1].document["rows"] == asked.document["rows"]


@pytest.mark.slow
def test_the_document_tells_the_same_story(tmp_path: Path) -> None:
    document = run("demo", tmp_path, "--json").document
    assert document["killed"]["signal"] == signal.SIGKILL
    assert document["killed"]["digest"] == document["reader"]["digest"]
    assert document["killed"]["pid"] != document["reader"]["pid"]
    assert document["same_contract"] is True
    assert document["stands_at"] - document["killed"]["position"] in {0, 1}
    assert document["goal"]["revision"] == 2
    assert document["goal_before"]["revision"] == 1
    assert document["payment"]["paid_once"] is True
    assert document["payment"]["killed"] != document["payment"]["resumed"]
    assert document["payment"]["receipt"]["id"] == document["payment"]["charges"][0]["id"]
    assert document["payment"]["effect"]["status"] == "succeeded"
    done = document["succession"]
    assert (done["verdict"], done["paid_once"]) == ("restart", True)
    assert done["receipt"] == document["payment"]["receipt"]
    assert [one["ref"] for one in done["dropped"]] == ["constraint:limit-100"]
    waited = document["consent"]
    assert waited["paid_once"] is True
    assert waited["told"] == [waited["request"]["id"]] * 2
    assert waited["asked"] != waited["paid"]
    assert waited["receipts"] == waited["charges"] * 2
    assert waited["refused"]["id"] == "never-above-1000"
    bound = {one["id"]: (one["author"], one["published"]) for one in document["bound"]}
    assert bound == {
        "limit-100": ("human:kim", 1),
        "original-card": ("human:kim", 1),
        "limit-500": ("customer:17", 0),
    }
    assert {one["effect_position"] for one in document["bound"]} == {
        document["payment"]["effect"]["intended_position"]
    }
    assert document["verify"]["standing"] == "sound"
    assert worker.RUN in document["runs"]


def test_a_second_demonstration_in_one_folder_is_refused(shown: tuple[Path, str]) -> None:
    before = shown[0].read_bytes()
    answer = run("demo", shown[0].parent, "--json")
    assert (answer.code, answer.error["code"]) == (3, "store_error")
    assert shown[0].read_bytes() == before


@pytest.mark.slow
def test_runs_in_a_folder_that_holds_a_package_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger/__init__.py").write_text("raise SystemExit('shadowed')\n")
    assert run_anew("demo", tmp_path / "demo", cwd=tmp_path).code == 0


def test_an_agent_that_ends_by_itself_is_no_demonstration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "__name__", "ledger.errors")
    with pytest.raises(StoreError):
        story.play(tmp_path / "demo.db")
