"""Credentials are never stored: what says who acts, or who may, is looked at before it is said.

So are words of which none can be left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ledger import commands as c
from ledger.application.redacting import EXACT
from ledger.canonical import invalid, load_text
from ledger.secrets import Found, Secrets
from ledger.values import Value, untag_secrets


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


def no_secret_in_exact_words(secrets: Secrets, command: c.Command) -> None:
    """Make sure that a command has no secret where its exact words count, and none of them can be left out.

    Raises:
        InvalidInput: it has; `path` names the field, and nothing shows any of the secret.
    """
    for name in EXACT.get(type(command), ()):
        given = getattr(command, name)
        found = None if given is None else _found(secrets, name, given)
        if found is not None:
            reason = (
                f"it holds a secret ({found.rule}), stands in records for ever, and counts by its exact "
                "words, so that none can be left out: say it without"
            )
            raise invalid(found.path, reason)


def _found(secrets: Secrets, name: str, given: Any) -> Found | None:
    if name in ("args", "args_in_full"):
        return secrets.find(untag_secrets(load_text(given)), name)
    if isinstance(given, Value):
        given = given.model_dump(mode="json")
    elif isinstance(given, tuple):
        given = [one.model_dump(mode="json") for one in given]
    return secrets.find(given, name)
