"""`rules check`: what a file of rules enforces, what is wrong with it, and what it would have stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.verbs import Call, group_of, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.rules_view import Checked
    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.settings import Settings
    from ledger.adapters.sources import Proposed
    from ledger.application.ledger import Ledger
    from ledger.errors import InvalidInput

ABOUT = """Check files of rules before they are published.

\b
Examples:
  intent-ledger rules check policy.yaml
  intent-ledger rules check policy.yaml --run refund-17 --json
"""

HELP = """Say what a file of rules enforces, and what it would have stopped.

FILE is read as `sources publish` reads it. A constraint with a rule is enforced: every act is held to it
before it begins. One without is text for model and reviewer. In YAML a rule stands beside the text:

\b
  ask-above-100:
    text: Ask a person above 100 EUR
    rule:
      tools: [refund]                   # for these tools; none named: for all
      when: [{path: /amount, operator: gt, value: 100}]
      needs_approval: true              # or refuse what does not keep to:
      # require: [{path: /currency, operator: in, value: [EUR]}]
      # deny: [wire]   allow: [refund]   resources: [order:1]   tenants: [shop]

Operators: eq ne lt le gt ge in not_in starts_with present absent. A condition of `require` that cannot be
compared is not met; a `when` that cannot be told is taken to be met.

First each rule is looked at: what is malformed, contradicts itself or can never be met is an error; what may
be meant otherwise a warning. Then it is tried on the calls recorded in the ledger, of all runs or of each
--run: which would have been refused, and which would have waited for a person. Nothing is written, in the
file or in the ledger; without a ledger (none is named, and there is no ./ledger.db) only the file is looked
at.

\b
Exit codes: 0 no errors; 1 errors, or a run is altered; 3 could not run, or a
run is newer than this program; 64 the file is no YAML or Markdown, or has no rules.
Examples:
  intent-ledger rules check policy.yaml
  intent-ledger rules check policy.yaml --run refund-17 --json
"""


def add_to(app: typer.Typer) -> None:
    """Put the command under `rules`."""
    group = group_of(ABOUT)
    group.command("check", help=HELP)(check)
    app.add_typer(group, name="rules")


@verb()
def check(
    call: Call,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Markdown or YAML.", show_default=False)],
    run: Annotated[
        list[str] | None,
        typer.Option("--run", metavar="RUN", help="Try it on this run. Repeatable.", show_default=False),
    ] = None,
) -> None:
    """Check a file of rules."""
    from ledger.adapters.cli.rules_view import document, show
    from ledger.adapters.cli.runs import exit_of
    from ledger.adapters.sources import propose, read_document
    from ledger.run.sources import SourceState

    malformed: list[InvalidInput] = []
    found = read_document(file, malformed)
    proposal = propose(found, SourceState("rules:check"))
    screen = call.screen
    settings = call.settings
    with _opened(settings, screen, named=bool(run)) as opened:
        checked = _checked(proposal.rules, opened, run, screen)
    checked.malformed = malformed
    if call.as_json:
        screen.document(document(file, found, checked))
    else:
        show(screen, file, found, checked)
    if checked.errors:
        raise typer.Exit(Exit.BAD_NEWS)
    if checked.unread:
        raise typer.Exit(exit_of(checked.unread))


@contextmanager
def _opened(settings: Settings, screen: Screen, *, named: bool) -> Iterator[Ledger | None]:
    """Open the ledger; there need be none unless one, or a run of it, was named."""
    from ledger.adapters.cli.opening import open_to_look
    from ledger.adapters.settings import Settings as Defaults
    from ledger.errors import StoreUnavailable

    try:
        there = open_to_look(settings, screen)
    except StoreUnavailable as error:
        unnamed = settings.url == Defaults.model_fields["url"].default and not named
        if not unnamed or error.data.get("reason") not in {"missing", "empty"}:
            raise
        yield None
        return
    with there as opened:
        yield opened


def _checked(
    proposed: Sequence[Proposed], opened: Ledger | None, runs: Sequence[str] | None, screen: Screen
) -> Checked:
    from ledger.adapters.cli.rules_view import Checked
    from ledger.application.listing import Unread
    from ledger.application.recorded_calls import recorded_calls
    from ledger.run.rule_faults import faults_of
    from ledger.run.rule_trial import Call, Trial

    ruled = [(one.id, one.after.rule) for one in proposed if one.after and one.after.rule]
    trial = Trial(ruled)
    checked = Checked(proposed, trial, tried=opened is not None)
    if opened is not None:
        with _watched(screen) as tell:
            for one in recorded_calls(opened, runs):
                if isinstance(one, Call):
                    checked.hits += trial.hear(one)
                elif isinstance(one, Unread):
                    checked.unread.append(one)
                else:
                    checked.runs += 1
                tell(checked.runs, trial.calls)
    for id, rule in ruled:
        checked.faults[id] = (*faults_of(rule), *trial.faults(id))
    return checked


@contextmanager
def _watched(screen: Screen) -> Iterator[Callable[[int, int], None]]:
    """Show how far it is on standard error, where somebody sees it."""
    if screen.as_json or not screen.is_watched:
        yield lambda runs, calls: None
        return
    from rich.console import Console
    from rich.status import Status

    with Status("trying the rules", console=Console(stderr=True)) as shown:

        def tell(runs: int, calls: int) -> None:
            if calls % 100 == 0:
                shown.update(f"trying the rules: {calls:,} calls of {runs:,} runs")

        yield tell
