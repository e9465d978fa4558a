"""`resume`: ask the gate whether a stopped run may go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.saying import RunArgument
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from datetime import datetime

    from ledger.adapters.cli.resume_view import Answer
    from ledger.adapters.settings import Settings
    from ledger.application.ledger import Ledger
    from ledger.application.resuming import Resumption
    from ledger.application.runs import Run
    from ledger.values import Actor, Runtime, Verdict

HELP = """Ask the gate whether a stopped run may go on, and let it.

`continue` begins the next incarnation. A person or a service hands it over by that: nobody runs it yet, and
its program picks it up with ledger.resume. Any other verdict holds the run; every reason is told with what
clears it, as a command line to be copied (alternatives one below the other, what only you know in capitals).
A reason is judged anew each time: clear it and ask again.

--runtime says what would go on, field by field (model, prompt, tool_schema, …); it is compared with what ran.
--take-over goes on although somebody is at work on the run; for people. --dry-run records nothing.

\b
Exit codes: 0 continue, 10 replan, 11 reconcile, 12 reapprove, 13 restart, 14
refuse (it cannot be read), 3 could not run, 4 a rule forbids it: the run has
ended, or an agent would take over.
Examples:
  intent-ledger resume refund-17
  intent-ledger resume refund-17 --dry-run --json
  intent-ledger resume refund-17 --actor agent:refunds --actor-session s-2 \\
      --runtime model=small-4
  intent-ledger resume refund-17 --take-over --actor human:kim
"""


def code_of(verdict: Verdict) -> Exit:
    """Return the exit code of a verdict."""
    return Exit.FINE if verdict.value == "continue" else Exit[verdict.name]


@verb(actor=True)
def resume(
    call: Call,
    run: RunArgument,
    session: Annotated[
        str | None,
        typer.Option("--actor-session", metavar="ID", help="Session of who would go on.", show_default=False),
    ] = None,
    runtime: Annotated[
        list[str] | None,
        typer.Option(
            "--runtime",
            metavar="KEY=VALUE",
            help="What would go on; repeatable, or one JSON object.",
            show_default=False,
        ),
    ] = None,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Also where somebody is at work on it.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell, and record nothing.")] = False,
    idle_seconds: Annotated[
        int | None,
        typer.Option(
            "--idle-seconds",
            metavar="N",
            min=0,
            help="How long a run may lie still until its goal is to be confirmed; 0: for ever; else a day.",
            show_default=False,
        ),
    ] = None,
    live_seconds: Annotated[
        int | None,
        typer.Option(
            "--live-seconds",
            metavar="N",
            min=0,
            help="How long after its last sign of life it counts as running; else 600.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Resume a run."""
    from ledger.adapters.cli import resume_view

    screen = call.screen
    settings = call.settings
    told = runtime_of(runtime)
    with call.saying() as opened:
        asks = asks_as(opened, settings, session)
        options = {**_patience(idle_seconds, live_seconds), "take_over": take_over, "dry_run": dry_run}
        found = opened.resume(run, actor=asks, runtime=told, **options)
        now, leases = _now(opened), _leases(opened, found)
    where = call.where
    answer: Answer = resume_view.Answer(run, found, asks, told, now, dry_run, where, leases)
    if call.as_json:
        screen.document(resume_view.document(answer))
    else:
        resume_view.show(screen, answer)
    raise typer.Exit(code_of(found.verdict))


def asks_as(opened: Ledger, settings: Settings, session: str | None) -> Actor:
    """Return who asks: with a session, where one was named."""
    from ledger.values import Actor

    writer = settings.writer or opened.actor
    fields = {name: value for name, value in writer.__dict__.items() if value is not None}
    return writer if session is None else Actor(**{**fields, "session": session})


def _now(opened: Ledger) -> Any:
    from ledger.application.ledger import edge_of

    return edge_of(opened).now()


def _leases(opened: Ledger, found: Resumption[Run]) -> dict[str, datetime]:
    """Read until when workers hold what they execute, where that stands against going on."""
    if found.contract is None or all(reason.kind != "effect_executing" for reason in found.reasons):
        return {}
    listed = opened.effects(found.contract.run)
    return {one.effect.key: one.lease_until for one in listed if one.lease_until is not None}


def _patience(idle: int | None, live: int | None) -> dict[str, Any]:
    given: dict[str, Any] = {} if idle is None else {"idle_seconds": idle or None}
    return given if live is None else {**given, "live_seconds": live}


def runtime_of(given: list[str] | None) -> Runtime | None:
    """Read what would go on; None: it was not said."""
    from ledger.adapters.cli.fields import read_object
    from ledger.values import Runtime

    return Runtime(**read_object(given, option="--runtime")) if given else None
