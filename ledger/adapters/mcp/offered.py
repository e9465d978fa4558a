"""Which commands of the ledger are tools, and why the others are not: read from the union."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from ledger.commands import COMMAND_CLASSES, Command
from ledger.run.decide import RULES

BY_CODE: Mapping[str, str] = {
    "effect.claim": "a program performs acts, with the tool's own code: the ledger performs none over MCP",
    "effect.compensate": "a program reports what undid an act",
    "effect.reconcile": "found out by asking the outside, which code does",
    "effect.report_failure": "what the outside answered is reported by the program that called it",
    "effect.report_success": "what the outside answered is reported by the program that called it",
    "effect.report_unknown": "what the outside answered is reported by the program that called it",
    "state.save": "a program keeps its own state",
    "state.save_part": "a program keeps its own state",
}
"""Commands that an agent may use, but by its code: a model that says them would say what it cannot know."""

BY_THE_SERVER = frozenset({"runtime"})
"""Fields that whoever starts the server says, for all that it writes."""

ENDS = frozenset({"authority.revoke", "run.close"})
"""Commands that end something for good."""

ONCE = frozenset({"run.fork", "run.open"})
"""Commands that the id of what they open makes one, so that a call needs no name of its own."""


class Offer(NamedTuple):
    """A command that is a tool."""

    kind: type[Command]
    left_out: frozenset[str]
    """Fields that cannot be given."""
    not_these: Mapping[str, Any]
    """By field, a value that it cannot have here."""

    @property
    def tool(self) -> str:
        """The name of the tool: that of the command, without what clients do not take in a name."""
        return self.kind.name.replace(".", "_")

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the command that can be given."""
        return tuple(name for name in self.kind.model_fields if name not in self.left_out)


@cache
def offers() -> tuple[Offer, ...]:
    """List the commands that are tools, in the order of the vocabulary."""
    return tuple(_offer(kind) for kind in COMMAND_CLASSES if why_not(kind) is None)


def why_not(kind: type[Command]) -> str | None:
    """Say why a command is no tool; None: it is one.

    It does not depend on who the actor is: what speaks through MCP is taken for an agent.
    """
    if kind.not_for_agents is not None and not kind.not_for_agents:
        return "for people and services, never for agents"
    if kind.stream != "run":
        return "for those who keep a source"
    if kind not in RULES:
        return "not performed by this release"
    return BY_CODE.get(kind.name)


def _offer(kind: type[Command]) -> Offer:
    forbidden = dict(kind.not_for_agents or {})
    # A flag that may not be set, if nothing else is needed for that, is no field at all.
    flags = {name for name, value in forbidden.items() if value is True and len(forbidden) == 1}
    left_out = (BY_THE_SERVER & kind.model_fields.keys()) | flags
    values = {name: value for name, value in forbidden.items() if len(forbidden) == 1 and name not in flags}
    if kind.name == "run.resume":
        left_out |= {"about"}  # who asks the gate says nothing about anybody
    return Offer(kind, frozenset(left_out), values)
