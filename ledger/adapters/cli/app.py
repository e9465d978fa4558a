"""All commands under one name."""

from __future__ import annotations

import functools
from typing import Annotated, Any

import typer

from ledger.adapters.cli import (
    approval,
    approvals,
    approve,
    ask,
    brief,
    cancel,
    contract,
    demo,
    diff,
    do,
    doctor,
    effect,
    effects,
    expire,
    export,
    fork,
    importing,
    log,
    may,
    mcp,
    migrate,
    notify,
    obligations,
    project,
    reconcile,
    refresh,
    remedies,
    replay,
    request_approval,
    restart,
    resume,
    review,
    revisions,
    rules,
    runs,
    schema,
    settle,
    sources,
    suspend,
    threads,
    tools,
    verify,
)
from ledger.adapters.cli.options import ActorOption, Given, LedgerOption, TenantOption

ABOUT = """Ask a ledger of agent runs what a run means: goal, constraints, promises, open effects.

A run's events are facts that nobody changes; this command shows them, the contract they add up to, and
whether they are still what was written.

\b
Start here:
  intent-ledger demo                  a ledger at work, in a few seconds
  intent-ledger import chats.jsonl    recorded chat transcripts become runs
  intent-ledger runs                  which runs there are
  intent-ledger contract RUN          what is in force, and who said so
  intent-ledger log RUN               how it came to that
  intent-ledger resume RUN            may it go on, and what clears each reason why not
  intent-ledger effects               what nobody knows whether it happened
  intent-ledger approvals             which acts wait for a person
  intent-ledger verify --all          is the record what was written?
  intent-ledger ask --list            questions that reviewers ask, each with a name
  intent-ledger project run           tables to query, kept up to date

With --json each command writes one JSON document, only `log` JSON Lines, one record a line. Errors go to
standard error: one line, or with --json an object {code, message, data}.

\b
Exit codes:
    0  fine; verify: sound
    1  bad news: altered, refused in part, contradicted, or a setting breaks a
       promise
    2  verify: cannot tell; reconcile, replay, settle, cancel, restart: still not
       known; refresh: something is stale still
    3  could not run: no such ledger or run, busy, newer
    4  a rule forbids it, and will again: ended, id taken, not for agents
   10  resume: replan   11 reconcile   12 reapprove   13 restart   14 refuse
   64  the command line or a setting is malformed
"""


@functools.cache
def command() -> Any:
    """Build the command with everything under it, once in a process."""
    app = typer.Typer(
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback(invoke_without_command=True, help=ABOUT)(_begin)
    app.command("demo", help=demo.HELP)(demo.demo)
    app.command("import", help=importing.HELP, short_help="Take in recorded chats, or exported runs.")(
        importing.import_file
    )
    app.command("runs", help=runs.HELP)(runs.runs)
    app.command("contract", help=contract.HELP)(contract.contract)
    app.command("brief", help=brief.HELP)(brief.brief)
    app.command("log", help=log.HELP)(log.log)
    app.command(
        "diff", help=diff.HELP, short_help="Show what differs between two runs, or two times of one."
    )(diff.diff)
    app.command("resume", help=resume.HELP, short_help="Ask the gate whether a stopped run may go on.")(
        resume.resume
    )
    app.command(
        "refresh", help=refresh.HELP, short_help="Look again at what a run must not rely on any more."
    )(refresh.refresh)
    app.command("suspend", help=suspend.HELP)(suspend.suspend)
    app.command("cancel", help=cancel.HELP)(cancel.cancel)
    app.command("restart", help=restart.HELP)(restart.restart)
    app.command("fork", help=fork.HELP)(fork.fork)
    app.command("accept", help=revisions.HELP_ACCEPT)(revisions.accept)
    app.command("acknowledge", help=revisions.HELP_ACKNOWLEDGE)(revisions.acknowledge)
    remedies.add_to(app)
    do.add_to(app)
    app.command("effects", help=effects.HELP)(effects.effects)
    app.command("effect", help=effect.HELP)(effect.effect)
    app.command("reconcile", help=reconcile.HELP)(reconcile.reconcile)
    app.command("settle", help=settle.HELP)(settle.settle)
    app.command(
        "tools", help=tools.HELP, short_help="Say of each tool: may it be done again? how would we know?"
    )(tools.tools)
    sources.add_to(app)
    rules.add_to(app)
    app.command("obligations", help=obligations.HELP)(obligations.obligations)
    app.command("may", help=may.HELP)(may.may)
    _add_approvals(app)
    app.command("ask", help=ask.HELP, short_help="Ask a question that has a name.")(ask.ask)
    review.add_to(app)
    project.add_to(app)
    app.command("export", help=export.HELP, short_help="Write runs into a file for another ledger.")(
        export.export
    )
    app.command("expire", help=expire.HELP, short_help="Drop contents by class and age.")(expire.expire)
    threads.add_to(app)
    app.command("replay", help=replay.HELP, short_help="Make the calls of recorded chats again.")(
        replay.replay
    )
    app.command("mcp", help=mcp.HELP, short_help="Serve the ledger to an agent, over MCP.")(mcp.mcp)
    _add_upkeep(app)
    return typer.main.get_command(app)


def _add_upkeep(app: typer.Typer) -> None:
    app.command("verify", help=verify.HELP)(verify.verify)
    app.command("schema", help=schema.HELP)(schema.schema)
    app.command("migrate", help=migrate.HELP)(migrate.migrate)
    app.command("doctor", help=doctor.HELP)(doctor.doctor)


def _add_approvals(app: typer.Typer) -> None:
    app.command("approvals", help=approvals.HELP)(approvals.approvals)
    app.command("approval", help=approval.HELP, short_help="Show one request for approval, whole.")(
        approval.approval
    )
    app.command("approve", help=approve.HELP_APPROVE)(approve.approve)
    app.command("deny", help=approve.HELP_DENY)(approve.deny)
    app.command("request-approval", help=request_approval.HELP, short_help="Ask a person anew.")(
        request_approval.request_approval
    )
    app.command("notify", help=notify.HELP, short_help="Tell people which acts wait for them.")(notify.notify)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"intent-ledger {version('intent-ledger')}")
        raise typer.Exit


VersionOption = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
]


def _begin(
    context: typer.Context,
    ledger: LedgerOption = None,
    tenant: TenantOption = None,
    actor: ActorOption = None,
    version: VersionOption = False,
) -> None:
    context.obj = Given(ledger, tenant, actor)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
