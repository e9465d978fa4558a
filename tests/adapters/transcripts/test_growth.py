"""Laws of importing, for transcripts of every kind: growing, shrinking and changing ones."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ledger import Ledger, open_ledger
from ledger.adapters.transcripts import import_transcripts
from ledger.events import EffectUnknown, Event, RunSuspended
from tests.adapters.transcripts.conversation import (
    TOOLS,
    Message,
    answers,
    calls,
    events,
    line,
    meaning,
    says,
    system,
    user,
)

_TOOL = st.sampled_from(["pay", "mail", "look", "search"])
_ARGS = st.sampled_from([{}, {"n": 1}, {"n": 1.5, "to": "é"}, "free text"])
_ID = st.sampled_from(["c1", "c2", ""])
_RESULT: st.SearchStrategy[Any] = st.sampled_from(["done", "Error: no", "", None, {"a": [1]}]) | st.text(
    max_size=5
)
_RULES = st.lists(st.sampled_from(["- a", "- b", "# H", "  - c", "text", ""]), max_size=4).map("\n".join)


@st.composite
def talks(draw: st.DrawFn) -> list[Message]:
    """Draw a transcript in which every result answers a call; ids and calls come again, some stay open."""
    messages = [system(draw(_RULES))] if draw(st.booleans()) else []
    messages.append(user(draw(st.sampled_from(["Go", "Pay 5"]))))
    waiting: list[str] = []
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["user", "says", "system", "call", "call", "answer", "answer"]))
        if kind == "call":
            id = draw(_ID)
            waiting.append(id)
            messages.append(calls(draw(_TOOL), draw(_ARGS), id=id))
        elif kind == "answer" and waiting:
            id = draw(st.sampled_from(waiting))
            waiting.remove(id)
            messages.append(answers(draw(_RESULT), id=id))
        elif kind == "system":
            messages.append(system(draw(_RULES)))
        else:
            messages.append((says if kind == "says" else user)(draw(st.text(max_size=5))))
    return messages


def opening(messages: list[Message]) -> int:
    """Count the messages up to the one that the goal is from: no shorter beginning is a transcript."""
    return next(place for place, one in enumerate(messages, 1) if one["role"] == "user")


def imported(ledger: Ledger, messages: list[Message]) -> str:
    (row,) = import_transcripts(ledger, [line("r", messages)], tools=TOOLS).rows
    return row.verdict


def told(ledger: Ledger) -> list[Event]:
    """List what the transcript itself said, without the marks of the imports."""
    return [event for event in events(ledger, "r") if not isinstance(event, EffectUnknown | RunSuspended)]


@given(talks(), st.data())
def test_any_beginnings_and_then_the_whole_mean_what_the_whole_means(
    talk: list[Message], data: st.DataObject
) -> None:
    cuts = data.draw(st.lists(st.integers(opening(talk), len(talk)), max_size=3))
    with open_ledger(":memory:") as once, open_ledger(":memory:") as grown:
        assert imported(once, talk) == "added"
        for cut in sorted(cuts):
            imported(grown, talk[:cut])
        imported(grown, talk)
        assert meaning(grown.contract("r")) == meaning(once.contract("r"))
        assert told(grown) == told(once)
        assert imported(grown, talk) == imported(once, talk) == "unchanged"


@given(talks(), st.data())
def test_a_beginning_of_what_is_imported_adds_nothing(talk: list[Message], data: st.DataObject) -> None:
    with open_ledger(":memory:") as ledger:
        imported(ledger, talk)
        before = ledger.store.tail(limit=1_000)
        assert imported(ledger, talk[: data.draw(st.integers(opening(talk), len(talk)))]) == "unchanged"
        assert ledger.store.tail(limit=1_000) == before


@given(talks(), st.data())
def test_a_change_of_any_message_is_refused_where_it_is(talk: list[Message], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(talk) - 1))
    changed = [*talk]
    changed[place] = {**talk[place], "extra": "changed"}
    with open_ledger(":memory:") as ledger:
        imported(ledger, talk)
        before = ledger.store.tail(limit=1_000)
        (row,) = import_transcripts(ledger, [line("r", [*changed, user("more")])], tools=TOOLS).rows
        assert (row.verdict, row.code, row.message) == ("refused", "diverges", place + 1)
        assert ledger.store.tail(limit=1_000) == before


@given(talks())
def test_what_is_open_at_the_end_is_what_the_transcript_leaves_open(talk: list[Message]) -> None:
    with open_ledger(":memory:") as ledger:
        imported(ledger, talk)
        contract = ledger.contract("r")
        asked = sum(len(one.get("tool_calls", ())) for one in talk)
        answered = sum(one["role"] == "tool" for one in talk)
        effects = [effect for effect in contract.effects if effect.status == "unknown"]
        assert list(contract.effects) == effects
        assert len(effects) <= asked - answered
        assert (contract.status, contract.tally.messages) == ("suspended", len(talk))
