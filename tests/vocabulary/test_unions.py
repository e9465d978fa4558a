"""The unions of events and commands are closed, and their shape is what makes a record canonical."""

import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from pydantic import BaseModel, TypeAdapter, ValidationError

from ledger import commands as commands_module
from ledger import events as events_module
from ledger.canonical import MAX_INTEGER
from ledger.codec import encode
from ledger.commands import COMMAND_CLASSES, COMMANDS, Command, forbidden_to_agents
from ledger.errors import InvalidInput
from ledger.events import EVENT_CLASSES, EVENTS, Event, RunOpened
from ledger.record import Envelope
from ledger.run.contract import Constraint
from ledger.values import Actor, Value
from tests.strategies import COMPLETE, NOON, events
from tests.vocabulary.models import MODELS, STORED

NAME = re.compile(r"[a-z]+\.[a-z]+(_[a-z]+)*")

ENVELOPE = Envelope("default", "r", 1, bytes(32), "e", NOON, Actor("human:kim"))


def declared(module: Any, base: type[Value]) -> set[type[Value]]:
    return {
        kind
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, base) and kind is not base and kind.__module__ == module.__name__
    }


def test_every_event_and_command_is_registered() -> None:
    assert declared(events_module, Event) == set(EVENT_CLASSES)
    assert declared(commands_module, Command) == set(COMMAND_CLASSES)


def test_names_are_unique_dotted_and_stated_by_each_class() -> None:
    for kinds, registry in ((EVENT_CLASSES, len(EVENTS)), (COMMAND_CLASSES, len(COMMANDS))):
        assert registry == len(kinds)
        for kind in kinds:
            assert "name" in vars(kind)
            assert NAME.fullmatch(kind.name), kind.name
            assert kind.version >= 1


def test_an_event_and_a_command_never_share_a_name() -> None:
    assert not {kind.name for kind in EVENT_CLASSES} & set(COMMANDS)


def test_every_class_and_its_fields_say_something_in_the_docs() -> None:
    for kind in (*EVENT_CLASSES, *COMMAND_CLASSES):
        doc = inspect.getdoc(kind)
        assert doc is not None
        assert doc.split("\n")[0].rstrip().endswith(".")


@pytest.mark.parametrize("kind", STORED)
def test_fields_stand_in_alphabetical_order(kind: type[BaseModel]) -> None:
    assert list(kind.model_fields) == sorted(kind.model_fields)
    assert all(field.isascii() for field in kind.model_fields)


@pytest.mark.parametrize("kind", MODELS)
def test_no_field_has_an_alias_or_is_left_out(kind: type[BaseModel]) -> None:
    for field in kind.model_fields.values():
        assert field.alias is None
        assert field.serialization_alias is None
        assert not field.exclude


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for inner in schema.values():
            yield from nodes(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from nodes(inner)


@pytest.mark.parametrize("kind", MODELS)
def test_every_whole_number_is_one_that_json_readers_keep(kind: type[BaseModel]) -> None:
    for node in nodes(TypeAdapter(kind).json_schema()):
        if node.get("type") == "integer":
            assert node["maximum"] <= MAX_INTEGER
            assert node["minimum"] >= -MAX_INTEGER
        assert node.get("type") != "number", "floats have no place in a record"


def with_each_text(value: Any, put: Any) -> Iterator[Any]:
    """Yield the value once for each text in it, with that text replaced."""
    if isinstance(value, str):
        yield put
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield {**{k: v for k, v in value.items() if k != key}, put: inner}
            yield from ({**value, key: changed} for changed in with_each_text(inner, put))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from (
                [*value[:index], changed, *value[index + 1 :]] for changed in with_each_text(inner, put)
            )


@given(events(COMPLETE))
def test_a_lone_surrogate_is_refused_wherever_text_stands(event: Event) -> None:
    data = json.loads(event.model_dump_json(exclude_none=True))
    for changed in with_each_text(data, "a\ud800"):
        with pytest.raises(ValidationError):
            type(event).model_validate(changed)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("attempt", "1"),
        ("attempt", 1.0),
        ("attempt", True),
        ("attempt", 0),
        ("attempt", 2**53),
        ("key", b"a" * 64),
    ],
)
def test_numbers_and_texts_are_not_guessed(field: str, value: object) -> None:
    fields = {"attempt": 1, "key": "a" * 64, field: value}
    with pytest.raises(ValidationError):
        events_module.EffectSucceeded.model_validate(fields)


@pytest.mark.parametrize("value", ["no", "false", 0, 1, "true"])
def test_flags_are_not_guessed(value: object) -> None:
    with pytest.raises(ValidationError):
        commands_module.ResumeRun.model_validate({"take_over": value})


def test_an_event_that_no_reader_knows_is_not_written() -> None:
    class Rumour(Event):
        name = "rumour.heard"

    class Twin(RunOpened):
        pass

    for event in (Rumour(), Twin(goal="x")):
        with pytest.raises(InvalidInput) as caught:
            encode(event, ENVELOPE)
        assert caught.value.path == "event"
    assert issubclass(Constraint, events_module.ConstraintAccepted)
    assert Constraint not in EVENTS.values()


AGENTS_MAY_NOT = {
    "run.restart",
    "constraint.withdraw",
    "obligation.waive",
    "obligation.transfer",
    "authority.grant",
    "authority.narrow",
    "authority.renew",
    "approval.answer",
    "runtime.adopt",
    "source.open",
    "source.publish",
    "source.withdraw",
    "review.sign",
    "state.drop",
}


def test_what_agents_may_never_do_is_stated_on_the_commands() -> None:
    always = {
        kind.name for kind in COMMAND_CLASSES if kind.not_for_agents is not None and not kind.not_for_agents
    }
    assert always == AGENTS_MAY_NOT


def test_what_agents_may_not_do_in_one_way_names_fields_that_exist() -> None:
    for kind in COMMAND_CLASSES:
        assert set(kind.not_for_agents or ()) <= set(kind.model_fields)
    assert forbidden_to_agents(commands_module.ResumeRun(take_over=True))
    assert not forbidden_to_agents(commands_module.ResumeRun())


def test_a_report_needs_no_remedy_mark() -> None:
    assert not [kind.name for kind in COMMAND_CLASSES if kind.report and kind.remedy]
