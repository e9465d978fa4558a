"""Values come back as what they were, or are told apart from what they are not."""

from __future__ import annotations

from enum import Enum, IntEnum, StrEnum
from typing import Any

import pytest

from ledger import Ledger, Published
from ledger.commands import CloseRun, Command, MakeAssumption, MoveCursor, OpenObligation
from ledger.errors import InvalidInput, UndecodableRecord
from ledger.events import AssumptionMade, RunOpened, SourceRevised
from ledger.testing import Clock
from tests.stores.builder import shown


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Word(StrEnum):
    YES = "yes"


class Grams(float):
    """A number with a meaning of its own."""


# What JSON would turn into something else without a word.
CONVERTED: list[Any] = [
    (1, 2),
    [1, (2, 3)],
    {1: "a"},
    {None: "a"},
    {True: "a"},
    {"1": "a", 1: "b"},
    Colour.RED,
    Level.HIGH,
    Word.YES,
    {Word.YES: 1},
    Grams(1.5),
    {"a": float("nan")},
    {1, 2},
    b"bytes",
]


@pytest.mark.parametrize("value", CONVERTED, ids=repr)
def test_what_json_would_convert_is_refused_in_a_request(ledger: Ledger, value: Any) -> None:
    """Case-090, case-107: nothing comes back as a list, a text or a bare value that was none."""
    run = ledger.open_run("r", "goal")
    with pytest.raises(InvalidInput) as refused:
        run.close("completed", result=value)
    assert refused.value.path.startswith("result")
    assert run.contract.position == 1


@pytest.mark.parametrize("value", CONVERTED, ids=repr)
def test_what_json_would_convert_is_reported_by_its_type(ledger: Ledger, clock: Clock, value: Any) -> None:
    """Case-107: a report is kept, and says that it could not carry the value itself."""
    run = ledger.open_run("r", "goal")
    run.observe("k", value, tool="stock", observed_at=clock.now)
    kept = run.contract.observations[0].value
    assert kept.json_text is None
    assert kept.type == type(value).__name__


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -7, 1.5, "", "1", [], {}, [1, [None, {"a": [False]}]], {"1": {"é": "\U0001f600"}}],
)
def test_what_json_has_comes_back_as_it_was(ledger: Ledger, clock: Clock, value: Any) -> None:
    """Case-107, case-152: with its type, not only its words."""
    run = ledger.open_run("r", "goal")
    run.observe("k", value, tool="stock", observed_at=clock.now)
    run.move("n", needs=("observation:k",))
    found = run.load().results["observation:k"]
    assert found == value
    assert type(found) is type(value)


def test_a_large_result_is_stored_whole_and_read_back(ledger: Ledger, clock: Clock) -> None:
    """Case-157, case-158: what can be written can be read."""
    value = ["x" * 1_000_000, "y" * 1_000_000]
    run = ledger.open_run("r", "goal")
    run.observe("k", value, tool="stock", observed_at=clock.now)
    run.move("n", needs=("observation:k",))
    assert run.load().results == {"observation:k": value}


def test_a_text_beyond_its_limit_is_refused_when_it_is_written(ledger: Ledger) -> None:
    """Case-158: the refusal names the field and the limit, and the run is as it was."""
    run = ledger.open_run("r", "goal")
    with pytest.raises(InvalidInput) as refused:
        run.accept("limit", "x" * 90_000_000, asserted_by="human:kim")
    assert refused.value.path == "text"
    limit = 65_536
    assert str(limit) in refused.value.data["reason"].replace(",", "")
    run.accept("limit", "x" * limit, asserted_by="human:kim")
    assert len(ledger.contract("r").constraints[0].text) == limit


def test_what_makes_no_run_is_never_stored(ledger: Ledger) -> None:
    """Not even the half of it that would: facts are not refused, but have to be a history."""
    run = ledger.open_run("r", "goal")
    made, opened = AssumptionMade(id="a", text="in stock"), RunOpened(goal="another")
    revised = SourceRevised(revision="1", added=(Published(id="limit", text="100 EUR"),))
    for name, events, expected in (
        ("r", (made, opened), 1),
        ("r", (made, revised), 1),
        ("r", (opened,), 1),
        ("new", (made,), 0),
        ("new", (opened, opened), 0),
    ):
        with pytest.raises(UndecodableRecord):
            ledger.import_events(name, events, expected=expected)
    shown(ledger.store)
    assert [(record.run, record.name) for record in ledger.follow()] == [("r", "run.opened")]
    assert run.assume("a", "in stock").position == 2


def put_together(kind: type[Command], **fields: Any) -> Command:
    """Make a model as pydantic allows it: without looking at what is in it."""
    return kind.model_construct(**fields)


@pytest.mark.parametrize(
    "unchecked",
    [
        MakeAssumption(id="a", text="x").model_copy(update={"id": ""}),
        put_together(MakeAssumption, id=7, text="x"),
        put_together(MoveCursor, node="\0"),
        put_together(CloseRun, outcome="victory"),
        put_together(OpenObligation, id="o", text="x", owed_to="nobody in particular"),
    ],
)
def test_what_no_reader_could_read_is_never_stored(ledger: Ledger, unchecked: Command) -> None:
    """Case-150: a model that was put together without being checked is checked before it is stored."""
    run = ledger.open_run("r", "goal")
    with pytest.raises(InvalidInput) as refused:
        run.do(unchecked)
    assert refused.value.path.startswith("data.")
    event = AssumptionMade(id="a", text="x").model_copy(update={"id": ""})
    with pytest.raises(InvalidInput):
        ledger.import_events("r", [event], expected=1)
    assert ledger.contract("r").position == 1
    assert run.assume("a", "x").position == 2
