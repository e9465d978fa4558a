"""What was said cannot be changed: maps, values and events are frozen through and through."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from ledger.commands import COMMAND_CLASSES, Command
from ledger.errors import InvalidInput
from ledger.events import CursorMoved, Event, RunOpened
from ledger.values import FrozenMap
from tests.strategies import COMPLETE, commands, events
from tests.vocabulary.models import MODELS


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.__setitem__("b", 2),
        lambda m: m.__delitem__("a"),
        lambda m: m.clear(),
        lambda m: m.pop("a"),
        lambda m: m.popitem(),
        lambda m: m.setdefault("b", 2),
        lambda m: m.update(b=2),
        lambda m: m.update({"b": 2}),
        lambda m: m.__ior__({"b": 2}),
    ],
)
def test_a_map_of_an_event_refuses_every_change(change: Callable[[Any], object]) -> None:
    members = FrozenMap({"a": 1})
    with pytest.raises(TypeError):
        change(members)
    assert members == {"a": 1}


def test_filling_a_map_again_changes_nothing() -> None:
    members = FrozenMap({"a": 1})
    members.__init__({"b": 2})  # type: ignore[misc]
    assert members == {"a": 1}


def test_a_map_does_not_follow_the_dict_it_was_made_from() -> None:
    given_map = {"a": "1"}
    event = RunOpened(goal="x", labels=given_map)
    given_map["a"] = "2"
    assert event.labels == {"a": "1"}


def test_equal_maps_have_equal_hashes() -> None:
    assert hash(FrozenMap({"a": 1, "b": 2})) == hash(FrozenMap({"b": 2, "a": 1}))
    assert len({RunOpened(goal="x", labels={"a": "b"}), RunOpened(goal="x", labels={"a": "b"})}) == 1


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_map_can_be_copied_and_sent_to_another_process(again: Callable[[Any], Any]) -> None:
    members = FrozenMap({"a": 1, "b": 2})
    found = again(members)
    assert type(found) is FrozenMap
    assert list(found.items()) == [("a", 1), ("b", 2)]
    with pytest.raises(TypeError):
        found["c"] = 3


@given(events(COMPLETE))
def test_an_event_can_be_copied_and_sent_to_another_process(event: Event) -> None:
    for found in (copy.deepcopy(event), pickle.loads(pickle.dumps(event)), event.model_copy()):
        assert found == event
        assert type(found) is type(event)
        assert found.model_dump_json() == event.model_dump_json()


@given(events())
def test_an_event_can_be_a_key(event: Event) -> None:
    assert {event: 1}[copy.deepcopy(event)] == 1


@given(commands())
def test_a_command_can_be_a_key(command: Command) -> None:
    assert {command: 1}[copy.deepcopy(command)] == 1


@given(events(), st.data())
def test_no_field_of_an_event_can_be_set(event: Event, data: st.DataObject) -> None:
    field = data.draw(st.sampled_from(sorted(type(event).model_fields)))
    with pytest.raises(ValidationError):
        setattr(event, field, None)
    with pytest.raises(ValidationError):
        delattr(event, field)


@pytest.mark.parametrize("kind", MODELS)
def test_every_model_is_frozen_and_refuses_unknown_fields(kind: type[BaseModel]) -> None:
    assert kind.model_config.get("frozen") is True
    assert kind.model_config.get("extra") == "forbid"


@pytest.mark.parametrize("kind", COMMAND_CLASSES)
def test_no_class_takes_a_field_it_does_not_name(kind: type[Command]) -> None:
    with pytest.raises(ValidationError) as caught:
        kind.model_validate({"no_such_field": 1})
    assert any(e["type"] == "extra_forbidden" for e in caught.value.errors())


def test_names_of_nodes_may_be_of_any_script() -> None:
    event = CursorMoved(
        node="Pr\u00fcfung", visited={"Pr\u00fcfung": 2, "\U0001f680": 1, "\ufb01n": 1, "a b": 3}
    )
    # RFC 8785 sorts by UTF-16 code units, in which a surrogate pair comes before U+FB01.
    assert list(event.visited or ()) == ["Pr\u00fcfung", "a b", "\U0001f680", "\ufb01n"]


@pytest.mark.parametrize("name", ["", " ", "a\x00", "a\ud800", "x" * 201, "\n"])
def test_names_of_counts_are_ids(name: str) -> None:
    with pytest.raises(InvalidInput):
        CursorMoved(node="n", visited={name: 1})
    with pytest.raises(InvalidInput):
        CursorMoved(node="n", visited={"\u00fc": 1, name: 1})
