"""Actors and sources take their main fields by place, and say what is missing as any model does."""

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from pydantic import ValidationError

from ledger.errors import InvalidInput
from ledger.events import ConstraintAccepted
from ledger.values import Actor, Source, explain
from tests.strategies import actors


def test_fields_may_be_given_by_place_or_by_name() -> None:
    assert Actor("agent:refunds", session="s-1") == Actor(id="agent:refunds", session="s-1")
    assert Source("policy", "refunds", revision="4") == Source(kind="policy", name="refunds", revision="4")
    assert Source("policy", "refunds").stream == "policy:refunds"
    assert Actor("service:billing").kind == "service"


@pytest.mark.parametrize(
    ("kind", "given_by_place", "fields"),
    [
        (Actor, ("agent:a", "s-1"), {}),
        (Actor, ("agent:a",), {"id": "agent:b"}),
        (Source, ("policy", "refunds", "4"), {}),
        (Source, ("policy",), {"kind": "policy", "name": "x"}),
    ],
)
def test_fields_given_twice_or_in_excess_are_a_type_error(
    kind: Any, given_by_place: tuple[str, ...], fields: dict[str, str]
) -> None:
    with pytest.raises(TypeError):
        kind(*given_by_place, **fields)


@pytest.mark.parametrize(
    ("kind", "given_by_place", "fields"),
    [(Actor, (), {}), (Source, ("policy",), {}), (Actor, ("agent:a",), {"team": "x"})],
)
def test_a_missing_or_unknown_field_is_refused(
    kind: Any, given_by_place: tuple[str, ...], fields: dict[str, str]
) -> None:
    with pytest.raises(InvalidInput):
        kind(*given_by_place, **fields)


@pytest.mark.parametrize("kind", [Actor, Source])
@pytest.mark.parametrize("data", [{}, {"self": 1}, {"id": None}, {"kind": 1, "name": 2}, [], "agent:a", None])
def test_any_data_that_is_not_one_is_a_validation_error(kind: Any, data: object) -> None:
    with pytest.raises(ValidationError):
        kind.model_validate(data)


def test_a_fault_inside_a_source_is_named_with_its_path() -> None:
    data = {"accepted_by": "human:kim", "asserted_by": "human:kim", "id": "a", "text": "t"}
    with pytest.raises(ValidationError) as caught:
        ConstraintAccepted.model_validate({**data, "source": {"kind": "policy"}})
    error = explain(caught.value, root="data")
    assert error.path == "data.source.name"
    assert str(error) == f"data.source.name: {error.reason}"


@given(actors())
def test_an_actor_can_be_copied_and_sent_to_another_process(actor: Actor) -> None:
    for again in (copy.deepcopy(actor), pickle.loads(pickle.dumps(actor)), actor.model_copy()):
        assert again == actor
        assert hash(again) == hash(actor)
    assert Actor.model_validate_json(actor.model_dump_json()) == actor
