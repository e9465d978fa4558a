"""Terms: the part of a contract that binds acts, under one digest.

They are the goal, the constraints in force and the grants without what is spent. Cursor, messages,
observations, obligations, effects and spending never change them, so none of these voids an approval.
"""

from __future__ import annotations

import hashlib

from ledger.record import TermsMark
from ledger.run.contract import Contract

_DOMAIN = b"intent-ledger.terms.v1\n"

_CONSTRAINT = {
    "accepted_by",
    "asserted_by",
    "id",
    "rule",
    "source",
    "text",
    "valid_from",
    "valid_until",
}
_GRANT = {"budget", "expires_at", "granted_by", "id", "on_resume", "principal", "scopes", "session"}


def terms_text(contract: Contract) -> bytes:
    """Write what the digest covers, as canonical JSON: constraints and grants by id, then the goal."""
    constraints = sorted(contract.constraints, key=lambda item: item.id)
    grants = sorted(contract.grants, key=lambda item: item.id)
    parts = [
        b'{"constraints":[',
        b",".join(c.model_dump_json(include=_CONSTRAINT, exclude_none=True).encode() for c in constraints),
        b'],"goal":',
        contract.goal.model_dump_json(include={"rests_on", "text"}).encode(),
        b',"grants":[',
        b",".join(g.model_dump_json(include=_GRANT, exclude_none=True).encode() for g in grants),
        b"]}",
    ]
    return b"".join(parts)


def mark(contract: Contract) -> TermsMark:
    """Compute the terms as of the contract's position, keeping the old mark where nothing changed."""
    digest = "v1:" + hashlib.sha256(_DOMAIN + terms_text(contract)).hexdigest()
    if digest == contract.terms.digest:
        return contract.terms
    return TermsMark(digest=digest, position=contract.position)
