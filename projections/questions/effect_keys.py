"""Which effect a question is asked about: a key is told apart by its beginning."""

from __future__ import annotations

import re

from ledger.errors import EffectNotFound
from projections.questions.base import Asked, refused

SHORTEST = 6
"""Digits that the beginning of a key has at least."""

_LISTED = 5


def effect_keys(asked: Asked) -> list[str]:
    """Return the whole key that the parameter `key` means, as the only one of a list.

    It may be the beginning of a key, in any case, with `..` behind it. A question that calls this uses
    `effects`, and knows of what was intended up to its own moment.

    Raises:
        EffectNotFound: nothing was intended under such a key.
        InvalidInput: it is no beginning of a key, or of several.
    """
    given = str(asked.given["key"])
    digits = given.removesuffix("..").lower()
    if not re.fullmatch(rf"[0-9a-f]{{{SHORTEST},64}}", digits):
        reason = f"a key is 64 hexadecimal digits, or at least the first {SHORTEST}"
        raise refused("key", f"{given!r:.80} is none: {reason}")
    # Digits end at `f`, so what begins so stands before the same digits with a `g` behind them.
    found = asked.select(
        """
        SELECT DISTINCT i.key FROM {effects.intents} AS i
        WHERE i.key >= :low AND i.key < :high
        ORDER BY i.key LIMIT :most
        """,
        low=digits,
        high=f"{digits}g",
        most=_LISTED + 1,
    )
    keys = [str(key) for (key,) in found]
    if not keys:
        raise EffectNotFound(f"no effect was intended under a key that begins with {digits}", key=given)
    if len(keys) > 1:
        some = ", ".join(keys[:_LISTED])
        more = " and more" if len(keys) > _LISTED else ""
        raise refused("key", f"{digits} is the beginning of several keys: {some}{more}")
    return keys
