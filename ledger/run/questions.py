"""What a person is asked about an act: words that say why, under what holds when they are asked."""

from __future__ import annotations

from collections.abc import Sequence

from ledger.run.contract import Constraint

LONGEST = 4000
NOTE = "\nAs it is now: "
"""Sets what somebody asked in words of their own apart from what has come to hold since."""


def made(tool: str, demanding: Sequence[Constraint], before: str = "") -> str:
    """Say to a person why they are asked; `before` is what became of an earlier request."""
    if not demanding:
        return f"{before}{_by_its_tool(tool)}"
    return f"{before}{_by_rules(tool)}{_said(demanding)}"[:LONGEST]


def asked_before(void: str) -> str:
    """Say what became of an earlier request."""
    return f"It was asked before, and is asked anew: {void}. "


def made_anew(old: str, tool: str, demanding: Sequence[Constraint], void: str) -> str:
    """Say why a person is asked anew, since what was asked before does not bind any more.

    What was made of rules is made of those in force now. Words of somebody's own stay, and are told what is
    asked for by now.
    """
    if _by_rules(tool) in old or old.endswith(_by_its_tool(tool)):
        return made(tool, demanding, asked_before(void))
    words = old.partition(NOTE)[0]
    note = f"{NOTE}{_said(demanding)}" if demanding else ""
    return f"{words[: LONGEST - len(note)]}{note}" if len(note) < LONGEST else words


def _by_its_tool(tool: str) -> str:
    return f"{tool} is only done once a person has approved it"


def _by_rules(tool: str) -> str:
    return f"May {tool} be done? "


def _said(demanding: Sequence[Constraint]) -> str:
    return "; ".join(f"{one.text} (constraint {one.id}, asserted by {one.asserted_by})" for one in demanding)
