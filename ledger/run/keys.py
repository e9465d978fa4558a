"""Effect keys: the name of an act within its lineage, from stable inputs and never from a counter or a clock.

The *key* tells one intended act from another, so that a repeat of it is recognised across crashes, retries
and successors. The *act* leaves out step and occurrence, so that the same deed under another step is noticed.
"""

from __future__ import annotations

import hashlib

from ledger.canonical import quote
from ledger.values import MAX_ID_LENGTH, Runtime

_KEY_DOMAIN = b"intent-ledger.effect.v1\n"
_GIVEN_DOMAIN = b"intent-ledger.effect-given.v1\n"
_ACT_DOMAIN = b"intent-ledger.act.v1\n"
_RUNTIME_DOMAIN = b"intent-ledger.runtime.v1\n"
_SOURCE_PREFIX = "source:"
_OBSERVATION_KEY_LENGTH = 188  # with `observation:` before it, it is still an id


def effect_key(tenant: str, root: str, step: str | None, tool: str, occurrence: str | None, args: str) -> str:
    """Compute the key of an act as 64 hexadecimal digits.

    `root` is the first run of the lineage, `args` the canonical JSON text of the arguments. It is the SHA-256
    of the domain and the canonical `[tenant, root, step, tool, occurrence, args]`.
    """
    return _digest(
        _KEY_DOMAIN, quote(tenant), quote(root), _or_null(step), quote(tool), _or_null(occurrence), args
    )


def given_key(tenant: str, root: str, name: str) -> str:
    """Compute the key of an act that its caller named: `[tenant, root, name]` under a domain of its own.

    The name alone would let two lineages that use the same one take each other's results for theirs.
    """
    return _digest(_GIVEN_DOMAIN, quote(tenant), quote(root), quote(name))


def act_key(tenant: str, root: str, tool: str, args: str) -> str:
    """Compute the digest of the act itself: `[tenant, root, tool, args]` under a domain of its own."""
    return _digest(_ACT_DOMAIN, quote(tenant), quote(root), quote(tool), args)


def observation_key(tool: str, args: str, occurrence: str | None = None) -> str:
    """Name what a call looks at: the same tool with the same arguments sees the same thing.

    It is readable where it is short enough for an id, else the SHA-256 of its parts.
    """
    digest = hashlib.sha256(args.encode()).hexdigest()
    key = f"{tool}:{digest[:32]}" if occurrence is None else f"{tool}:{digest[:32]}:{occurrence}"
    if len(key) <= _OBSERVATION_KEY_LENGTH:
        return key
    more = "" if occurrence is None else quote(occurrence)
    return hashlib.sha256(f"{quote(tool)}{digest}{more}".encode()).hexdigest()


def check_key(source: str) -> str:
    """Return the key under which a run observes a source: `source:KIND:NAME`.

    The longest ids of sources leave no room for that; they are named by their digest.
    """
    key = _SOURCE_PREFIX + source
    return key if len(key) <= MAX_ID_LENGTH else _SOURCE_PREFIX + hashlib.sha256(source.encode()).hexdigest()


def runtime_digest(runtime: Runtime) -> str:
    """Digest of a runtime's fingerprint, as an approval binds to it: 64 hexadecimal digits."""
    text = runtime.model_dump_json(exclude_none=True)
    return hashlib.sha256(_RUNTIME_DOMAIN + text.encode()).hexdigest()


def _or_null(text: str | None) -> str:
    return "null" if text is None else quote(text)


def _digest(domain: bytes, *parts: str) -> str:
    return hashlib.sha256(domain + f"[{','.join(parts)}]".encode()).hexdigest()
