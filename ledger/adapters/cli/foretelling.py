"""What the gate would say of a run that was just opened, before anybody relies on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.application.ledger import Ledger
    from ledger.events import Reason
    from ledger.run.standing import Alive
    from ledger.values import Verdict


class Foretold(NamedTuple):
    """What the gate would say."""

    run: str
    asked_for: Alive
    """Who was at work on the run that it comes from, and is taken to go on."""
    verdict: Verdict
    reasons: tuple[Reason, ...]

    @property
    def document(self) -> dict[str, Any]:
        """It as a JSON object."""
        return {
            "actor": self.asked_for.by,
            "session": self.asked_for.session,
            "verdict": self.verdict.value,
            "reasons": [one.model_dump(mode="json", exclude_none=True) for one in self.reasons],
        }


def foretold(opened: Ledger, before: str, run: str) -> Foretold | None:
    """Ask the gate about `run`, which comes from `before`, and record nothing; None: it has ended by now."""
    from ledger.errors import RunIsClosed
    from ledger.values import Actor

    alive = opened.contract(before).alive
    try:
        found = opened.resume(run, actor=Actor(alive.by, session=alive.session), dry_run=True)
    except RunIsClosed:
        return None
    return Foretold(run, alive, found.verdict, tuple(found.reasons))


def show_foretold(screen: Screen, asked: Foretold | None, where: Sequence[str]) -> None:
    """Write it, with the command that names the ways out, and who has to go on with the run."""
    from ledger.adapters.cli.restart import nobody_runs
    from ledger.adapters.cli.visible import one_line
    from ledger.adapters.cli.ways_out import asking
    from ledger.adapters.cli.words import quoted

    if asked is None:
        return
    screen.title(f"Asked now for {quoted(asked.asked_for.by)}, the gate would say {asked.verdict.value}")
    for reason in asked.reasons:
        screen.entry(f"{quoted(reason.kind)}: {one_line(reason.what)}", indent=2, hang=2)
    if not asked.reasons:
        screen.note(nobody_runs(asked.run))
        return
    screen.entry("what clears each:", indent=2)
    screen.command(asking(asked.run, asked.asked_for.by, asked.asked_for.session, where), indent=2)
