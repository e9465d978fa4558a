"""What waits for a person, and what they answer, from the command line."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ledger import open_ledger
from ledger.adapters.cli.approval_view import became_of
from ledger.errors import ApprovalRequired
from ledger.events import ApprovalRequested
from tests.adapters.cli import waits
from tests.adapters.cli.command import Answer, at_terminal
from tests.adapters.cli.conftest import Call, Module
from tests.adapters.cli.ledgers import AGENT
from tests.adapters.cli.stops import filled
from tests.adapters.cli.waits import Waits, pay


@pytest.fixture(scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Waits:
    return waits.make(tmp_path_factory.mktemp("waits") / "ledger.db")


@pytest.fixture
def made(_made: Waits, tmp_path: Path) -> Waits:
    """Return a ledger of its own for each test."""
    return _made._replace(path=Path(shutil.copy(_made.path, tmp_path / "waits.db")))


@pytest.fixture
def say(call: Call, made: Waits) -> Call:
    def said(*arguments: str) -> Answer:
        return call(*arguments, "--ledger", made.path)

    return said


# --- looking -----------------------------------------------------------------------------------------


def test_what_waits_is_listed_with_all_that_an_approver_needs(say: Call, made: Waits) -> None:
    (one,) = say("approvals", "--json").document["approvals"]
    assert (one["id"], one["state"], one["run"], one["tool"]) == (made.waiting, "pending", "shop", "pay")
    assert one["args"] == {"order": 3, "amount": "10.00"}, "with what the tool has by default"
    assert (one["requested_by"], one["goal"]) == ("agent:refunds", "Pay what is due")
    (demand,) = one["demanded_by"]
    assert (demand["id"], demand["source"], demand["revision"]) == ("limit", "policy:payments", "4")
    assert demand["asserted_by"] == "human:lee"


def test_how_each_stands_is_told(say: Call, made: Waits) -> None:
    listed = say("approvals", "--all", "--json").document["approvals"]
    assert {one["id"]: one["state"] for one in listed} == {
        made.waiting: "pending",
        made.approved: "approved",
        made.denied: "denied",
        made.void: "void",
    }
    by_state = {one["state"]: one for one in listed}
    assert by_state["void"]["void"] == "the terms changed at position 4"
    assert (by_state["denied"]["answered_by"], by_state["denied"]["reason"]) == ("human:kim", "paid before")
    some = say("approvals")
    assert "3 more are answered, expired or void: --all" in some.err
    assert made.waiting in some.out, "into a pipe an id is whole"
    assert made.denied not in some.out


def test_at_a_terminal_an_id_is_cut_to_what_answers_it(made: Waits) -> None:
    said = at_terminal("approvals", "--ledger", made.path, watched=False).out
    assert f"approval {made.waiting[:12]}..\n" in said
    assert made.waiting not in said
    assert "pay of shop: pending" in said


def test_one_is_shown_whole_with_its_goal_and_what_was_done_before(say: Call, made: Waits) -> None:
    said = say("approval", made.waiting[:6])
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[:2] == ["pay of shop: pending", f"  approval {made.waiting}"]
    assert '  arguments {"amount":"10.00","order":3}' in lines
    assert "  Pay what is due" in lines
    assert any(line.startswith("  demanded by limit: A person approves what is paid (") for line in lines)
    shown = say("effect", made.waiting[:12]).out.splitlines()
    assert '  arguments {"amount":"10.00","order":3}' in shown[: shown.index("What is recorded of it")]
    document = say("approval", made.waiting, "--json").document
    assert document["approval"]["id"] == made.waiting
    assert document["goal"] == {"text": "Pay what is due", "revision": 1}
    assert document["terms"]["digest"].startswith("v1:")
    assert [(one["approval"]["state"], one["args"]) for one in document["before"]] == [
        ("denied", '{"order":2}'),
        ("approved", '{"order":1}'),
    ]


def test_the_command_lines_below_it_answer_it(say: Call, call: Call, made: Waits) -> None:
    yes, no = say("approval", made.waiting[:8]).out.splitlines()[-2:]
    assert call(*filled(yes.strip())).out.startswith("Approved: pay of shop, position 11\n")
    assert call(*filled(no.strip())).code == 4, "and it was answered by then"


@pytest.mark.parametrize("verb", [("approval",), ("approve", "--by", "human:kim")])
@pytest.mark.parametrize(
    ("id", "code", "error"),
    [("12345", 64, "invalid_input"), ("0123456789", 3, "approval_not_found"), ("nobody", 3, None)],
)
def test_what_is_not_there_is_said_so(
    say: Call, verb: tuple[str, ...], id: str, code: int, error: str | None
) -> None:
    answer = say(verb[0], id, *verb[1:], "--json")
    assert (answer.code, answer.error["code"]) == (code, error or "approval_not_found")


def test_where_several_begin_so_all_of_them_are_named(made: Waits, call: Call) -> None:
    with open_ledger(made.path) as ledger:
        run = ledger.open_run("alike", "Answer both")
        asked = [ApprovalRequested(id=f"abcdef-{n}", key=str(n) * 64) for n in (1, 2)]
        ledger.import_events(run.id, asked, expected=1)
    answer = call("approval", "abcdef", "--ledger", made.path, "--json")
    assert (answer.code, answer.error["code"]) == (64, "invalid_input")
    assert "2 requests begin with abcdef: abcdef-1, abcdef-2" in answer.error["message"]
    assert call("deny", "abcdef-2", "--by", "human:kim", "--ledger", made.path).code == 0
    one = call("approve", "abcdef", "--by", "human:kim", "--ledger", made.path, "--json")
    assert (one.code, one.document["id"]) == (0, "abcdef-1"), "of both one waits still"


# --- answering ---------------------------------------------------------------------------------------


def test_what_is_approved_is_performed_by_whoever_calls_again(say: Call, made: Waits) -> None:
    answer = say("approve", made.waiting[:10], "--by", "human:kim", "--reason", "checked", "--json")
    assert (answer.code, answer.document["came_to"], answer.document["tool"]) == (0, "counted", "pay")
    assert answer.document["approval"]["state"] == "approved"
    (event,) = answer.document["events"]
    assert event["data"]["by"] == "human:kim"
    assert event["actor"]["id"].startswith("service:"), "who wrote it is another thing"
    with open_ledger(made.path, actor=AGENT) as ledger:
        done = ledger.run("shop").perform(
            "pay", {"order": 3}, pay, recovery="idempotent", dedupes_for=60, needs_approval=True
        )
        assert done == {"paid": 3}
    late = say("deny", made.waiting, "--by", "human:lee", "--json")
    assert (late.code, late.error["code"]) == (3, "approval_not_found")
    assert "the answer is recorded" in late.error["message"]


def test_the_words_say_who_wrote_it(say: Call, made: Waits) -> None:
    answer = say("deny", made.waiting, "--by", "human:kim")
    assert answer.out.startswith("Denied: pay of shop, position 11\n")
    assert "  written by service:" in answer.out
    assert "which nothing proves" in answer.out


def test_the_same_answer_again_is_no_news_and_another_does_not_count(say: Call, made: Waits) -> None:
    by_another = say("approve", made.approved, "--by", "human:lee", "--json")
    assert (by_another.code, by_another.document["came_to"]) == (0, "repeat")
    again = say("approve", made.approved, "--by", "human:lee")
    assert again.out.startswith("Nothing new: pay of shop was approved so already by human:kim 2026-01-31 ")
    against = say("deny", made.approved, "--by", "human:lee", "--json")
    assert (against.code, against.error["code"]) == (4, "not_open")
    assert "was approved by human:kim at position 9; the answer is recorded" in against.error["message"]


def test_who_asked_does_not_answer_nor_does_an_agent(say: Call, made: Waits) -> None:
    asked = say("request-approval", made.void[:10], "--actor", "human:kim", "--json")
    assert asked.code == 0
    own = say("approve", asked.document["id"], "--by", "human:kim", "--json")
    assert (own.code, own.error["code"]) == (4, "not_by_requester")
    agent = say("approve", made.waiting, "--by", "human:kim", "--actor", "agent:x", "--json")
    assert (agent.code, agent.error["code"]) == (4, "not_for_agents")


def test_a_yes_to_what_binds_no_more_is_bad_news(say: Call, made: Waits) -> None:
    answer = say("approve", made.void[:8], "--by", "human:kim")
    assert answer.code == 1
    words = "RECORDED, AND IT BINDS NOTHING: pay of moved: the terms changed at position 4\n"
    assert answer.out.startswith(words)
    assert f"request-approval {made.void[:64]} --run moved" in answer.err
    document = say("approve", made.void, "--by", "human:kim", "--json").document
    assert (document["came_to"], document["because"]) == ("void", "the terms changed at position 4")


def test_a_no_to_what_binds_no_more_counts_and_holds_the_run_no_more(say: Call, made: Waits) -> None:
    assert say("resume", "moved", "--actor", "agent:refunds").code != 0
    answer = say("deny", made.void[:8], "--by", "human:kim")
    assert answer.code == 0
    assert answer.out.startswith("Denied: pay of moved, position ")
    assert "(the terms changed at position 4), and does not hold the run any more" in answer.err
    assert "asks a person anew" in answer.err
    assert "intent-ledger resume moved --ledger " in answer.err
    reasons = say("resume", "moved", "--dry-run", "--json").document["reasons"]
    assert "approval_void" not in {one["kind"] for one in reasons}
    again = say("deny", made.void, "--by", "human:kim", "--json").document
    assert (again["came_to"], again["because"]) == ("repeat", "the terms changed at position 4")


def test_after_a_no_it_is_told_how_a_person_asks_anew(say: Call, call: Call, made: Waits) -> None:
    anew = f"intent-ledger request-approval {made.waiting[:64]} --run shop --actor human:NAME"
    assert anew in say("deny", made.waiting, "--by", "human:kim").err
    shown = say("approval", made.waiting)
    assert f"  {anew}" in shown.out
    line = next(line for line in shown.out.splitlines() if anew in line)
    assert call(*filled(line)).code == 0


def test_a_yes_that_is_not_used_yet_is_taken_back_by_asking_anew(say: Call, call: Call, made: Waits) -> None:
    against = say("deny", made.approved, "--by", "human:lee", "--json")
    assert against.error["code"] == "not_open"
    line = against.error["message"].partition("; asking anew takes the yes back: ")[2]
    assert call(*filled(line), "--actor", "human:lee").code == 0
    with open_ledger(made.path, actor=AGENT) as ledger, pytest.raises(ApprovalRequired) as waits:
        ledger.run("shop").perform(
            "pay", {"order": 1}, pay, recovery="idempotent", dedupes_for=60, needs_approval=True
        )
    assert waits.value.id != made.approved


def test_of_what_waits_no_more_it_is_told_what_became_of_it(say: Call, made: Waits) -> None:
    new = say("request-approval", made.waiting, "--question", "Still?", "--json").document["id"]
    for verb in (("approval",), ("approve", "--by", "human:kim")):
        moved = say(verb[0], made.waiting, *verb[1:], "--json")
        assert (moved.code, moved.error["code"]) == (3, "approval_not_found")
        assert f"asked anew about its act, under '{new}', which is pending" in moved.error["message"]
    with open_ledger(made.path, actor=AGENT) as ledger:
        ledger.run("shop").perform(
            "pay", {"order": 1}, pay, recovery="idempotent", dedupes_for=60, needs_approval=True
        )
    for verb in (("approval",), ("deny", "--by", "human:kim")):
        done = say(verb[0], made.approved, *verb[1:], "--json")
        assert (done.code, done.error["code"]) == (3, "approval_not_found")
        assert "its act is done in run 'shop'" in done.error["message"]
        assert "intent-ledger ask approvers run=shop" in done.error["message"]


def test_a_no_to_what_was_asked_anew_since_is_one_to_the_act(say: Call, made: Waits) -> None:
    new = say("request-approval", made.waiting, "--question", "Still?", "--json").document["id"]
    told = say("deny", made.waiting, "--by", "human:kim", "--json")
    assert (told.code, told.document["came_to"], told.document["approval"]["id"]) == (0, "counted", new)
    again = say("deny", made.waiting, "--by", "human:kim")
    assert again.code == 0
    assert "Nothing new: pay" in again.out


# --- asking anew -------------------------------------------------------------------------------------


def test_a_person_is_asked_anew_under_what_holds_now(say: Call, made: Waits) -> None:
    asked = say("request-approval", made.void[:8], "--question", "Still?", "--json")
    assert (asked.code, asked.document["repeated"]) == (0, False)
    new = asked.document["id"]
    assert new != made.void
    listed = {one["id"]: one for one in say("approvals", "--json").document["approvals"]}
    assert listed[new]["question"] == "Still?"
    assert say("approve", new, "--by", "human:kim", "--json").document["came_to"] == "counted"
    old = say("approve", made.void, "--by", "human:kim", "--json")
    assert (old.code, old.error["code"]) == (3, "approval_not_found")


def test_a_whole_id_does_not_answer_what_was_asked_anew_since(say: Call, made: Waits) -> None:
    new = say("request-approval", made.waiting[:64], "--question", "Pay more?", "--json").document["id"]
    old = say("approve", made.waiting, "--by", "human:kim", "--json")
    assert (old.code, old.error["code"]) == (3, "approval_not_found")
    assert say("approve", made.waiting[:10], "--by", "human:kim", "--json").document["id"] == new


def test_what_binds_still_is_not_asked_twice(say: Call, made: Waits) -> None:
    again = say("request-approval", made.waiting, "--json").document
    assert (again["repeated"], again["id"]) == (True, made.waiting)


def test_a_past_end_is_a_slip_of_the_pen(say: Call, made: Waits) -> None:
    for end in ("2020-01-31T09:00:00Z", "tomorrow"):
        answer = say("request-approval", made.void, "--expires-at", end, "--json")
        assert (answer.code, answer.error["code"]) == (64, "invalid_input")


def test_what_was_denied_is_asked_anew_by_a_person_only(say: Call, made: Waits) -> None:
    key = made.denied[:6]
    agent = say("request-approval", key, "--actor", "agent:refunds", "--json")
    assert (agent.code, agent.error["code"]) == (4, "approval_denied")
    assert say("request-approval", key, "--actor", "human:lee", "--json").document["repeated"] is False


def test_what_makes_approvals_void_says_which(say: Call, made: Waits) -> None:
    given = ("--principal", "agent:refunds", "--scope", "pay", "--granted-by", "human:kim")
    answer = say("grant", "shop", "g", *given)
    assert answer.code == 0
    for id in (made.approved, made.waiting):
        assert f"approval {id} binds no more" in answer.err
    assert made.denied not in answer.err
    again = say("revoke", "shop", "g", "--reason", "no", "--by", "human:kim", "--json").document
    assert "approvals_void" not in again, "they were void before"


# --- where else it is seen ---------------------------------------------------------------------------


def test_effects_say_for_whom_an_act_waits(say: Call, made: Waits) -> None:
    listed = say("effects", "shop", "--all", "--json").document["effects"]
    assert [one["approval"]["state"] for one in listed] == ["approved", "denied", "pending"]
    assert all(one["find_out"].startswith("nothing was sent") for one in listed)
    said = say("effects")
    for words in ("waits for a person", "approved", "approval void"):
        assert f"  {words}  " in said.out
    assert "intent-ledger approvals" in said.err
    assert "reconcile" not in said.err, "nobody need find out what was not sent"


@pytest.mark.parametrize(
    ("which", "words"),
    [
        ("waiting", "pay: waits for a person since 2026-01-31 09:00:11Z, approval {id}"),
        ("approved", "pay: approved by human:kim 2026-01-31 09:00:12Z, approval {id}"),
        ("denied", "pay: denied by human:kim 2026-01-31 09:00:13Z, approval {id}: paid before"),
        ("void", "pay: approval {id} binds no more: the terms changed at position 4"),
    ],
)
def test_an_effect_and_its_contract_say_so(say: Call, made: Waits, which: str, words: str) -> None:
    id = getattr(made, which)
    line = words.format(id=id)
    assert say("effect", id[:64]).out.splitlines()[0] == line
    shown = say("contract", "moved" if which == "void" else "shop").out.splitlines()
    assert (f"  {line}" in shown) is (which != "denied"), "what was denied is no effect of the run"
    assert any(line.startswith(f"    {words.format(id=id).removeprefix('pay: ')}") for line in shown)


def test_a_brief_tells_what_was_not_sent_from_what_nobody_knows(say: Call, made: Waits) -> None:
    said = say("brief", "shop").out
    assert "## Not known whether it happened" not in said
    assert "## Not settled by other runs" not in said, "nor is what was denied"
    begun = said.partition("## Intended, and nothing was sent yet\n")[2].partition("\n## ")[0]
    assert begun.count("- pay: pending") == 2
    assert "a person answers first; nothing was sent" in begun
    assert f"- intent-ledger approve {made.waiting} --by human:NAME" in said
    moved = say("brief", "moved").out
    assert "not answered, and VOID (the terms changed at position 4)" in moved
    assert f"- intent-ledger request-approval {made.void[:64]} --run moved" in moved


def test_the_gate_names_both_ways_out_of_what_is_void(say: Call, call: Call, made: Waits) -> None:
    reasons = say("resume", "moved", "--dry-run", "--json").document["reasons"]
    (void,) = (one for one in reasons if one["kind"] == "approval_void")
    anew, no = void["ways_out"]
    assert anew.startswith(f"intent-ledger request-approval {made.void[:64]} --run moved")
    assert call(*filled(anew)).code == 0
    after = say("resume", "moved", "--dry-run", "--json").document["reasons"]
    assert "approval_void" not in {one["kind"] for one in after}
    assert no.startswith(f"intent-ledger deny {made.void} ")


def test_of_what_was_approved_and_is_void_the_gate_names_the_only_way_out(say: Call, made: Waits) -> None:
    said = ("--text", "Pay what is due today", "--reason", "no hurry", "--by", "human:kim")
    assert say("revise-goal", "shop", *said).code == 0
    reasons = say("resume", "shop", "--dry-run", "--json").document["reasons"]
    ways = {one["position"]: one["ways_out"] for one in reasons if one["kind"] == "approval_void"}
    approved, waiting = (len(ways[place]) for place in sorted(ways))
    assert (approved, waiting) == (1, 2), "a no to what was approved changes nothing"


def test_the_log_shows_the_question_and_the_answer(say: Call, made: Waits) -> None:
    lines = say("log", "shop").out.splitlines()
    assert sum("  approval.requested  " in line for line in lines) == 3
    assert any("approval.answered  human:kim" in line and "paid before" in line for line in lines)


def test_runs_count_what_waits_apart_from_what_nobody_knows(say: Call, made: Waits) -> None:
    runs = {one["run"]: one for one in say("runs", "--json").document["runs"]}
    assert (runs["shop"]["unsettled"], runs["shop"]["waiting"]) == (2, 2)
    table = say("runs").out.splitlines()
    place = table[0].index("UNSETTLED")
    assert "WAITING" in table[0]
    (shop,) = (line for line in table if line.startswith("shop "))
    assert shop[place:].split()[:2] == ["-", "2"]
    narrow = at_terminal("runs", "--ledger", made.path, columns=60, watched=False).out
    assert "2 waiting for a person" in narrow
    assert "unsettled" not in narrow


def test_what_waits_is_neither_asked_about_nor_sent(say: Call, made: Waits, module: Module) -> None:
    probed = "from ledger import tool\n\n\ndef find(key, args):\n    raise AssertionError('it is asked')\n"
    probed += "\n\n@tool(recovery='queryable', probe=find)\ndef pay(order: int, amount: str = '10.00'):\n"
    module("desk_tools", probed + "    raise AssertionError('it is sent')\n")
    answer = say("reconcile", "--tools", "desk_tools", "--json")
    assert (answer.code, answer.document["in_doubt"]) == (0, 0)
    told = [(one["found"], one["because"]) for one in answer.document["answers"]]
    assert [found for found, _ in told] == ["not_asked"] * 3
    assert all(because.startswith("nothing was sent") for _, because in told)
    with open_ledger(made.path) as ledger:
        assert ledger.contract("shop").position == 10


def test_what_waited_when_its_run_was_cancelled_was_never_begun(say: Call, made: Waits) -> None:
    ended = say("cancel", "shop", "--reason", "closing down", "--by", "human:kim")
    assert ended.code == 0, "nothing is in doubt"
    assert "Never begun: 2 acts, of which nothing was sent\n" in ended.out
    assert "Nobody knows" not in ended.out
    assert "intent-ledger settle" not in ended.out
    assert "reconcile" not in ended.err
    document = say("cancel", "shop", "--reason", "closing down", "--by", "human:kim", "--json").document
    assert (document["in_doubt"], len(document["effects"])) == (0, 2)
    open_acts = say("effects", "shop")
    assert open_acts.out.count("  never begun  ") == 2
    assert "intent-ledger approvals" not in open_acts.err
    over = "nothing was sent, and nothing will be: its run has ended"
    assert {one["find_out"] for one in say("effects", "shop", "--json").document["effects"]} == {over}
    assert say("reconcile", "--run", "shop").code == 0
    assert say("contract", "shop").out.count("pay: never begun, and its run has ended\n") == 2
    assert "## Never begun: nothing was sent\n- pay: pending" in say("brief", "shop").out
    assert (
        "## Intended, and nothing was sent\n- pay: never begun, " in say("contract", "shop", "--prompt").out
    )
    (row,) = [line for line in say("runs").out.splitlines() if line.startswith("shop ")]
    assert " 2 " not in row, "nothing waits for a person"
    too_late = say("deny", made.waiting, "--by", "human:kim", "--json")
    assert (too_late.code, too_late.error["code"]) == (4, "run_is_closed")
    assert "; the answer is recorded at position " in too_late.error["message"]


def test_a_command_that_names_a_run_takes_it_as_one_word() -> None:
    act: Any = SimpleNamespace(run="x $(id) y", started_in=None, status="succeeded")
    told = became_of(act, [], "key")
    assert "`intent-ledger log 'x $(id) y'`" in told
    assert "`intent-ledger ask approvers 'run=x $(id) y'`" in told
