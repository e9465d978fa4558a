"""Contracts as the bytes of snapshots, with a digest in front: an altered one is not taken for a contract.

The digest is no secret: who can write to the store can compute it, too. `verify` compares each snapshot with
the full fold; this notices what happened by accident, or by a hand that stopped half way.
"""

from __future__ import annotations

import hashlib

from pydantic import ValidationError

from ledger.run.contract import Contract

_DOMAIN = b"intent-ledger.snapshot.v1\n"
_DIGITS = 64


def save(contract: Contract) -> bytes:
    """Write a contract as the state of a snapshot."""
    content = contract.__pydantic_serializer__.to_json(contract, exclude_none=True)
    return _digest(content) + b"\n" + content


def restore(state: bytes) -> Contract | None:
    """Read a contract out of the state of a snapshot; None where the bytes are not what was saved."""
    if type(state) is not bytes:
        return None
    digest, content = state[:_DIGITS], state[_DIGITS + 1 :]
    if state[_DIGITS : _DIGITS + 1] != b"\n" or digest != _digest(content):
        return None
    try:
        return Contract.model_validate_json(content)
    except ValidationError:
        return None


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(_DOMAIN + content).hexdigest().encode()
