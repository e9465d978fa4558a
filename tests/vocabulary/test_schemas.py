"""The published schemas say what the models do: every event and command is an instance of them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from ledger.adapters.schemas import DIALECT, command_schemas, event_schemas
from ledger.commands import COMMAND_CLASSES, Command
from ledger.events import EVENT_CLASSES, Event
from tests.record.records import fields_of, row_of
from tests.strategies import command, event
from tests.vocabulary.json_schema import faults, resolve

EVENTS, COMMANDS = event_schemas(), command_schemas()
BOTH = pytest.mark.parametrize("document", [EVENTS, COMMANDS], ids=["events", "commands"])
EACH = settings(max_examples=max(10, settings().max_examples // 5))


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for inner in schema.values():
            yield from nodes(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from nodes(inner)


def member(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Find the one member of a name."""
    (found,) = (one for one in document["oneOf"] if one["properties"]["name"]["const"] == name)
    assert isinstance(found, dict)
    return found


@BOTH
def test_a_document_is_json_and_names_its_dialect(document: dict[str, Any]) -> None:
    assert json.loads(json.dumps(document)) == document
    assert document["$schema"] == DIALECT
    assert document["title"]
    assert document["description"]


def test_every_event_and_command_has_its_member() -> None:
    for document, kinds in ((EVENTS, EVENT_CLASSES), (COMMANDS, COMMAND_CLASSES)):
        constants = [one["properties"] for one in document["oneOf"]]
        stated = [(one["name"]["const"], one["version"]["const"]) for one in constants]
        assert stated == [(kind.name, kind.version) for kind in kinds]


@BOTH
def test_every_reference_leads_somewhere_and_nothing_lies_about(document: dict[str, Any]) -> None:
    named = {node["$ref"].removeprefix("#/$defs/") for node in nodes(document) if "$ref" in node}
    assert named == set(document["$defs"])


@BOTH
def test_every_member_and_every_object_says_what_it_is(document: dict[str, Any]) -> None:
    for one in (*document["oneOf"], *document["$defs"].values()):
        assert one.get("description"), one.get("title")
    for definition in document["$defs"].values():
        if definition.get("type") == "object":
            assert definition["additionalProperties"] is False


@BOTH
def test_only_keywords_of_the_standard_are_used(document: dict[str, Any]) -> None:
    list(faults({}, document, document))
    for definition in document["$defs"].values():
        list(faults({}, definition, document))


def test_null_stands_in_no_event() -> None:
    for node in nodes(EVENTS):
        assert node.get("type") != "null"
        assert node.get("default", "") is not None


@pytest.mark.parametrize("kind", EVENT_CLASSES, ids=lambda kind: kind.name)
@EACH
@given(data=st.data())
def test_every_record_is_an_instance(kind: type[Event], data: st.DataObject) -> None:
    record = fields_of(row_of(data.draw(event(kind))))
    assert not list(faults(record, member(EVENTS, kind.name), EVENTS))


@pytest.mark.parametrize("kind", COMMAND_CLASSES, ids=lambda kind: kind.name)
@EACH
@given(data=st.data())
def test_every_command_is_an_instance(kind: type[Command], data: st.DataObject) -> None:
    said = data.draw(command(kind))
    for written in (said.model_dump(mode="json"), said.model_dump(mode="json", exclude_defaults=True)):
        instance = {"name": kind.name, "version": kind.version, "data": written}
        assert not list(faults(instance, member(COMMANDS, kind.name), COMMANDS))


@pytest.mark.parametrize("kind", [*EVENT_CLASSES, *COMMAND_CLASSES], ids=lambda kind: kind.name)
def test_what_a_schema_refuses_the_model_refuses(kind: type[Event] | type[Command]) -> None:
    document = EVENTS if issubclass(kind, Event) else COMMANDS
    schema = resolve(member(document, kind.name)["properties"]["data"]["$ref"], document)
    instances: list[Any] = [{"no_such_field": 1}, [], None, "text"]
    for broken in (*instances, *({name: 3.5} for name in schema["properties"])):
        assert list(faults(broken, schema, document))
        with pytest.raises(ValidationError):
            kind.model_validate(broken)


def test_exactly_one_member_matches() -> None:
    record = fields_of(row_of(EVENT_CLASSES[0].model_validate({"goal": "x"})))
    assert not list(faults(record, EVENTS, EVENTS))
    assert list(faults({**record, "name": "weather.changed"}, EVENTS, EVENTS))
    assert list(faults({**record, "version": EVENT_CLASSES[0].version + 1}, EVENTS, EVENTS))


def test_ids_say_what_they_begin_with() -> None:
    opened = EVENTS["$defs"]["RunOpened"]["properties"]
    assert opened["owner"]["pattern"] == "^[a-z][a-z0-9_.-]*:."
    assert opened["rests_on"]["items"]["maxLength"] == len("observation:") + 200
    assert (
        EVENTS["$defs"]["AuthorityGranted"]["properties"]["principal"]["pattern"]
        == "^(human|agent|service):."
    )


def test_commands_say_what_they_are() -> None:
    found = {one["properties"]["name"]["const"]: one for one in COMMANDS["oneOf"]}
    assert found["run.resume"]["x-not-for-agents"] == {"take_over": True}
    assert found["constraint.accept"]["x-not-for-agents"] == {"change": "relaxed"}
    assert found["run.restart"]["x-not-for-agents"] == "always"
    assert found["run.open"]["x-not-for-agents"] == "never"
    assert found["effect.report_success"]["x-report"] is True
    assert found["source.publish"]["x-stream"] == "source"
    assert found["obligation.waive"]["x-remedy"] is True


def test_a_field_is_described_in_the_words_below_it() -> None:
    events, commands = event_schemas()["$defs"], command_schemas()["$defs"]
    assert events["RunResumed"]["properties"]["gap_seconds"]["description"].startswith("Time since")
    assert events["Payload"]["properties"]["size"]["description"] == "Bytes of the content behind `digest`."
    assert "subjects" in commands["MoveCursor"]["properties"]["about"]["description"]
