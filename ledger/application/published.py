"""What a source says, as callers give it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ledger.application.sayings import several
from ledger.canonical import invalid
from ledger.run.stated_rule import rule_of
from ledger.values import Published

Constraints = Mapping[str, str | Mapping[str, Any]] | Iterable[Published | Mapping[str, Any]]
"""Texts by id, or with a rule `{"text": …, "rule": …}` by id; or a list of `Published` or of such mappings
with an `id`."""


def published_of(constraints: Constraints) -> tuple[Published, ...]:
    """Read what a source says.

    Raises:
        InvalidInput: one is malformed; `path` names it.
    """
    if isinstance(constraints, Mapping):
        return tuple(_of_mapping(one, f"constraints.{id}", {"id": id}) for id, one in constraints.items())
    found = several("constraints", constraints)
    return tuple(
        one if isinstance(one, Published) else _of_mapping(one, f"constraints[{place}]", {})
        for place, one in enumerate(found)
    )


def _of_mapping(said: Any, path: str, known: Mapping[str, Any]) -> Published:
    if known and isinstance(said, str):
        return Published(**known, text=said)
    if not isinstance(said, Mapping):
        given = "a text, or text and rule" if known else "Published, or id, text and rule"
        raise invalid(path, f"give {given}, not {said!r:.50}")
    twice = known.keys() & said.keys()
    if twice:
        raise invalid(path, "its id stands before it already")
    fields = {**said, **known}
    if fields.get("rule") is not None:
        fields["rule"] = rule_of(fields["rule"], f"{path}.rule")
    return Published(**fields)
