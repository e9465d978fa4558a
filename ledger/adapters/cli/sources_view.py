"""What the commands on sources show alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ledger.errors import LedgerError
    from ledger.run.sources import Gone
    from ledger.values import Published, Rule


def published_facts(published: Published) -> dict[str, Any]:
    """Give a constraint as a JSON object, and whether a machine holds acts to it."""
    from ledger.run.rule_words import is_enforced

    said = published.model_dump(mode="json", exclude_none=True)
    return {**said, "enforced": is_enforced(published.rule)}


def gone_facts(gone: Gone) -> dict[str, Any]:
    """Give a withdrawal as a JSON object."""
    facts = {
        "id": gone.id,
        "at": gone.at.isoformat().replace("+00:00", "Z"),
        "by": gone.by,
        "position": gone.position,
        "reason": gone.reason,
    }
    return {name: value for name, value in facts.items() if value is not None}


def gone_words(gone: Gone) -> str:
    """Say who withdrew something, when and why."""
    from ledger.adapters.cli.words import quoted, when

    by = "" if gone.by is None else f" by {quoted(gone.by)}"
    return f"withdrawn {when(gone.at)}{by}: {quoted(gone.reason)}"


def enforced(rule: Rule | None) -> str:
    """Say on one line what a machine enforces of a constraint, or that none does."""
    from ledger.adapters.cli.visible import one_line
    from ledger.run.rule_words import enforcement_words

    return one_line(enforcement_words(rule))


def refused(error: LedgerError) -> LedgerError:
    """Say in the words of the command line why somebody may not publish or withdraw."""
    from ledger.errors import AuthorityExceeded, NotForAgents

    evidence = error.data.get("evidence") or {}
    if isinstance(error, NotForAgents):
        who = evidence.get("actor", "an agent")
        message = (
            f"only a person or a service publishes and withdraws, not {who}: "
            "say with --by who decided it, with --actor who writes"
        )
        return NotForAgents(message, **error.data)
    if isinstance(error, AuthorityExceeded):
        message = f"{error}: one of them has to decide it: --by OWNER"
        return AuthorityExceeded(message, **error.data)
    return error
