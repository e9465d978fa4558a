"""Which events a transcript tells."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import Recovery, Source
from ledger.adapters.transcripts.documents import read_document
from ledger.adapters.transcripts.facts import Facts, facts_of
from ledger.adapters.transcripts.tools import Tools
from ledger.canonical import canonical_text
from ledger.errors import InvalidInput
from ledger.events import (
    ConstraintAccepted,
    EffectFailed,
    EffectIntended,
    EffectSucceeded,
    Event,
    MessageRecorded,
    ObservationRecorded,
    RunOpened,
)
from ledger.record import MAX_RECORD_BYTES
from ledger.run.keys import act_key, effect_key
from ledger.values import ErrorSaid, Payload
from tests.adapters.transcripts.conversation import (
    POLICY,
    TOOLS,
    Message,
    answers,
    calls,
    says,
    system,
    user,
)


def tell(*messages: Any, tools: Tools = TOOLS) -> Facts:
    return facts_of(
        messages, run="r", tenant="t", tools=tools, labels={"a": "b"}, accepted_by="service:importer"
    )


def told(*messages: Any, tools: Tools = TOOLS) -> list[Event]:
    return [fact.event for fact in tell(*messages, tools=tools).told]


def done(*messages: Any, tools: Tools = TOOLS) -> list[Event]:
    """Tell what stands beside the opening and the messages themselves."""
    return [e for e in told(*messages, tools=tools) if not isinstance(e, RunOpened | MessageRecorded)]


def refusal(*messages: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as raised:
        tell(*messages)
    return raised.value


# --- messages ----------------------------------------------------------------------------------


def test_a_run_opens_with_the_first_words_of_the_user_as_its_goal() -> None:
    first = told(system("be kind"), user(" \n"), says("Hello"), user("Refund 17"), user("Now"))[0]
    assert first == RunOpened(goal="Refund 17", labels={"a": "b"})


@pytest.mark.parametrize("messages", [[], [system()], [user("")], [says("hi")], [{"role": "user"}]])
def test_without_words_of_a_user_there_is_no_goal(messages: list[Message]) -> None:
    assert "no goal" in refusal(*messages).reason


def test_every_message_is_recorded_whole_under_its_number() -> None:
    messages = [user("hi"), {**says("ho"), "refusal": None, "x": [1, {"b": 1, "a": 2}]}]
    facts = tell(*messages).told[1:]
    assert [fact.message for fact in facts] == [1, 2]
    for number, (fact, message) in enumerate(zip(facts, messages, strict=True), 1):
        content = canonical_text(message).encode()
        digest = hashlib.sha256(content)
        assert fact.event == MessageRecorded(
            content=Payload(digest=digest.hexdigest(), size=len(content)),
            id=str(number),
            role=message["role"],
        )
        assert [(blob.digest, blob.kind, blob.content) for blob in fact.blobs] == [
            (digest.digest(), "message", content)
        ]


def test_newer_and_older_names_of_roles_are_read_as_the_ledgers_own() -> None:
    messages = [
        {"role": "developer", "content": POLICY},
        user("go"),
        {"role": "assistant", "function_call": {"name": "pay", "arguments": "{}"}},
        {"role": "function", "name": "pay", "content": "ok"},
    ]
    events = told(*messages)
    roles = [event.role for event in events if isinstance(event, MessageRecorded)]
    assert roles == ["system", "user", "assistant", "tool"]
    assert sum(isinstance(event, ConstraintAccepted) for event in events) == 2
    assert isinstance(events[-1], EffectSucceeded)


@pytest.mark.parametrize("role", ["ledger", "System", "critic", None, 7, ["user"], {}])
def test_a_role_nobody_knows_is_refused_with_the_number_of_its_message(role: object) -> None:
    error = refusal(user("go"), {"role": role, "content": "x"})
    assert (error.path, error.data["message"]) == ("messages[1].role", 2)


def test_a_message_that_is_no_object_is_refused() -> None:
    for message in ("hi", None, 3, ["user", "hi"]):
        assert refusal(user("go"), message).path == "messages[1]"


def test_a_goal_too_long_for_an_event_is_cut_where_it_says_so() -> None:
    for words in ("x" * 70_000, "\x00" * 60_000, "𝄞" * 65_000):
        facts = tell(says("Hello"), user(words))
        opened = facts.told[0].event
        assert isinstance(opened, RunOpened)
        assert opened.goal == words[:20_000] + "\n[cut here; message 2 holds all of it]"
        assert json.loads(facts.told[2].blobs[0].content)["content"] == words
    fitting = told(user("y" * 65_536))[0]
    assert isinstance(fitting, RunOpened)
    assert fitting.goal == "y" * 65_536


# --- documents ---------------------------------------------------------------------------------


def test_each_item_of_the_system_message_is_accepted_from_the_document_it_stands_in() -> None:
    document = read_document(POLICY)
    assert done(system(), user("go")) == [
        ConstraintAccepted(
            accepted_by="service:importer",
            asserted_by=document.source,
            id=constraint.id,
            source=Source("document", document.name, revision=document.revision),
            text=constraint.text,
        )
        for constraint in document.constraints
    ]
    assert tell(system(), user("go")).documents == {document.source: document}


def test_a_system_message_without_items_yields_no_source() -> None:
    assert tell(system("Be kind."), user("go")).documents == {}


def test_each_text_of_a_system_message_is_a_document_of_its_own() -> None:
    parts = [{"type": "text", "text": POLICY}, {"type": "text", "text": "- Today is Monday."}]
    facts = tell({"role": "system", "content": parts}, user("go"))
    assert list(facts.documents) == [read_document(POLICY).source, read_document("- Today is Monday.").source]


def test_what_two_documents_say_alike_is_accepted_once() -> None:
    longer = POLICY + "- Be brief.\n"
    accepted = list(done(system(), user("go"), system(), system(longer), system(longer)))
    assert [event.text for event in accepted if isinstance(event, ConstraintAccepted)] == [
        "Ask first.",
        "Never guess.",
        "Be brief.",
    ]
    assert len(tell(system(), user("go"), system(longer)).documents) == 2


def test_constraints_larger_than_a_revision_are_refused() -> None:
    many = "\n".join(f"- {number} {'x' * 1_000}" for number in range(300))
    error = refusal(user("go"), system(many))
    assert (error.path, error.data["message"]) == ("messages[1].content", 2)
    assert refusal(system(f"- {'x' * 70_000}"), user("go")).path == "messages[0].content"


# --- calls -------------------------------------------------------------------------------------


def test_a_call_that_may_change_something_is_an_intended_effect_and_its_result_the_outcome() -> None:
    args = canonical_text({"to": "a", "n": 1})
    key = effect_key("t", "r", None, "pay", "1", args)
    assert done(user("go"), calls("pay", '{"to": "a", "n": 1.0}'), answers("paid")) == [
        EffectIntended(
            act=act_key("t", "r", "pay", args),
            args=args,
            key=key,
            key_scheme="v1",
            occurrence="1",
            recovery=Recovery.QUERYABLE,
            tool="pay",
            witnessed=False,
        ),
        EffectSucceeded(attempt=1, key=key, result=Payload(json_text='"paid"')),
    ]


def test_a_tool_nobody_declared_is_taken_for_one_that_changes_something() -> None:
    intended = done(user("go"), calls("look"), tools=Tools(tools={}))[0]
    assert isinstance(intended, EffectIntended)
    assert intended.recovery is Recovery.AT_MOST_ONCE


def test_what_is_declared_of_a_tool_stands_in_its_effects() -> None:
    tools = Tools.parse('{"tools": {"pay": {"recovery": "idempotent", "dedupes_for": 9}}}')
    intended = done(user("go"), calls("pay"), tools=tools)[0]
    assert isinstance(intended, EffectIntended)
    assert (intended.recovery, intended.dedupes_for) == (Recovery.IDEMPOTENT, 9)


def test_a_result_that_is_declared_a_refusal_is_a_failure() -> None:
    intended, failed = done(user("go"), calls("pay"), answers("Error: no money"))
    assert isinstance(intended, EffectIntended)
    error = ErrorSaid(message="Error: no money", type="failed_if")
    assert failed == EffectFailed(attempt=1, error=error, key=intended.key)


def test_a_refusal_is_found_in_the_words_of_a_result_in_parts() -> None:
    parts = [{"type": "text", "text": "Err"}, {"type": "text", "text": "or: no"}]
    assert isinstance(done(user("go"), calls("pay"), answers(parts))[1], EffectFailed)


def test_equal_calls_are_told_apart_by_their_occurrence_and_share_the_act() -> None:
    again = [calls("pay", {"n": 1}), answers("Error"), calls("pay", '{ "n":1 }'), answers("paid")]
    events = done(user("go"), *again, calls("pay", {"n": 2}))
    intended = [event for event in events if isinstance(event, EffectIntended)]
    assert [event.occurrence for event in intended] == ["1", "2", "1"]
    assert intended[0].act == intended[1].act != intended[2].act
    assert len({event.key for event in intended}) == 3


def test_a_read_is_an_observation_once_it_is_answered() -> None:
    assert done(user("go"), calls("look", {"at": "x"})) == []
    digest = hashlib.sha256(b'{"at":"x"}').hexdigest()
    assert done(user("go"), calls("look", {"at": "x"}), answers("seen")) == [
        ObservationRecorded(
            args_digest=digest,
            fresh_for=60,
            key=f"look:{digest[:32]}",
            occurrence="1",
            tool="look",
            value=Payload(json_text='"seen"'),
            witnessed=False,
        )
    ]


def test_the_same_read_has_the_same_key_and_another_occurrence() -> None:
    look = [calls("look", {"at": "x"}), answers("1"), calls("look", '{"at":"x"}'), answers("2")]
    first, second = done(user("go"), *look)
    assert isinstance(first, ObservationRecorded)
    assert isinstance(second, ObservationRecorded)
    assert first.key == second.key
    assert (first.occurrence, second.occurrence) == ("1", "2")


def test_a_read_that_is_declared_failed_saw_nothing() -> None:
    tools = Tools.parse('{"tools": {"look": {"recovery": "read_only", "failed_if": "^Error"}}}')
    assert done(user("go"), calls("look"), answers("Error: none"), tools=tools) == []


def test_the_longest_name_of_a_tool_still_yields_a_key_that_can_be_referred_to() -> None:
    name = "t" * 200
    tools = Tools.parse(json.dumps({"tools": {name: {"recovery": "read_only"}}}))
    seen = done(user("go"), calls(name), answers("x"), tools=tools)[0]
    assert isinstance(seen, ObservationRecorded)
    assert len(f"observation:{seen.key}") <= 200


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json",
        "{",
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        "9" * 30,
        '"\\ud800"',
        "[" * 80 + "]" * 80,
        "1e999",
    ],
)
def test_arguments_that_are_no_json_are_carried_as_the_text_they_are(text: str) -> None:
    intended = done(user("go"), calls("pay", text))[0]
    assert isinstance(intended, EffectIntended)
    assert json.loads(intended.args) == text


def test_arguments_recorded_as_json_are_the_same_as_their_text() -> None:
    call = calls("pay", {"n": 1})
    call["tool_calls"][0]["function"]["arguments"] = {"n": 1}
    assert done(user("go"), call) == done(user("go"), calls("pay", {"n": 1}))


def test_a_custom_tool_has_free_text_for_arguments() -> None:
    call = {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "mail", "input": "Dear…"}}],
    }
    intended = done(user("go"), call, answers("sent", id="c"))[0]
    assert isinstance(intended, EffectIntended)
    assert intended.args == '"Dear…"'


@pytest.mark.parametrize(
    "call",
    [
        {"role": "assistant", "tool_calls": {"name": "pay"}},
        {"role": "assistant", "tool_calls": ["pay"]},
        {"role": "assistant", "tool_calls": [{"id": "c"}]},
        {"role": "assistant", "tool_calls": [{"id": 1, "function": {"name": "pay"}}]},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"arguments": "{}"}}]},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": ""}}]},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "a\x00b"}}]},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "x" * 201}}]},
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "magic", "function": {"name": "pay"}}]},
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "custom"}]},
        {"role": "assistant", "function_call": "pay"},
        calls("pay", "x" * MAX_RECORD_BYTES),
        {"role": "tool", "content": "x"},
        {"role": "tool", "tool_call_id": 5, "content": "x"},
        {"role": "user", "content": "\ud800"},
        {"role": "user", "content": float("nan")},
    ],
)
def test_a_malformed_message_is_refused_with_its_number(call: Message) -> None:
    error = refusal(user("go"), says("ok"), call)
    assert error.data["message"] == 3
    assert str(error).startswith("message 3")


# --- results -----------------------------------------------------------------------------------


def outcomes(*messages: Any) -> dict[str, Any]:
    """List what became of the calls of `pay`, by the arguments they had."""
    events = done(*messages)
    args = {event.key: event.args for event in events if isinstance(event, EffectIntended)}
    found = {}
    for event in events:
        if isinstance(event, EffectSucceeded) and event.result and event.result.json_text:
            found[args[event.key]] = json.loads(event.result.json_text)
    return found


def test_an_id_that_comes_again_belongs_to_the_oldest_call_that_waits() -> None:
    first, second = calls("pay", "1", id="x"), calls("pay", "2", id="x")
    assert outcomes(user("go"), first, answers("a", id="x"), second, answers("b", id="x")) == {
        "1": "a",
        "2": "b",
    }
    assert outcomes(user("go"), first, second, answers("a", id="x"), answers("b", id="x")) == {
        "1": "a",
        "2": "b",
    }


def test_a_result_that_names_its_tool_goes_to_a_call_of_that_tool() -> None:
    both = [calls("mail", "1", id="x"), calls("pay", "2", id="x")]
    assert outcomes(user("go"), *both, {**answers("b", id="x"), "name": "pay"}) == {"2": "b"}
    # A name that no call has tells nothing: the id decides.
    assert outcomes(user("go"), *both, {**answers("b", id="x"), "name": "desk"}) == {"1": "b"}


def test_results_of_parallel_calls_may_come_in_any_order() -> None:
    one, two = calls("pay", "1", id="x"), calls("pay", "2", id="y")
    both = {**one, "tool_calls": one["tool_calls"] + two["tool_calls"]}
    assert outcomes(user("go"), both, answers("b", id="y"), answers("a", id="x")) == {"1": "a", "2": "b"}


def test_calls_without_ids_are_answered_by_the_name_of_their_tool() -> None:
    bare = {"role": "assistant", "tool_calls": [{"function": {"name": "pay", "arguments": "1"}}]}
    assert outcomes(user("go"), bare, {"role": "tool", "name": "pay", "content": "a"}) == {"1": "a"}


@pytest.mark.parametrize(
    "messages",
    [
        [answers("x")],
        [calls("pay"), answers("x"), answers("y")],
        [calls("pay", id="other"), answers("x")],
        [calls("look"), answers("x"), answers("x")],
        [calls("pay"), {"role": "function", "name": "pay", "content": "x"}],
    ],
)
def test_a_result_without_a_call_is_refused_with_its_number(messages: Sequence[Message]) -> None:
    error = refusal(user("go"), *messages)
    assert error.data["message"] == len(messages) + 1
    assert "no call" in error.reason


@pytest.mark.parametrize("content", [None, "", "x", 7, {"a": [1]}, [{"type": "text", "text": "x"}]])
def test_a_result_is_carried_as_it_is(content: Any) -> None:
    succeeded = done(user("go"), calls("pay"), answers(content))[1]
    assert isinstance(succeeded, EffectSucceeded)
    assert succeeded.result is not None
    assert succeeded.result.json_text == canonical_text(content)


@pytest.mark.parametrize("tool", ["pay", "look"])
def test_a_large_result_becomes_a_blob(tool: str) -> None:
    text = "é" * 300_000
    fact = tell(user("go"), calls(tool), answers(text)).told[-1]
    content = canonical_text(text).encode()
    payload = fact.event.value if isinstance(fact.event, ObservationRecorded) else fact.event.result  # type: ignore[attr-defined]
    assert payload == Payload(digest=hashlib.sha256(content).hexdigest(), size=len(content))
    assert [blob.content for blob in fact.blobs] == [content]


def test_a_failure_with_more_words_than_an_event_holds_is_cut_where_it_says_so() -> None:
    failed = done(user("go"), calls("pay"), answers("Error" + "\x01" * 70_000))[1]
    assert isinstance(failed, EffectFailed)
    assert failed.error.message.endswith("[cut here; message 3 holds all of it]")


def test_calls_without_a_result_are_listed_in_their_order() -> None:
    facts = tell(
        user("go"), calls("pay", "1", id="x"), calls("look"), calls("pay", "2"), answers("ok", id="x")
    )
    intended = [fact.event for fact in facts.told if isinstance(fact.event, EffectIntended)]
    assert facts.unanswered == (intended[1].key,)


TALK = st.lists(
    st.sampled_from(
        [
            user("more"),
            says("ok"),
            system("# B\n- z\n"),
            calls("pay", {"n": 1}),
            calls("pay", {"n": 2}, id="call_2"),
            calls("look", {"n": 1}),
            answers("done"),
            answers("Error", id="call_2"),
        ]
    ),
    max_size=14,
)


@given(TALK, st.data())
def test_the_facts_of_a_beginning_are_the_beginning_of_the_facts(
    talk: list[Message], data: st.DataObject
) -> None:
    messages = [system(), user("go"), *talk]
    try:
        whole = tell(*messages)
    except InvalidInput as error:
        # What is wrong with a transcript is wrong from the message on that the refusal names.
        number = error.data["message"]
        assert tell(*messages[: number - 1]).messages == number - 1
        return
    cut = data.draw(st.integers(2, len(messages)))
    beginning = tell(*messages[:cut])
    assert beginning.told == whole.told[: len(beginning.told)]
    assert all(fact.message > cut for fact in whole.told[len(beginning.told) :])
