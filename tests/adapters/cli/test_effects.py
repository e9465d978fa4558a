"""`effects` and `effect`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ledger import Ledger, open_ledger
from ledger.errors import OutcomeUnknown
from ledger.events import (
    EffectIntended,
    EffectStarted,
    EffectSucceeded,
    InheritedEffect,
    RunClosed,
    RunOpened,
    RunRestarted,
)
from ledger.run.keys import act_key
from ledger.values import Ending, Recovery
from tests.adapters.cli.acts import BOOKED, FAILED, MAIL, ORDER, REFUNDS, begin_now
from tests.adapters.cli.command import at_terminal
from tests.adapters.cli.conftest import Alter, Call


def keys(document: dict[str, Any]) -> list[str]:
    return [effect["key"] for effect in document["effects"]]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


# --- what is unsettled -------------------------------------------------------------------------------


def test_lists_what_is_unsettled_in_all_runs_the_oldest_first(call: Call, acts: Path) -> None:
    key = begin_now(acts)
    document = call("effects", "--ledger", acts, "--json").document
    assert keys(document) == [*REFUNDS, MAIL, ORDER, key]
    assert [effect["status"] for effect in document["effects"]] == ["unknown"] * 5 + ["executing"]
    assert (document["unread"], document["next"]) == ([], None)


def test_unknown_leaves_out_what_a_worker_is_executing(call: Call, acts: Path) -> None:
    key = begin_now(acts)
    assert key not in keys(call("effects", "--unknown", "--ledger", acts, "--json").document)
    assert keys(call("effects", "busy", "--ledger", acts, "--json").document) == [key]
    answer = call("effects", "busy", "--unknown", "--ledger", acts)
    assert (answer.code, answer.out, answer.err) == (0, "", "no effect matches: nothing is open\n")


def test_tells_all_that_is_known_of_one(call: Call, acts: Path) -> None:
    refund, mail = (
        call("effects", "refund-17", "--ledger", acts, "--json").document["effects"][n] for n in (0, 3)
    )
    worker = refund.pop("worker")
    assert worker == mail["worker"]
    assert refund == {
        "run": "refund-17",
        "key": REFUNDS[0],
        "act": act_key("default", "refund-17", "refund", '{"order":1}'),
        "tool": "refund",
        "step": "pay",
        "args": '{"order":1}',
        "status": "unknown",
        "since": refund["since"],
        "attempt": 1,
        "max_attempts": 1,
        "recovery": "queryable",
        "intended_at": refund["intended_at"],
        "intended_in": "refund-17",
        "intended_position": 2,
        "witnessed": True,
        "find_out": "its probe asks the outside",
    }
    assert refund["since"] > refund["intended_at"], "it is unknown since its lease ended"
    assert mail["error"] == {"type": "ValueError", "message": "card expired"}
    assert mail["find_out"] == "a person has to find out"


def test_an_executing_one_says_until_when_its_worker_holds_it(call: Call, acts: Path) -> None:
    begin_now(acts)
    (effect,) = call("effects", "busy", "--ledger", acts, "--json").document["effects"]
    assert effect["lease_until"] > effect["since"]
    assert effect["find_out"].startswith("its worker will tell, and holds its lease until 2")


def test_into_a_pipe_goes_one_whole_line_for_each(call: Call, acts: Path) -> None:
    answer = call("effects", "--ledger", acts)
    header, *rows = answer.out.splitlines()
    assert cells(header)[:5] == ["INTENDED", "SINCE", "STATUS", "RUN", "TOOL"]
    assert [cells(row)[2:6] for row in rows[2:4]] == [
        ["unknown", "refund-17", "refund", "pay"],
        ["unknown", "refund-17", "mail", "-"],
    ]
    assert all(key in row for key, row in zip([*REFUNDS, MAIL, ORDER], rows, strict=True))
    assert "ValueError: card expired" in rows[3]
    assert "intent-ledger reconcile" in answer.err


@pytest.mark.parametrize("columns", [40, 120])
def test_a_terminal_shows_as_much_of_a_key_as_other_commands_take(acts: Path, columns: int) -> None:
    out = at_terminal("effects", "--ledger", acts, columns=columns, watched=False).out
    assert max(map(len, out.splitlines())) <= columns
    shown = f"{MAIL[:12]}.."
    assert shown in out
    assert MAIL not in out
    assert "mail: unknown" in at_terminal("effect", shown, "--ledger", acts).out


def test_no_run_of_this_name_could_not_be_looked_at(call: Call, acts: Path) -> None:
    for more in ([], ["--all"]):
        answer = call("effects", "nobody", *more, "--ledger", acts, "--json")
        assert (answer.code, answer.error["code"]) == (3, "run_not_found")


def test_a_run_that_was_altered_is_named_and_the_others_are_listed(
    call: Call, acts: Path, alter: Alter
) -> None:
    alter(acts, "UPDATE events SET hash = zeroblob(32) WHERE run = 'desk' AND position = 1")
    answer = call("effects", "--ledger", acts)
    assert answer.code == 1
    assert answer.out.startswith("desk: ALTERED: ")
    document = call("effects", "--unknown", "--ledger", acts, "--json").document
    assert keys(document) == [*REFUNDS, MAIL]
    assert [(run["run"], run["standing"]) for run in document["unread"]] == [("desk", "altered")]
    for verb in ("effects", "tools"):
        assert call(verb, "desk", "--ledger", acts).code == 1
    tools = call("tools", "--ledger", acts, "--json")
    assert (tools.code, [row["tool"] for row in tools.document["tools"]]) == (1, ["mail", "refund"])
    assert [run["run"] for run in tools.document["unread"]] == ["desk"]


# --- all of a run ------------------------------------------------------------------------------------


def test_all_lists_settled_ones_too_where_they_were_intended_first(call: Call, acts: Path) -> None:
    document = call("effects", "refund-17", "--all", "--ledger", acts, "--json").document
    assert keys(document) == [*REFUNDS, MAIL, BOOKED, FAILED]
    assert [effect["status"] for effect in document["effects"][4:]] == ["succeeded", "failed"]
    booked = document["effects"][4]
    assert booked["result"] == {"json_text": '{"entry":1}'}
    assert "find_out" not in booked
    assert document["next"] is None


@pytest.mark.parametrize("limit", [1, 2, 3, 6])
def test_pages_meet_without_gap_or_overlap(call: Call, acts: Path, limit: int) -> None:
    with open_ledger(acts) as ledger:
        ledger.run("refund-17").perform(
            "charge", {"order": 9}, lambda order: order, definite_errors=(ValueError,)
        )
    seen: list[str] = []
    more: list[str] = []
    while True:
        page = call("effects", "refund-17", "--all", "--limit", str(limit), *more, "--ledger", acts, "--json")
        assert len(keys(page.document)) <= limit
        seen += keys(page.document)
        if page.document["next"] is None:
            break
        more = ["--after", str(page.document["next"])]
    assert seen == [*REFUNDS, MAIL, BOOKED, FAILED]


def test_says_on_standard_error_how_the_next_page_is_asked_for(call: Call, acts: Path) -> None:
    answer = call("effects", "refund-17", "--all", "--limit", "2", "--ledger", acts)
    assert len(answer.out.splitlines()) == 3
    assert "intent-ledger effects refund-17 --all --after 4 --limit 2\n" in answer.err


def _restart(ledger: Ledger) -> str:
    """Let a run succeed `refund-17`, inherit its mail and do something itself; return the key of that."""
    old = ledger.contract("refund-17")
    mail = next(effect for effect in old.effects if effect.key == MAIL)
    closed = RunClosed(outcome=Ending.ABANDONED, successor="refund-18")
    ledger.import_events("refund-17", [closed], expected=old.position)
    inherited = InheritedEffect(
        act=mail.act,
        attempt=1,
        key=MAIL,
        position=mail.position,
        recovery=Recovery.AT_MOST_ONCE,
        run="refund-17",
        status="unknown",
        tool="mail",
    )
    restarted = RunRestarted(
        by="human:kim",
        effects_done=1,
        predecessor="refund-17",
        predecessor_hash="0" * 64,
        predecessor_position=old.position,
        reason="restarted",
        unsettled=(inherited,),
    )
    key = MAIL[::-1]
    told = [
        EffectIntended(
            act=key, args="{}", key=key, key_scheme="v1", recovery=Recovery.AT_MOST_ONCE, tool="look"
        ),
        EffectStarted(attempt=1, key=key, lease_until=old.at, root="refund-17", worker="w"),
        EffectSucceeded(attempt=1, key=key),
    ]
    ledger.import_events("refund-18", [RunOpened(goal="Refund"), restarted, *told], expected=0)
    return key


def test_what_a_successor_inherited_is_listed_with_it(call: Call, acts: Path) -> None:
    with open_ledger(acts) as ledger:
        own = _restart(ledger)
    document = call("effects", "refund-18", "--all", "--ledger", acts, "--json").document
    assert keys(document) == [MAIL, own]
    inherited = document["effects"][0]
    assert (inherited["run"], inherited["intended_in"]) == ("refund-18", "refund-17")
    assert keys(call("effects", "refund-18", "--ledger", acts, "--json").document) == [MAIL]
    everywhere = call("effects", "--ledger", acts, "--json").document["effects"]
    assert [one["run"] for one in everywhere if one["key"] == MAIL] == ["refund-18"]
    alone = call("effects", "refund-18", "--all", "--limit", "1", "--ledger", acts, "--json").document
    assert (keys(alone), alone["next"]) == ([MAIL], 1)
    following = call("effects", "refund-18", "--all", "--after", "1", "--ledger", acts, "--json").document
    assert (keys(following), following["next"]) == ([own], None)


# --- one of them -------------------------------------------------------------------------------------


def test_one_is_shown_with_everything_that_is_recorded_under_its_key(call: Call, acts: Path) -> None:
    document = call("effect", MAIL, "--ledger", acts, "--json").document
    assert (document["effect"]["key"], document["effect"]["status"]) == (MAIL, "unknown")
    assert [event["name"] for event in document["events"]] == [
        "effect.intended",
        "effect.started",
        "effect.unknown",
    ]
    assert {event["actor"]["id"] for event in document["events"]} == {"agent:refunds"}
    out = call("effect", MAIL, "--ledger", acts).out
    assert out.startswith("mail: unknown since ")
    assert "  last known: ValueError: card expired\n" in out
    history = out.partition("What is recorded of it\n")[2].splitlines()
    assert [line.split("  ")[1:4] for line in history] == [
        ["refund-17 8", "effect.intended", "agent:refunds"],
        ["refund-17 9", "effect.started", "agent:refunds"],
        ["refund-17 10", "effect.unknown", "agent:refunds"],
    ]


def test_what_a_later_attempt_said_is_known_last(call: Call, acts: Path) -> None:
    settling = ("--did-not", "--evidence", "not in the log", "--by", "human:kim")
    call("settle", MAIL, *settling, "--ledger", acts)

    def late(to: str) -> None:
        raise ConnectionError(f"{to} was cut off")

    with open_ledger(acts) as ledger, suppress(OutcomeUnknown):
        ledger.run("refund-17").perform("mail", {"to": "kim"}, late)
    out = call("effect", MAIL, "--ledger", acts).out
    assert "  last known: ConnectionError: kim was cut off\n" in out
    assert "  found out before: person by human:kim 2" in out


def test_what_was_found_out_of_an_earlier_attempt_is_not_known_last(call: Call, acts: Path) -> None:
    settling = ("--did-not", "--evidence", "not in the log", "--by", "human:kim")
    call("settle", MAIL, *settling, "--ledger", acts)
    assert "  last known: person by human:kim 2" in call("effect", MAIL, "--ledger", acts).out
    assert "attempt 1, it may be tried again, key " in call("brief", "refund-17", "--ledger", acts).out
    with open_ledger(acts) as ledger:
        ledger.run("refund-17").perform("mail", {"to": "kim"}, dict)
    out = call("effect", MAIL, "--ledger", acts).out
    assert out.startswith("mail: succeeded since ")
    assert "last known" not in out
    assert "  found out before: person by human:kim 2" in out
    (row,) = [
        line
        for line in call("effects", "refund-17", "--all", "--ledger", acts).out.splitlines()
        if MAIL in line
    ]
    assert "not in the log" not in row


def test_the_beginning_of_a_key_is_enough_while_it_is_unsettled(call: Call, acts: Path) -> None:
    for given in (MAIL[:8], MAIL[:12].upper(), f"{MAIL[:12]}.."):
        assert call("effect", given, "--ledger", acts, "--json").document["effect"]["key"] == MAIL
    answer = call("effect", BOOKED[:12], "--ledger", acts, "--json")
    assert (answer.code, answer.error["code"]) == (3, "effect_not_found")
    assert "intent-ledger effects" in answer.error["message"]
    in_run = call("effect", BOOKED[:12], "--run", "refund-17", "--ledger", acts, "--json")
    assert in_run.document["effect"]["key"] == BOOKED
    assert call("effect", ORDER[:12], "--run", "refund-17", "--ledger", acts).code == 3


def test_a_beginning_that_several_keys_have_is_refused_and_names_them(call: Call, acts: Path) -> None:
    twin = MAIL[:10] + ("0" if MAIL[10] != "0" else "1") + MAIL[11:]
    intended = EffectIntended(
        act=MAIL, args="{}", key=twin, key_scheme="given", recovery=Recovery.AT_MOST_ONCE, tool="mail"
    )
    with open_ledger(acts) as ledger:
        ledger.import_events("twin", [RunOpened(goal="g"), intended], expected=0)
    answer = call("effect", MAIL[:8], "--ledger", acts, "--json")
    assert (answer.code, answer.error["code"]) == (64, "invalid_input")
    assert MAIL in answer.error["message"]
    assert twin in answer.error["message"]
    assert call("effect", MAIL[:11], "--ledger", acts).code == 0


@pytest.mark.parametrize("key", ["5a3c", "not-a-key", "g" * 64, "a" * 65, ""])
def test_what_is_no_key_is_told_so(call: Call, acts: Path, key: str) -> None:
    answer = call("effect", key, "--ledger", acts, "--json")
    assert (answer.code, answer.error["code"]) == (64, "invalid_input")
    assert "64 hexadecimal digits" in answer.error["message"]


def test_a_key_that_nothing_was_intended_under_is_not_found(call: Call, acts: Path) -> None:
    answer = call("effect", "0" * 64, "--ledger", acts, "--json")
    assert (answer.code, answer.error["code"], answer.error["data"]) == (
        3,
        "effect_not_found",
        {"key": "0" * 64},
    )
    assert "intent-ledger effects" in answer.error["message"]
