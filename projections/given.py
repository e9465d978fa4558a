"""What a question was given: checked before it is asked, and looked up where nothing was found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from ledger.stores.read_models import Cell
from ledger.values.times import utc, write_time
from projections.questions.base import Asked, Parameter, Question, refused

_REFERENCE = re.compile(r"[a-z][a-z0-9_.-]*:.+", re.DOTALL)


def is_reference(text: str) -> bool:
    """Tell whether a text is written as `kind:name`."""
    return _REFERENCE.fullmatch(text) is not None


def values_of(question: Question, given: Mapping[str, Any], clock: datetime) -> dict[str, Cell]:
    """Return the values of all parameters of a question, those that were not given as None.

    Args:
        question: what is asked.
        given: its parameters by name.
        clock: the time it is, by the clock of the ledger.

    Raises:
        InvalidInput: a parameter is missing, unknown or malformed, or has a value that there is not.
    """
    known = {one.name for one in question.parameters}
    for name in given:
        if name not in known:
            takes = " ".join(f"{one.name}=…" for one in question.parameters) or "nothing"
            raise refused(name, f"is no parameter of {question.name}, which takes {takes}")
    return {one.name: _value(one, given.get(one.name), clock) for one in question.parameters}


def tell_of_unknown(asked: Asked, parameters: tuple[Parameter, ...]) -> None:
    """Note which values nothing that is recorded has, whatever else was asked for."""
    for one in parameters:
        value = asked.given[one.name]
        if one.known is None or value is None:
            continue
        table, _, column = one.known.column.rpartition(".")
        query = f"SELECT 1 FROM {{{table}}} AS k WHERE k.{column} = :value LIMIT 1"
        if not asked.select(query, value=value):
            asked.note(f"no {one.known.words} {value!r:.80} is recorded")


def _value(parameter: Parameter, value: Any, clock: datetime) -> Cell:
    name = parameter.name
    if value is None:
        if parameter.required:
            raise refused(name, f"is needed: {parameter.about}")
        return None
    if parameter.kind == "time":
        return _time(parameter, value, clock)
    if parameter.kind == "integer":
        if type(value) is not int:
            raise refused(name, f"takes a whole number, not {value!r:.50}")
        return value
    if not isinstance(value, str):
        raise refused(name, f"takes a text, not {value!r:.50}")
    if parameter.kind == "reference" and not is_reference(value):
        raise refused(name, f"takes a reference as kind:name, not {value!r:.80}")
    if parameter.choices and value not in parameter.choices:
        near = get_close_matches(value, parameter.choices, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise refused(name, f"is one of {', '.join(parameter.choices)}, not {value!r:.80}{meant}")
    return str(value)


def _time(parameter: Parameter, value: Any, clock: datetime) -> str:
    if not isinstance(value, datetime):
        raise refused(parameter.name, "takes a datetime with its zone")
    try:
        written = write_time(value)
    except ValueError as error:
        raise refused(parameter.name, f"is no time: {error}") from None
    if parameter.past and utc(value) > clock:
        raise refused(
            parameter.name, f"{written} has not come: by the clock of the ledger it is {write_time(clock)}"
        )
    return written


def check_period(values: Mapping[str, Cell]) -> None:
    """Refuse a period that ends before it begins, in which nothing can lie.

    Raises:
        InvalidInput: `since` is not before `before`.
    """
    since, before = values.get("since"), values.get("before")
    if isinstance(since, str) and isinstance(before, str) and since >= before:
        raise refused("since", f"{since} is not before the end of the period, before={before}")
