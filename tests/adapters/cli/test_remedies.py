"""The short names, `accept`, `acknowledge` and `do`: saying something to a run from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger import Actor, Runtime, Step, open_ledger
from ledger.adapters.cli.do import ELSEWHERE
from ledger.adapters.cli.field_words import FIELD_WORDS
from ledger.adapters.cli.fields import fields_of
from ledger.adapters.cli.remedies import REMEDIES
from ledger.commands import COMMANDS
from ledger.run.decide import RULES
from tests.adapters.cli.command import Answer
from tests.adapters.cli.conftest import Call
from tests.adapters.cli.ledgers import KIM
from tests.adapters.cli.stops import make

BY = ("--by", "human:kim")
WHY = ("--reason", "seen")
SAID_HERE = [kind.name for kind in RULES if kind.name not in ELSEWHERE]


@pytest.fixture
def say(call: Call, good: Path) -> Call:
    """Return the command on a ledger of its own."""

    def said(*arguments: str) -> Answer:
        return call(*arguments, "--ledger", good)

    return said


# --- do ----------------------------------------------------------------------------------------------


def test_every_command_that_a_run_takes_is_here_or_said_to_be_elsewhere(call: Call) -> None:
    listed = call("do", "--help").out.partition("\nCommands:\n")[2]
    names = [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "]
    assert names == [name for name in COMMANDS if name in SAID_HERE]
    assert set(ELSEWHERE) <= set(COMMANDS)


@pytest.mark.parametrize("name", SAID_HERE)
def test_each_has_an_option_for_each_of_its_fields(call: Call, name: str) -> None:
    answer = call("do", name, "--help")
    assert answer.code == 0
    for field in COMMANDS[name].model_fields:
        assert f"--{field.replace('_', '-')} " in answer.out
    assert all(field.words for field in fields_of(name)), "each says what it is"


def test_words_are_kept_for_fields_that_there_are() -> None:
    there = {field.name for name in SAID_HERE for field in fields_of(name)}
    assert set(FIELD_WORDS) <= there


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_what_is_elsewhere_is_said_to_be(say: Call, name: str) -> None:
    answer = say("do", name, "refund-17")
    assert answer.code == 64
    assert f"{name} is not said here: {ELSEWHERE[name]}" in answer.err


def test_a_name_that_is_none_is_a_usage_error(say: Call) -> None:
    assert say("do", "goal.dream", "refund-17").code == 64
    assert say("do", "source.publish", "refund-17").code == 64


def test_texts_lists_objects_payloads_numbers_and_flags_are_read(say: Call, good: Path) -> None:
    moved = ("--node", "pay", "--round", "3", "--next", "tell", "--next", "close", "--retries", '{"pay": 2}')
    assert say("do", "cursor.move", "refund-17", *moved).code == 0
    saw = (
        "--key",
        "k",
        "--tool",
        "t",
        "--observed-at",
        "2026-01-31T09:00:00Z",
        "--value",
        '{"b": 1, "a": []}',
    )
    more = ("--cost", "EUR=0.10", "--cost", "USD=2", "--fresh-for", "60", "--runtime", "model=m")
    assert say("do", "observation.record", "refund-17", *saw, *more).code == 0
    plan = ("--steps", '{"name": "x", "tool": "y"}', "--steps", '{"name": "z"}')
    assert say("do", "plan.revise", "refund-17", *plan, *WHY).code == 0
    with open_ledger(good) as ledger:
        contract = ledger.contract("refund-17")
    cursor, seen, steps = contract.cursor, contract.observations[-1], contract.plan
    assert cursor is not None
    assert (cursor.node, cursor.round, cursor.next, cursor.retries) == (
        "pay",
        3,
        ("tell", "close"),
        {"pay": 2},
    )
    assert seen.value.json_text == '{"a":[],"b":1}'
    assert {unit: str(amount) for unit, amount in (seen.cost or {}).items()} == {"EUR": "0.10", "USD": "2"}
    assert (seen.fresh_for, seen.runtime) == (60, Runtime(model="m"))
    assert steps is not None
    assert steps.steps == (Step(name="x", tool="y"), Step(name="z"))


def test_the_document_holds_what_was_recorded(say: Call) -> None:
    said = ("--id", "tell", "--reason", "told by telephone", *BY)
    document = say("do", "obligation.waive", "refund-17", *said, "--json").document
    assert (document["run"], document["position"], document["repeated"]) == ("refund-17", 12, False)
    (event,) = document["events"]
    assert (event["name"], event["data"]["reason"]) == ("obligation.waived", "told by telephone")


def test_what_is_for_people_is_refused_to_agents(say: Call) -> None:
    said = ("do", "obligation.waive", "refund-17", "--id", "tell", *WHY, "--json")
    for asks in (("--by", "agent:x"), (*BY, "--actor", "agent:x")):
        answer = say(*said, *asks)
        assert (answer.code, answer.error["code"]) == (4, "not_for_agents")
        assert answer.error["message"].startswith(
            "obligation.waive is for people and services, not for agent:x"
        )


def test_what_is_no_remedy_is_refused_on_a_stopped_run(say: Call) -> None:
    answer = say("do", "cursor.move", "other", "--node", "x", "--json")
    assert (answer.code, answer.error["code"]) == (4, "run_is_held")


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (("cursor.move", "--node", "x", "--round", "many"), "--round"),
        (("obligation.open", "--id", "x", "--text", "y", "--owed-to", "human:kim", "--due", "noon"), "--due"),
        (("cursor.move", "--node", "x", "--retries", "{"), "--retries"),
        (("cursor.move", "--node", "x", "--branches", "x"), "--branches"),
        (("cursor.move", "--node", "x", "--budget-left", "EUR"), "--budget-left"),
        (("cursor.move", "--node", "x", "--budget-left", "EUR=1", "--budget-left", "EUR=2"), "--budget-left"),
        (("message.record", "--id", "m", "--role", "user", "--content", "hello"), "--content"),
        (("goal.revise", "--text", "x", "--by", "kim", "--reason", "y"), "by"),
    ],
)
def test_what_is_malformed_is_told_where(
    say: Call, good: Path, arguments: tuple[str, ...], path: str
) -> None:
    name, *rest = arguments
    answer = say("do", name, "refund-17", *rest, "--json")
    assert (answer.code, answer.error["data"]["path"]) == (64, path)
    with open_ledger(good) as ledger:
        assert ledger.contract("refund-17").position == 11


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("cursor.move", "--node", "x", "--round", "-1"), "--round: -1 is less than 0"),
        (("cursor.move", "--node", "x", "--round", "1.5"), "--round: '1.5' is no whole number"),
        (
            ("message.record", "--id", "m", "--role", "boss", "--content", "1"),
            "--role: 'boss' is none of assistant, ledger, system, tool, user",
        ),
    ],
)
def test_what_may_be_given_is_told_in_the_words_of_the_command_line(
    say: Call, arguments: tuple[str, ...], words: str
) -> None:
    name, *rest = arguments
    assert say("do", name, "refund-17", *rest).err == f"intent-ledger: {words}\n"


@pytest.mark.parametrize("due", ["2026-01-31T09:00:00", "tomorrow", "0001-01-01T00:00+23:00"])
def test_a_time_is_asked_for_in_the_words_of_the_command_line(say: Call, due: str) -> None:
    said = ("obligation.open", "refund-17", "--id", "x", "--text", "y", "--owed-to", "human:kim")
    answer = say("do", *said, "--due", due)
    assert answer.err == f"intent-ledger: --due: {due!r} is no time with a zone, as 2026-01-31T09:15:00Z\n"
    assert "--due TIME " in say("do", "obligation.open", "--help").out


# --- short names -------------------------------------------------------------------------------------


def test_every_short_name_says_a_command_that_there_is() -> None:
    for remedy in REMEDIES.values():
        fields = COMMANDS[remedy.saying.command].model_fields
        named = (
            *remedy.saying.positional,
            *remedy.saying.left_out,
            *remedy.saying.names,
            *remedy.saying.found,
        )
        assert set(named) <= set(fields)


def test_a_goal_is_confirmed_as_it_is_or_revised(say: Call, good: Path) -> None:
    say("revise-goal", "refund-17", "--reason", "still wanted", *BY)
    with open_ledger(good) as ledger:
        goal = ledger.contract("refund-17").goal
    assert (goal.text, goal.reason, goal.revision) == (
        "Refund order 17, tell the customer",
        "still wanted",
        3,
    )
    say("revise-goal", "refund-17", "--text", "Do nothing", *WHY, *BY)
    with open_ledger(good) as ledger:
        assert ledger.contract("refund-17").goal.text == "Do nothing"


def test_a_confirmed_goal_rests_on_what_it_rested_on(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "goal.db"
    make(path, "goal_refuted")
    call("revise-goal", "r", *WHY, *BY, "--ledger", path)
    with open_ledger(path) as ledger:
        assert ledger.contract("r").goal.rests_on == ("assumption:a",)


def test_steps_that_are_named_stay_what_they_are(say: Call, good: Path) -> None:
    say("revise-plan", "refund-17", "--step", "look-up", "--step", '{"name": "pay", "tool": "bank"}', *WHY)
    with open_ledger(good) as ledger:
        plan = ledger.contract("refund-17").plan
    assert plan is not None
    assert plan.steps == (Step(name="look-up", tool="get_order"), Step(name="pay", tool="bank"))


def test_a_grant_is_given_renewed_and_revoked(say: Call, good: Path) -> None:
    given = ("--principal", "agent:x", "--scope", "pay", "--scope", "mail.*", "--budget", "EUR=10")
    assert say("grant", "refund-17", "g", *given, "--granted-by", "human:kim").code == 0
    assert say("renew", "refund-17", "g", "--add-budget", "EUR=5.00", *BY).code == 0
    with open_ledger(good) as ledger:
        grant = ledger.contract("refund-17").grants[-1]
    assert (grant.id, grant.scopes, str((grant.budget or {})["EUR"])) == ("g", ("pay", "mail.*"), "15.00")
    assert say("revoke", "refund-17", "g", *WHY, *BY).code == 0
    with open_ledger(good) as ledger:
        assert [grant.id for grant in ledger.contract("refund-17").grants] == ["till-noon"]


def test_a_narrower_grant_takes_the_place_of_one(say: Call, good: Path) -> None:
    given = ("--principal", "agent:x", "--scope", "pay", "--scope", "mail.*", "--budget", "EUR=10")
    assert say("grant", "refund-17", "g", *given, "--granted-by", "human:kim").code == 0
    less = ("--as", "less", "--scope", "mail.send", "--budget", "EUR=2.50", *WHY, *BY)
    answer = say("narrow", "refund-17", "g", *less, "--json")
    assert [event["name"] for event in answer.document["events"]] == [
        "authority.revoked",
        "authority.granted",
    ]
    assert say("narrow", "refund-17", "g", *less, "--json").document["repeated"] is True
    with open_ledger(good) as ledger:
        grant = ledger.contract("refund-17").grants[-1]
    assert (grant.id, grant.scopes, str((grant.budget or {})["EUR"])) == ("less", ("mail.send",), "2.50")
    wider = say("narrow", "refund-17", "less", "--as", "more", "--scope", "*", *WHY, *BY, "--json")
    assert wider.error["code"] == "authority_exceeded"


def test_what_is_no_narrower_is_told_and_the_same_id_is_a_slip(say: Call, good: Path) -> None:
    given = ("--principal", "agent:x", "--scope", "pay", "--granted-by", "human:kim")
    assert say("grant", "refund-17", "g", *given).code == 0
    same = say("narrow", "refund-17", "g", "--as", "g", *WHY, *BY, "--json")
    assert (same.code, same.error["data"]["path"]) == (64, "--as")
    less = say("narrow", "refund-17", "g", "--as", "mail", "--budget", "EUR=5", *WHY, *BY)
    assert "nothing is narrower" not in less.err
    told = say("narrow", "refund-17", "mail", "--as", "again", *WHY, *BY)
    assert told.code == 0
    assert "nothing is narrower: again allows what mail did\n" in told.err


def test_who_ended_a_grant_is_told_to_whoever_ends_it_again(say: Call, good: Path) -> None:
    assert say("revoke", "refund-17", "till-noon", "--reason", "enough", *BY).code == 0
    again = say("revoke", "refund-17", "till-noon", *WHY, *BY, "--json")
    assert (again.code, again.error["code"]) == (4, "not_open")
    assert "it was ended by human:kim at position " in again.error["message"]
    assert again.error["message"].endswith(": enough")


@pytest.mark.parametrize("ends", ["2026-01-31T09:00:00Z", "2020-01-01T00:00:00+02:00"])
def test_a_grant_that_would_have_ended_before_it_began_is_a_slip(say: Call, good: Path, ends: str) -> None:
    given = ("--principal", "agent:x", "--scope", "pay", "--granted-by", "human:kim", "--expires-at", ends)
    for said in (
        ("grant", "refund-17", "g", *given),
        ("renew", "refund-17", "till-noon", "--expires-at", ends, *BY),
        ("do", "authority.grant", "refund-17", "--id", "g", "--scopes", "pay", *given[:2], *given[4:]),
    ):
        answer = say(*said, "--json")
        assert (answer.code, answer.error["data"]["path"]) == (64, "--expires-at")
    with open_ledger(good) as ledger:
        assert ledger.contract("refund-17").position == 11


def test_a_renewal_that_extends_nothing_confirms_the_grant_once(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "grant.db"
    make(path, "authority_on_resume")
    said = ("renew", "r", "g", *BY, "--ledger", path, "--json")
    assert [event["name"] for event in call(*said).document["events"]] == ["authority.renewed"]
    assert call(*said).document["repeated"] is True


def test_an_adopted_runtime_keeps_what_is_not_named(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "runtime.db"
    make(path, "runtime_changed")
    call("adopt-runtime", "r", "--runtime", "model=small-4", *WHY, *BY, "--ledger", path)
    with open_ledger(path) as ledger:
        assert ledger.contract("r").runtime == Runtime(model="small-4", prompt="p-1")


def test_an_assumption_is_refuted(say: Call, good: Path) -> None:
    assert say("refute", "refund-17", "in-stock", "--evidence", "the shelf is empty").code == 0
    with open_ledger(good) as ledger:
        assert all(one.id != "in-stock" or one.refuted for one in ledger.contract("refund-17").assumptions)


# --- sources -----------------------------------------------------------------------------------------


@pytest.fixture
def revised(good: Path) -> Path:
    with open_ledger(good, actor=KIM) as ledger:
        says = {"limit-100": "At most 90 EUR", "tell": "Tell the customer"}
        ledger.source("policy:refunds").publish("5", says, by="human:kim")
    return good


def test_what_the_source_says_now_takes_the_place_of_what_it_said(say: Call, revised: Path) -> None:
    answer = say("accept", "refund-17", "limit-100", "--change", "tightened", *BY)
    assert answer.code == 0, answer.err
    with open_ledger(revised) as ledger:
        constraint = next(c for c in ledger.contract("refund-17").constraints if c.id == "limit-100")
    assert (constraint.text, constraint.change, constraint.published) == ("At most 90 EUR", "tightened", True)
    assert constraint.source is not None
    assert (constraint.source.revision, constraint.accepted_by) == ("5", "human:kim")


def test_what_is_not_in_force_is_accepted_anew(say: Call, revised: Path) -> None:
    assert say("accept", "refund-17", "tell", "--source", "policy:refunds", *BY).code == 0
    with open_ledger(revised) as ledger:
        constraint = ledger.contract("refund-17").constraints[-1]
    assert (constraint.id, constraint.change, constraint.asserted_by) == ("tell", None, "human:kim")


def test_what_comes_from_nowhere_or_is_not_published_is_not_found(say: Call, revised: Path) -> None:
    nowhere = say("accept", "refund-17", "tell", *BY, "--json")
    assert (nowhere.code, nowhere.error["code"]) == (3, "not_found")
    absent = say("accept", "refund-17", "limit-500", *BY, "--json")
    assert (absent.code, absent.error["code"]) == (3, "not_found")
    assert "intent-ledger sources show policy:refunds" in absent.error["message"]


def test_an_agent_does_not_relax(say: Call, revised: Path) -> None:
    with open_ledger(revised, actor=Actor("agent:refunds")) as ledger:
        before = ledger.contract("refund-17").position
    said = ("accept", "refund-17", "limit-100", "--change", "relaxed", "--by", "agent:refunds", "--json")
    answer = say(*said, "--actor", "agent:refunds")
    assert (answer.code, answer.error["code"]) == (4, "not_for_agents")
    with open_ledger(revised) as ledger:
        assert ledger.contract("refund-17").position == before


def test_a_revision_is_acknowledged_and_only_the_one_that_was_read(say: Call, revised: Path) -> None:
    stale = say("acknowledge", "refund-17", "policy:refunds", "--revision", "4", *BY, "--json")
    assert (stale.code, stale.error["code"]) == (4, "contract_changed")
    assert say("acknowledge", "refund-17", "policy:refunds", "--revision", "5", *BY).code == 0
    with open_ledger(revised) as ledger:
        (seen,) = ledger.contract("refund-17").sources
    assert seen.revision == "5"


@pytest.mark.parametrize("source", ["refunds", ":x", "policy:", "Policy:x"])
def test_a_source_that_is_none_is_a_usage_error(say: Call, revised: Path, source: str) -> None:
    assert say("acknowledge", "refund-17", source, *BY).code == 64
    assert say("accept", "refund-17", "tell", "--source", source, *BY).code == 64


# --- what a field takes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        (("document:d",), {"kind": "document", "name": "d"}),
        (("document:d", "revision=4"), {"kind": "document", "name": "d", "revision": "4"}),
        (("mail:kim@shop=1:x",), {"kind": "mail", "name": "kim@shop=1:x"}),
        (("kind=document", "name=d:e"), {"kind": "document", "name": "d:e"}),
        (('{"kind": "document", "name": "d"}',), {"kind": "document", "name": "d"}),
    ],
)
def test_a_source_is_named_as_everywhere_or_by_its_members(
    say: Call, given: tuple[str, ...], pointer: dict[str, str]
) -> None:
    named = [word for one in given for word in ("--source", one)]
    text = ("--id", "c", "--text", "Be polite", "--asserted-by", "human:kim")
    answer = say("do", "constraint.accept", "refund-17", *text, *named, "--json")
    assert answer.code == 0, answer.err
    (event,) = answer.document["events"]
    assert event["data"]["source"] == pointer


def test_who_writes_may_name_a_session(say: Call) -> None:
    text = ("--id", "m", "--role", "user", "--content", '"hi"')
    who = ("--actor", "agent:refunds", "--actor-session", "s-7")
    (event,) = say("do", "message.record", "refund-17", *text, *who, "--json").document["events"]
    assert (event["actor"]["id"], event["actor"]["session"]) == ("agent:refunds", "s-7")
