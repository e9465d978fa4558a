"""Which approval a question is asked about: an id that begins with the key of its act may be cut short."""

from __future__ import annotations

import re

from projections.questions.base import Asked, refused
from projections.questions.effect_keys import SHORTEST

_LISTED = 5


def cited_approval(asked: Asked) -> str:
    """Return the whole id that the parameter `approval` means, among those that intents cite.

    It may be the beginning of one, as `effect_keys` takes it of a key; whatever no intent cites so is
    returned as it was given. A question that calls this uses `effects`.

    Raises:
        InvalidInput: it is the beginning of several.
    """
    given = str(asked.given["approval"])
    short = given.removesuffix("..").lower()
    if not re.fullmatch(rf"[0-9a-f]{{{SHORTEST},64}}|[0-9a-f]{{64}}-[0-9a-f]{{0,7}}", short):
        return given
    # Digits and the dash end before `g`, so what begins so stands before the same with a `g` behind it.
    found = asked.select(
        """
        SELECT DISTINCT i.approval FROM {effects.intents} AS i
        WHERE i.approval >= :low AND i.approval < :high
        ORDER BY i.approval LIMIT :most
        """,
        low=short,
        high=f"{short}g",
        most=_LISTED + 1,
    )
    ids = [str(id) for (id,) in found]
    if given in ids or not ids:
        return given
    if len(ids) > 1:
        some = ", ".join(ids[:_LISTED])
        more = " and more" if len(ids) > _LISTED else ""
        raise refused("approval", f"{short} is the beginning of several approvals: {some}{more}")
    return ids[0]
