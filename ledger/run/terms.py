"""Terms: the part of a contract that binds acts, under one digest.

They are the goal, the constraints in force and the grants without what is spent. Cursor, messages,
observations, obligations, effects and spending never change them, so none of these voids an approval.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any
from weakref import ref

from ledger.canonical import quote
from ledger.record import TermsMark
from ledger.run.contract import Constraint, Contract, Grant
from ledger.values import Rule, Value

_DOMAIN = b"intent-ledger.terms.v1\n"

_OPEN = "v1:"
_CONSTRAINT = ("accepted_by", "asserted_by", "id", "rule", "source", "text", "valid_from", "valid_until")
_GRANT = ("budget", "expires_at", "granted_by", "id", "on_resume", "principal", "scopes", "session")


def terms_text(contract: Contract) -> bytes:
    """Write what the digest covers, as canonical JSON: constraints and grants by id, then the goal."""
    goal = contract.goal
    rests_on = ",".join(map(quote, goal.rests_on))
    parts = [
        b'{"constraints":[',
        _listed(contract.constraints, _CONSTRAINT),
        f'],"goal":{{"rests_on":[{rests_on}],"text":{quote(goal.text)}}},"grants":['.encode(),
        _listed(contract.grants, _GRANT),
        b"]}",
    ]
    return b"".join(parts)


def changed_at(position: int) -> TermsMark:
    """Mark that the terms changed at a position, leaving their digest to be computed when it is needed."""
    return TermsMark.unchecked({"digest": _OPEN, "position": position})


def with_terms(contract: Contract) -> Contract:
    """Compute the digest of the terms where it was left open."""
    if contract.terms.digest != _OPEN:
        return contract
    digest = _OPEN + hashlib.sha256(_DOMAIN + terms_text(contract)).hexdigest()
    return contract.with_fields({"terms": TermsMark(digest=digest, position=contract.terms.position)})


def same_terms(contract: Contract, changes: Mapping[str, Any]) -> bool:
    """Tell whether a contract binds acts alike with some of its fields replaced."""
    old = contract.goal
    new = changes.get("goal", old)
    return (
        (old is new or (old.text, old.rests_on) == (new.text, new.rests_on))
        and _alike(contract.constraints, changes.get("constraints", contract.constraints), _CONSTRAINT)
        and _alike(contract.grants, changes.get("grants", contract.grants), _GRANT)
    )


def _alike(old: Sequence[Value], new: Sequence[Value], fields: tuple[str, ...]) -> bool:
    if old is new:
        return True
    return len(old) == len(new) and all(
        a is b or all(getattr(a, field) == getattr(b, field) for field in fields)
        for a, b in zip(old, new, strict=True)
    )


def _listed(items: Sequence[Constraint] | Sequence[Grant], fields: tuple[str, ...]) -> bytes:
    """Write constraints or grants by id, each once as long as it lives: most were in the last terms, too."""
    texts = []
    for item in sorted(items, key=_id):
        known = _TEXTS.get(id(item))
        # The place of one that is gone may be that of another by now.
        texts.append(known[1] if known is not None and known[0]() is item else _written(item, fields))
    return b",".join(texts)


def _written(item: Value, fields: tuple[str, ...]) -> bytes:
    rule: Rule | None = getattr(item, "rule", None)
    lacking = None if rule is None or rule.when else _UNSAID
    text = item.__pydantic_serializer__.to_json(item, include=set(fields), exclude=lacking, exclude_none=True)
    place = id(item)
    _TEXTS[place] = ref(item, lambda _: _TEXTS.pop(place, None)), text
    return text


_UNSAID = {"rule": {"when"}}
"""What the first shape of a rule could not say: where it is not said, the digest is the one of that shape, so
that what was recorded under those terms stays bound to them."""

_TEXTS: dict[int, tuple[ref[Value], bytes]] = {}
"""What was written of values that are still in use. They are frozen, so it is never out of date."""


_id = attrgetter("id")
