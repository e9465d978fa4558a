"""Credentials are never stored: what says who acts, or who may, is looked at before it is said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ledger.canonical import invalid
from ledger.secrets import Secrets


def no_secret(secrets: Secrets, fields: Mapping[str, Any]) -> None:
    """Make sure that no field holds what is taken for a secret.

    Raises:
        InvalidInput: one does; `path` names it, and nothing shows any of the secret.
    """
    found = secrets.find(dict(fields), "")
    if found is not None:
        reason = (
            f"it holds a secret ({found.rule}), and stands in records for ever: give a name for it, as the "
            "id of the session, or a digest"
        )
        raise invalid(found.path.lstrip("."), reason)
