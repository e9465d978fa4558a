"""What was found about a file of rules: as JSON, and on a screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ledger.adapters.cli.visible import one_line
from ledger.adapters.cli.words import counted, quoted

if TYPE_CHECKING:
    from pathlib import Path

    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.sources import Document, Proposed
    from ledger.application.listing import Unread
    from ledger.errors import InvalidInput
    from ledger.run.rule_faults import Fault
    from ledger.run.rule_trial import Hit, Trial

_MOST = 10
"""Calls that are shown of each rule; with --json all are."""


@dataclass(slots=True)
class Checked:
    """What was found about a file."""

    rules: Sequence[Proposed]
    """What the file says, in its order."""
    trial: Trial
    tried: bool
    """There was a ledger to try them on."""
    faults: dict[str, Sequence[Fault]] = field(default_factory=dict)
    hits: list[Hit] = field(default_factory=list)
    runs: int = 0
    unread: list[Unread] = field(default_factory=list)
    malformed: list[InvalidInput] = field(default_factory=list)
    """What of the file is no rule, and so was neither looked at nor tried."""

    @property
    def errors(self) -> int:
        """How many errors there are."""
        return self._of("error") + len(self.malformed)

    @property
    def warnings(self) -> int:
        """How many warnings there are."""
        return self._of("warning")

    def _of(self, severity: str) -> int:
        return sum(one.severity == severity for some in self.faults.values() for one in some)


# --- as JSON -------------------------------------------------------------------------------------


def document(file: Path, found: Document, checked: Checked) -> dict[str, Any]:
    """Give all of it as a JSON object."""
    from ledger.adapters.cli.runs import fault

    return {
        "file": str(file),
        "revision": found.revision,
        "errors": checked.errors,
        "warnings": checked.warnings,
        "rules": [_rule(one, checked) for one in checked.rules],
        "malformed": [{"line": one.data["line"], "message": one.reason} for one in checked.malformed],
        "left_out": [one._asdict() for one in found.left_out],
        "tried": _tried(checked) if checked.tried else None,
        "unread": [fault(one) for one in checked.unread],
    }


def _rule(one: Proposed, checked: Checked) -> dict[str, Any]:
    from ledger.run.rule_words import is_enforced, rule_words
    from ledger.run.stated_rule import plain_rule

    assert one.after is not None
    rule = one.after.rule
    said: dict[str, Any] = {
        "line": one.line,
        "id": one.id,
        "text": one.after.text,
        "enforced": is_enforced(rule),
        "faults": [fault._asdict() for fault in checked.faults.get(one.id, ())],
    }
    if rule is not None:
        said |= {"rule": plain_rule(rule), "words": rule_words(rule)}
        if checked.tried:
            said["counts"] = checked.trial.counts(one.id)._asdict()
    return said


def _tried(checked: Checked) -> dict[str, Any]:
    return {
        "runs": checked.runs,
        "calls": checked.trial.calls,
        "refused": checked.trial.came["refused"],
        "asked": checked.trial.came["asked"],
        "hits": [
            {
                "rule": hit.rule,
                "run": hit.call.run,
                "position": hit.call.position,
                "tool": hit.call.tool,
                "came_to": hit.came,
                "conditions": list(hit.conditions),
            }
            for hit in checked.hits
        ],
    }


# --- for people ----------------------------------------------------------------------------------


def show(screen: Screen, file: Path, found: Document, checked: Checked) -> None:
    """Write what the file enforces, what is wrong with it, and what it would have stopped."""
    from ledger.run.rule_words import is_enforced

    enforced = sum(one.after is not None and is_enforced(one.after.rule) for one in checked.rules)
    screen.line(
        f"{quoted(str(file))}: {counted(len(checked.rules), 'constraint')}, {enforced:,} enforced, "
        f"{len(checked.rules) - enforced:,} not enforced (text for model and reviewer)",
        style="bold",
    )
    for one in checked.rules:
        _show_rule(screen, one, checked)
    for wrong in checked.malformed:
        screen.entry(f"ERROR: {one_line(wrong.reason)}", hang=2)
    for part in found.left_out:
        screen.note(f"line {part.line}: {part.what}, which is no rule and was left out")
    if checked.tried:
        _show_tried(screen, checked)
    else:
        screen.note("there is no ledger to try the rules on: name one with --ledger")
    screen.line()
    screen.line(f"{counted(checked.errors, 'error')}, {counted(checked.warnings, 'warning')}", style="bold")


def _show_rule(screen: Screen, one: Proposed, checked: Checked) -> None:
    from ledger.adapters.cli.sources_view import enforced

    assert one.after is not None
    screen.entry(f"line {one.line}: {quoted(one.id)}: {one_line(one.after.text)}", hang=2)
    screen.entry(enforced(one.after.rule), indent=2, hang=2, style="dim")
    for fault in checked.faults.get(one.id, ()):
        mark = "ERROR" if fault.severity == "error" else "warning"
        screen.entry(f"{mark}: {one_line(fault.message)}", indent=2, hang=2)
        screen.entry(f"hint: {one_line(fault.hint)}", indent=4, hang=2, style="dim")


def _show_tried(screen: Screen, checked: Checked) -> None:
    from ledger.adapters.cli.runs import show_unread
    from ledger.adapters.cli.screen import Column

    came = checked.trial.came
    screen.title(
        f"Tried on {counted(checked.trial.calls, 'call')} of {counted(checked.runs, 'run')}: "
        f"{came['refused']:,} would have been refused, {came['asked']:,} would have waited for a person"
    )
    show_unread(screen, checked.unread)
    ruled = [one for one in checked.rules if one.after is not None and one.after.rule is not None]
    if not checked.trial.calls or not ruled:
        return
    titles = ("SPOKEN OF", "REFUSED", "ASKED", "UNTOLD")
    screen.table(
        [Column("ID", whole=True), *(Column(title, right=True) for title in titles)],
        [(quoted(one.id), *(f"{count:,}" for count in checked.trial.counts(one.id))) for one in ruled],
    )
    for one in ruled:
        hits = [hit for hit in checked.hits if hit.rule == one.id]
        if hits:
            _show_hits(screen, one.id, hits)


def _show_hits(screen: Screen, id: str, hits: Sequence[Hit]) -> None:
    screen.title(f"Under {quoted(id)}")
    for hit in hits[:_MOST]:
        call = hit.call
        words = "refused: allowed only where" if hit.came == "refused" else "asked first:"
        screen.entry(
            f"{quoted(call.run)} position {call.position}, {quoted(call.tool)}: {words} "
            f"{one_line('; '.join(hit.conditions))}",
            indent=2,
            hang=2,
        )
    if len(hits) > _MOST:
        screen.entry(f"and {len(hits) - _MOST:,} more: --json lists all", indent=2)
