"""Replaying short transcripts: what is said and done, what is told of it, and where it stops."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ledger import Actor, Happened, Ledger, NotHappened, Tool, current_effect, open_ledger, tool
from ledger.adapters.transcripts import (
    Repeat,
    ReplayedRun,
    ReplayReport,
    Tools,
    Wanted,
    import_transcripts,
    replay_transcripts,
)
from ledger.errors import InvalidInput
from ledger.events import ConstraintAccepted, EffectFailed, EffectSucceeded, MessageRecorded, RunOpened
from ledger.testing import Clock
from tests.adapters.transcripts.conversation import (
    TOOLS,
    Message,
    answers,
    calls,
    events,
    line,
    names,
    system,
    user,
)

PAY = {"order": 17}


class Shop:
    """An outside that does as a test says."""

    def __init__(self) -> None:
        self.called: list[tuple[str, Any]] = []
        self.answers: dict[str, Callable[[], Any]] = {}
        self.found: Any = NotHappened()

    def tools(self) -> list[Tool]:
        def find(key: str, args: Any) -> Any:
            return self.found

        def look(**args: Any) -> Any:
            return self._call("look", args)

        def pay(order: int) -> Any:
            return self._call("pay", {"order": order})

        def mail(**args: Any) -> Any:
            return self._call("mail", args)

        return [
            tool(recovery="read_only", fresh_for=60)(look),
            tool(recovery="queryable", probe=lambda key, args: self.found, definite_errors=(LookupError,))(
                pay
            ),
            tool(mail),
        ]

    def _call(self, name: str, args: Any) -> Any:
        self.called.append((name, args))
        return self.answers[name]()

    def says(self, name: str, value: Any) -> None:
        self.answers[name] = lambda: value

    def raises(self, name: str, error: Exception) -> None:
        def fail() -> None:
            raise error

        self.answers[name] = fail


@pytest.fixture
def shop() -> Shop:
    shop = Shop()
    shop.says("look", "seen")
    shop.says("pay", "paid")
    shop.says("mail", "sent")
    return shop


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(clock: Clock) -> Iterator[Ledger]:
    with open_ledger(":memory:", clock=clock, actor=Actor("service:replayer")) as ledger:
        yield ledger


def chat(*messages: Message, id: str = "c1") -> str:
    return line(id, [system(), user("Pay my order"), *messages])


def replay(ledger: Ledger, shop: Shop, *lines: str, **wanted: Any) -> ReplayReport:
    return replay_transcripts(ledger, lines, outside=shop.tools(), tools=TOOLS, wanted=Wanted(**wanted))


def only(report: ReplayReport) -> ReplayedRun:
    [row] = report.rows
    return row


PAID = chat(calls("look"), answers("seen"), calls("pay", PAY), answers("paid"))


# --- what is said and done -------------------------------------------------------------------------


def test_a_replay_is_a_run_that_says_what_the_transcript_says_and_makes_its_calls(
    ledger: Ledger, shop: Shop
) -> None:
    row = only(replay(ledger, shop, PAID))
    assert (row.verdict, row.transcript, row.run, row.line) == ("replayed", "c1", "c1", 1)
    assert [(call.number, call.message, call.tool, call.came) for call in row.calls] == [
        (1, 3, "look", "read"),
        (2, 5, "pay", "done"),
    ]
    assert all(call.as_recorded and not call.before for call in row.calls)
    assert shop.called == [("look", {}), ("pay", PAY)]
    told = events(ledger, "c1")
    assert isinstance(told[0], RunOpened)
    assert (told[0].goal, dict(told[0].labels or {})) == ("Pay my order", {"replayed-from": "lines"})
    contents = [
        json.loads(ledger.blob(str(event.content.digest)))
        for event in told
        if isinstance(event, MessageRecorded)
    ]
    assert contents == json.loads(PAID)["messages"]
    [effect] = [event for event in told if isinstance(event, EffectSucceeded)]
    assert effect.key == row.calls[1].key
    assert names(ledger, "c1")[-3:] == ["effect.started", "effect.succeeded", "message.recorded"]


def test_its_rules_are_those_that_an_import_would_accept(ledger: Ledger, shop: Shop) -> None:
    replay(ledger, shop, PAID)
    import_transcripts(ledger, [PAID.replace('"c1"', '"c2"')], tools=TOOLS)
    replayed, imported = (
        [event for event in events(ledger, run) if isinstance(event, ConstraintAccepted)]
        for run in ("c1", "c2")
    )
    assert replayed == imported
    assert len(replayed) == 2
    assert all(event.published for event in replayed)


def test_the_same_replay_again_calls_nothing_and_adds_nothing(
    ledger: Ledger, shop: Shop, clock: Clock
) -> None:
    first = only(replay(ledger, shop, PAID))
    end, called = ledger.store.end(), list(shop.called)
    clock.tick(3600)  # what was read is stale, and was said all the same
    again = only(replay(ledger, shop, PAID))
    assert (ledger.store.end(), shop.called) == (end, called)
    assert all(call.before for call in again.calls)
    assert [call.answer for call in again.calls] == [call.answer for call in first.calls]


def test_a_transcript_that_has_grown_is_replayed_from_where_it_ended(ledger: Ledger, shop: Shop) -> None:
    row = only(replay(ledger, shop, chat(calls("look"), answers("seen"), calls("pay", PAY))))
    assert (row.verdict, row.calls[1].recorded, row.calls[1].answer) == ("replayed", None, "paid")
    grown = chat(
        calls("look"), answers("seen"), calls("pay", PAY), answers("paid"), calls("mail"), answers("sent")
    )
    row = only(replay(ledger, shop, grown))
    assert [call.before for call in row.calls] == [True, True, False]
    assert [name for name, _ in shop.called] == ["look", "pay", "mail"]


def test_what_is_read_twice_is_asked_twice(ledger: Ledger, shop: Shop) -> None:
    seen = iter(["first", "second"])
    shop.answers["look"] = lambda: next(seen)
    row = only(replay(ledger, shop, chat(calls("look"), answers("first"), calls("look"), answers("second"))))
    assert [(call.answer, call.as_recorded) for call in row.calls] == [("first", True), ("second", True)]


def test_an_outside_that_answers_otherwise_is_told_and_its_answer_is_what_was_said(
    ledger: Ledger, shop: Shop
) -> None:
    shop.says("pay", {"paid": "10.00", "fee": 1})
    report = replay(ledger, shop, PAID)
    assert report.otherwise == 1
    call = only(report).calls[1]
    assert (call.as_recorded, call.recorded, call.answer) == (False, "paid", '{"fee":1,"paid":"10.00"}')
    last = events(ledger, "c1")[-1]
    assert isinstance(last, MessageRecorded)
    assert json.loads(ledger.blob(str(last.content.digest))) == answers(call.answer)


def test_json_in_another_spelling_is_the_same_answer(ledger: Ledger, shop: Shop) -> None:
    shop.says("pay", {"a": 1, "b": [2.0]})
    row = only(replay(ledger, shop, chat(calls("pay", PAY), answers('{"b": [2], "a": 1}'))))
    assert row.calls[0].as_recorded


def test_what_is_no_json_is_named(ledger: Ledger, shop: Shop) -> None:
    shop.says("pay", object())
    for before in (False, True):
        call = only(replay(ledger, shop, PAID)).calls[1]
        assert (call.answer, call.before) == ("[a object, which is no JSON]", before)


def test_a_secret_in_an_answer_is_kept_out_of_the_message_too(ledger: Ledger, shop: Shop) -> None:
    secret = "sk_live_" + "a1B2c3D4" * 4
    shop.says("pay", f"token {secret}")
    row = only(replay(ledger, shop, PAID))
    assert secret not in row.calls[1].answer
    last = events(ledger, "c1")[-1]
    assert isinstance(last, MessageRecorded)
    assert secret not in ledger.blob(str(last.content.digest)).decode()


def test_a_call_whose_arguments_are_no_object_is_not_made(ledger: Ledger, shop: Shop) -> None:
    row = only(replay(ledger, shop, chat(calls("pay", "{broken"), answers("Error: no JSON"))))
    assert (row.verdict, row.calls[0].came, row.calls[0].answer) == (
        "replayed",
        "not_called",
        "Error: no JSON",
    )
    assert not shop.called


# --- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("raised", [False, True])
def test_a_refusal_is_a_definite_failure_and_an_answer_that_is_not_asked_for_twice(
    ledger: Ledger, shop: Shop, raised: bool
) -> None:
    if raised:
        shop.raises("pay", LookupError("Error: declined"))
    else:
        shop.says("pay", "Error: declined")
    refused = chat(calls("pay", PAY), answers("Error: declined"))
    for before in (False, True):
        call = only(replay(ledger, shop, refused)).calls[0]
        assert (call.came, call.answer, call.as_recorded, call.before) == (
            "refused",
            "Error: declined",
            True,
            before,
        )
    assert len(shop.called) == 1
    [failed] = [event for event in events(ledger, "c1") if isinstance(event, EffectFailed)]
    assert failed.key == call.key


def test_what_was_refused_may_be_called_again_by_the_transcript(ledger: Ledger, shop: Shop) -> None:
    said = iter(["Error: declined", "paid"])
    shop.answers["pay"] = lambda: next(said)
    two = chat(calls("pay", PAY), answers("Error: declined"), calls("pay", PAY), answers("paid"))
    row = only(replay(ledger, shop, two))
    assert [call.came for call in row.calls] == ["refused", "done"]


def test_a_reader_that_is_refused_has_seen_nothing(ledger: Ledger, shop: Shop) -> None:
    tools = Tools.parse('{"tools": {"look": {"recovery": "read_only", "failed_if": "^Error"}}}')
    shop.says("look", "Error: not found")
    lines = [chat(calls("look"), answers("Error: not found"))]
    for before in (False, True):
        row = only(replay_transcripts(ledger, lines, outside=shop.tools(), tools=tools))
        assert [(call.came, call.before) for call in row.calls] == [("refused", before)]
    assert "observation.recorded" not in names(ledger, "c1")


# --- where it stops --------------------------------------------------------------------------------


def test_a_repeat_stops_it_and_names_the_first_until_somebody_says_that_it_is_meant(
    ledger: Ledger, shop: Shop
) -> None:
    twice = chat(
        calls("pay", PAY), answers("paid"), calls("mail"), answers("sent"), calls("pay", PAY), answers("paid")
    )
    row = only(replay(ledger, shop, twice))
    assert (row.verdict, row.code, row.call, row.tool) == ("stopped", "possible_repeat", 3, "pay")
    assert (row.first, row.first_key) == (1, row.calls[0].key)
    wrong = only(replay(ledger, shop, twice, only=["c1"], repeats={3: Repeat(undone_by=3)}))
    assert (wrong.code, wrong.call) == ("invalid_input", 3)
    unknown = only(replay(ledger, shop, twice, only=["c1"], repeats={3: Repeat(undone_by="0" * 64)}))
    assert (unknown.code, unknown.call) == ("not_open", 3)
    none = only(replay(ledger, shop, twice, only=["c1"], repeats={9: Repeat("because")}))
    assert (none.verdict, none.code) == ("stopped", "invalid_input")
    assert [name for name, _ in shop.called] == ["pay", "mail"]
    row = only(replay(ledger, shop, twice, only=["c1"], repeats={3: Repeat(reason="two orders")}))
    assert row.verdict == "replayed"
    assert [name for name, _ in shop.called] == ["pay", "mail", "pay"]
    assert only(replay(ledger, shop, twice)).verdict == "replayed"


def test_what_was_said_of_a_repeat_is_remembered_where_its_call_has_to_be_made_again(
    ledger: Ledger, shop: Shop, clock: Clock
) -> None:
    pays = [calls("pay", PAY), answers("paid")]
    twice = chat(*pays, *pays)
    assert only(replay(ledger, shop, twice)).code == "possible_repeat"
    shop.raises("pay", OSError("line cut"))
    said = {2: Repeat(reason="two orders")}
    assert only(replay(ledger, shop, twice, only=["c1"], repeats=said)).code == "outcome_unknown"
    shop.says("pay", "paid")
    clock.tick(61)
    row = only(replay(ledger, shop, twice))
    assert (row.verdict, [call.before for call in row.calls]) == ("replayed", [True, False])


def test_a_call_of_which_nobody_knows_stops_it_until_a_person_settles_it(ledger: Ledger, shop: Shop) -> None:
    shop.raises("mail", OSError("line cut"))
    mailed = chat(calls("mail"), answers("sent"), calls("pay", PAY), answers("paid"))
    for _ in range(2):
        row = only(replay(ledger, shop, mailed))
        assert (row.verdict, row.code, row.call, row.retry_after) == ("unknown", "outcome_unknown", 1, None)
    assert row.key is not None
    ledger.settle(row.key, happened=True, evidence="in the mailbox", by="human:kim", result="sent")
    row = only(replay(ledger, shop, mailed))
    assert (row.verdict, [call.before for call in row.calls]) == ("replayed", [True, False])
    assert [name for name, _ in shop.called] == ["mail", "pay"]


@pytest.mark.parametrize("found", [Happened("paid"), NotHappened()])
def test_an_outside_that_can_be_asked_is_asked_before_a_call_is_made_again(
    ledger: Ledger, shop: Shop, clock: Clock, found: Any
) -> None:
    shop.raises("pay", OSError("line cut"))
    row = only(replay(ledger, shop, PAID))
    assert (row.verdict, row.code, row.retry_after) == ("unknown", "outcome_unknown", 30.0)
    shop.says("pay", "paid")
    clock.tick(61)
    shop.found = found
    row = only(replay(ledger, shop, PAID))
    assert (row.verdict, row.calls[1].before) == ("replayed", found != NotHappened())
    assert len(shop.called) == (3 if found == NotHappened() else 2)


def test_a_call_that_another_worker_is_making_is_waited_for_or_told(ledger: Ledger, shop: Shop) -> None:
    def meanwhile() -> str:
        row = only(replay(ledger, shop, PAID))
        assert (row.verdict, row.code, row.key) == ("unknown", "effect_in_flight", current_effect().key)
        return "paid"

    shop.answers["pay"] = meanwhile
    assert only(replay(ledger, shop, PAID)).verdict == "replayed"


def test_a_reader_that_raises_stops_it_and_is_asked_again(ledger: Ledger, shop: Shop) -> None:
    shop.raises("look", OSError("line cut"))
    row = only(replay(ledger, shop, PAID))
    assert (row.verdict, row.code, row.call) == ("stopped", "read_failed", 1)
    assert "OSError: line cut" in str(row.problem)
    shop.says("look", "seen")
    assert only(replay(ledger, shop, PAID)).verdict == "replayed"


def test_a_tool_that_nobody_offers_stops_it_before_anything_is_done(ledger: Ledger, shop: Shop) -> None:
    row = only(replay(ledger, shop, chat(calls("pay", PAY), answers("paid"), calls("fax"), answers("sent"))))
    assert (row.verdict, row.code, row.call, row.tool) == ("stopped", "no_tool", 2, "fax")
    assert not shop.called
    assert not ledger.runs().runs


def test_arguments_that_do_not_fit_stop_it(ledger: Ledger, shop: Shop) -> None:
    row = only(replay(ledger, shop, chat(calls("pay", {"order": "x"}), answers("paid"))))
    assert (row.verdict, row.code, row.call) == ("stopped", "invalid_input", 1)


def test_a_secret_in_arguments_stops_it(ledger: Ledger, shop: Shop) -> None:
    args = {"to": "sk_live_" + "a1B2c3D4" * 4}
    row = only(replay(ledger, shop, chat(calls("mail", args), answers("sent"))))
    assert (row.verdict, row.code, row.call) == ("stopped", "secret_found", 1)


def test_a_rule_that_is_withdrawn_meanwhile_stops_it(ledger: Ledger, shop: Shop) -> None:
    begun = chat(calls("look"), answers("seen"))
    replay(ledger, shop, begun)
    [source] = ledger.sources()
    [first, *_] = ledger.contract("c1").constraints
    ledger.source(source).withdraw(first.id, reason="gone", by="human:kim")
    row = only(replay(ledger, shop, PAID))
    assert (row.verdict, row.code, row.call) == ("stopped", "contract_changed", 2)
    assert ("pay", PAY) not in shop.called


@pytest.mark.parametrize(
    "other",
    [
        line("c1", [system(), user("Pay my order"), calls("look", {"at": 1}), answers("seen")]),
        line("c1", [system(), user("Something else"), calls("look"), answers("seen")]),
    ],
)
def test_another_transcript_under_the_same_id_is_not_mixed_with_the_first(
    ledger: Ledger, shop: Shop, other: str
) -> None:
    replay(ledger, shop, PAID)
    called = list(shop.called)
    row = only(replay(ledger, shop, other))
    assert (row.verdict, row.code) == ("stopped", "diverges")
    assert shop.called == called
    assert only(replay(ledger, shop, other, only=["c1"], run="c1-again")).verdict == "replayed"


def test_a_run_that_was_not_opened_by_a_replay_is_let_be(ledger: Ledger, shop: Shop) -> None:
    import_transcripts(ledger, [PAID], tools=TOOLS)
    end = ledger.store.end()
    row = only(replay(ledger, shop, PAID))
    assert (row.verdict, row.code) == ("stopped", "not_a_replay")
    assert (ledger.store.end(), shop.called) == (end, [])


def test_a_closed_run_is_not_gone_on_with(ledger: Ledger, shop: Shop) -> None:
    replay(ledger, shop, chat(calls("look"), answers("seen")))
    ledger.run("c1").close("cancelled", reason="enough")
    row = only(replay(ledger, shop, PAID))
    assert (row.verdict, row.code) == ("stopped", "run_is_closed")
    assert ("pay", PAY) not in shop.called


# --- files and declarations ------------------------------------------------------------------------


def test_a_transcript_that_stops_or_is_broken_spares_the_others(ledger: Ledger, shop: Shop) -> None:
    fax = chat(calls("fax"), answers("sent"), id="c2")
    report = replay(ledger, shop, "{broken", fax, line("c3", [system()]), PAID)
    assert [(row.line, row.verdict, row.transcript) for row in report.rows] == [
        (1, "broken", None),
        (2, "stopped", "c2"),
        (3, "broken", "c3"),
        (4, "replayed", "c1"),
    ]
    assert report.counts == {"replayed": 1, "stopped": 1, "unknown": 0, "broken": 2}


def test_only_what_is_named_is_replayed(ledger: Ledger, shop: Shop) -> None:
    lines = [chat(calls("mail"), answers("sent"), id=id) for id in ("a", "b", "c")]
    report = replay(ledger, shop, "{broken", *lines, only=["a", "c"])
    assert [row.transcript for row in report.rows] == ["a", "c"]
    with pytest.raises(InvalidInput, match="'d'"):
        replay(ledger, shop, *lines, only=["d"])


@pytest.mark.parametrize(
    "wanted", [{"run": "r"}, {"repeats": {1: Repeat("why")}}, {"run": "r", "only": "ab"}]
)
def test_what_is_of_one_transcript_names_it(wanted: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Wanted(**wanted)


def test_each_call_is_told_when_it_has_come_to_something(ledger: Ledger, shop: Shop) -> None:
    told: list[str] = []
    replay_transcripts(
        ledger,
        [PAID],
        outside=shop.tools(),
        tools=TOOLS,
        told=lambda call: told.append(f"{call.tool} after {len(shop.called)}"),
    )
    assert told == ["look after 1", "pay after 2"]


async def _awaited() -> None:
    """Be awaited."""


@pytest.mark.parametrize(
    ("declared", "outside"),
    [
        ('{"pay": {"recovery": "at_most_once"}}', Shop().tools()),
        ('{"pay": {"recovery": "queryable"}}', [tool(name="pay")(lambda: None)]),
        ("{}", [*Shop().tools(), *Shop().tools()]),
        ("{}", [Tool("pay", None)]),
        ("{}", [tool(_awaited)]),
    ],
)
def test_declarations_that_contradict_each_other_are_refused(
    ledger: Ledger, declared: str, outside: list[Tool]
) -> None:
    with pytest.raises(InvalidInput):
        replay_transcripts(ledger, [PAID], outside=outside, tools=Tools.parse(f'{{"tools": {declared}}}'))
    assert not ledger.runs().runs


def test_the_tools_file_classifies_a_tool_that_the_outside_does_not(ledger: Ledger, shop: Shop) -> None:
    tools = Tools.parse('{"tools": {"mail": {"recovery": "read_only", "fresh_for": 5}}}')
    lines = [chat(calls("mail"), answers("sent"))]
    row = only(replay_transcripts(ledger, lines, outside=shop.tools(), tools=tools))
    assert row.calls[0].came == "read"
