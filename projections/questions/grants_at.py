"""Which grants a run had at a place, as renewals had left them there."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from pydantic_core import from_json

from ledger.canonical import canonical_text
from ledger.run.amounts import add_amounts
from projections.questions.base import Asked


class Grant(NamedTuple):
    """A grant of a run: as it was given, or as renewals have left it."""

    id: str
    position: int
    """Where it was given."""
    at: str
    principal: str
    session: str | None
    scopes: tuple[str, ...]
    budget: dict[str, Decimal] | None
    expires_at: str | None
    granted_by: str
    carved_run: str | None
    carved_id: str | None
    renewed: int | None = None
    """Position of the last renewal."""

    @property
    def budget_text(self) -> str | None:
        """The budget as canonical JSON; None: it has no bound."""
        budget = self.budget
        return None if budget is None else canonical_text({unit: f"{n:f}" for unit, n in budget.items()})

    def has_ended(self, at: str) -> bool:
        """Tell whether it has run out by a time."""
        return self.expires_at is not None and self.expires_at <= at


class Change(NamedTuple):
    """A renewal or revocation."""

    id: str
    position: int
    at: str
    what: str
    by: str
    expires_at: str | None
    session: str | None
    budget: str | None


class Revocation(NamedTuple):
    """Where, when and by whom a grant was revoked."""

    position: int
    at: str
    by: str


class Grants:
    """The grants of one run, as far as a question may look."""

    def __init__(self, grants: Iterable[Grant], changes: Iterable[Change]) -> None:
        self._grants: dict[str, list[Grant]] = {}
        self._changes: dict[str, list[Change]] = {}
        for grant in grants:
            self._grants.setdefault(grant.id, []).append(grant)
        for change in changes:
            self._changes.setdefault(change.id, []).append(change)

    @classmethod
    def of(cls, asked: Asked, run: str) -> Grants:
        """Read the grants of a run; a question that calls this uses `authority`."""
        grants = asked.select(
            """
            SELECT g.id, g.position, g.at, g.principal, g.session, g.scopes, g.budget, g.expires_at,
                g.granted_by, g.carved_run, g.carved_id
            FROM {authority.grants} AS g WHERE g.run = :run ORDER BY g.position
            """,
            run=run,
        )
        changes = asked.select(
            """
            SELECT c.id, c.position, c.at, c.what, c.by, c.expires_at, c.session, c.budget
            FROM {authority.changes} AS c
            WHERE c.run = :run AND c.what IN ('renewed', 'revoked') ORDER BY c.position
            """,
            run=run,
        )
        return cls(map(_grant, grants), (Change(*change) for change in changes))

    def last(self, id: str, before: int) -> Grant | None:
        """Return the last grant of an id that was given before a position, as it was there.

        It may have been revoked in between.
        """
        given = [grant for grant in self._grants.get(id, ()) if grant.position < before]
        if not given:
            return None
        grant = given[-1]
        end = self.revoked(grant)
        for change in self._changes.get(id, ()):
            after_end = end is not None and change.position > end.position
            if change.what == "renewed" and grant.position < change.position < before and not after_end:
                grant = _renewed(grant, change)
        return grant

    def revoked(self, grant: Grant) -> Revocation | None:
        """Tell where a grant was revoked, however late; None: it was not, as far as is looked."""
        following = (one.position for one in self._grants[grant.id] if one.position > grant.position)
        until = next(following, None)
        for change in self._changes.get(grant.id, ()):
            behind = change.position > grant.position and (until is None or change.position < until)
            if change.what == "revoked" and behind:
                return Revocation(change.position, change.at, change.by)
        return None

    def in_force(self, before: int, at: str) -> list[Grant]:
        """List the grants that were in force right before a position, at a time."""
        found = []
        for id in self._grants:
            grant = self.last(id, before)
            if grant is None or grant.has_ended(at):
                continue
            end = self.revoked(grant)
            if end is None or end.position >= before:
                found.append(grant)
        return found

    def any_before(self, position: int) -> bool:
        """Tell whether the run had ever been given a grant before a position."""
        return any(grants[0].position < position for grants in self._grants.values())


def _grant(row: tuple[object, ...]) -> Grant:
    id, position, at, principal, session, scopes, budget, expires_at, granted_by, run, carved = row
    read = Grant._make(
        (id, position, at, principal, session, (), None, expires_at, granted_by, run, carved, None)
    )
    return read._replace(scopes=tuple(from_json(str(scopes))), budget=_amounts(budget))


def _amounts(text: object) -> dict[str, Decimal] | None:
    return None if text is None else {unit: Decimal(value) for unit, value in from_json(str(text)).items()}


def _renewed(grant: Grant, change: Change) -> Grant:
    """Renew as the one fold does: what has no bound gets none by adding to it."""
    budget = grant.budget
    if budget is not None and change.budget is not None:
        budget = add_amounts(budget, _amounts(change.budget))
    return grant._replace(
        budget=budget,
        expires_at=change.expires_at or grant.expires_at,
        session=change.session or grant.session,
        renewed=change.position,
    )
