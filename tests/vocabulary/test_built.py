"""What a value says that is built and malformed: the ledger's own error, with the path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, ValidationError

from ledger.commands import CloseRun, MoveCursor
from ledger.errors import InvalidInput, LedgerError
from ledger.events import GoalRevised
from ledger.values import Actor, Limits, Predicate, Rule, Source, Step


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (lambda: Actor("nokind"), "id"),
        (lambda: Actor(""), "id"),
        (Actor, "id"),
        (lambda: Actor("human:kim", role=""), "role"),
        (lambda: Source("pol icy:", "x"), "kind"),
        (lambda: Source("policy", ""), "name"),
        (lambda: Limits(steps=-1), "steps"),
        (lambda: Step(name=""), "name"),
        (lambda: Step(name="a", rests_on=("assumption:a", "b")), "rests_on[1]"),
        (lambda: Rule(deny=("",)), "deny[0]"),
        (lambda: Rule(require=({"operator": "le", "path": "x"},)), "require[0].path"),  # type: ignore[arg-type]
        (lambda: Predicate(operator="present", path="", value="1"), "$"),  # type: ignore[arg-type]
        (lambda: GoalRevised(text="", reason="r", by="human:kim"), "text"),
        (lambda: MoveCursor(node="n", round=-1), "round"),
    ],
)
def test_what_is_built_malformed_is_invalid_input_with_the_path(make: Callable[[], Any], path: str) -> None:
    with pytest.raises(LedgerError) as refused:
        make()
    assert isinstance(refused.value, InvalidInput)
    assert refused.value.path == path
    assert str(refused.value) == f"{path}: {refused.value.reason}"
    assert "pydantic" not in str(refused.value)


class _Host(BaseModel):
    limits: Limits
    actor: Annotated[str, AfterValidator(lambda text: Actor(text).id)]


def test_inside_another_model_all_faults_are_collected() -> None:
    with pytest.raises(ValidationError) as caught:
        _Host.model_validate({"limits": {"steps": -1, "effects": 0}, "actor": "nokind"})
    assert [fault["loc"] for fault in caught.value.errors()] == [
        ("limits", "effects"),
        ("limits", "steps"),
        ("actor",),
    ]
    assert isinstance(caught.value.errors()[-1]["ctx"]["error"], InvalidInput)


@pytest.mark.parametrize(
    ("field", "hint"),
    [
        ("i", "known are about, branches, "),
        ("nod", "did you mean node?"),
    ],
)
def test_a_field_there_is_not_is_told_with_those_there_are(field: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        MoveCursor(**{"node": "n", field: 1})  # type: ignore[arg-type]
    assert refused.value.path == field
    assert refused.value.reason.startswith("no such field; " + hint)


def test_a_field_there_is_not_deeper_inside_is_told_with_its_path() -> None:
    with pytest.raises(InvalidInput) as refused:
        Rule(require=({"operator": "absent", "path": "", "foo": 1},))  # type: ignore[arg-type]
    assert (refused.value.path, refused.value.reason) == ("require[0].foo", "no such field")


def test_choices_are_told_as_they_are_written() -> None:
    with pytest.raises(InvalidInput) as refused:
        CloseRun(outcome="done")  # type: ignore[arg-type]
    assert refused.value.reason == "Input should be 'completed', 'failed', 'cancelled' or 'abandoned'"
