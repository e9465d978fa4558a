"""`may`: what an act would be told now, with all that is against it, and nothing recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.saying import RunArgument
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.run.permission import Objection, Permission

HELP = """Say whether a run may act now, and what is against it.

It is asked as its program would ask with `run.may`: nothing is recorded, nothing is called, and no budget is
set aside. All that is against the act is named, what the call would raise first. ARGS are its arguments, a
JSON object; without, none.

MODULE declares the tool, as its program has it: a dotted name, or a .py file. It is imported, so it must be
yours; what it prints goes to standard error. Without it the record alone answers: whether the tool needs a
person, what it costs and which arguments it takes is not looked at, which is told. Whether authority covers
the act depends on who asks: --actor, and --actor-session.

\b
Exit codes: 0 the call would begin it, or return what was recorded of it,
3 could not run, 4 something is against it.
Examples:
  intent-ledger may refund-17 refund '{"order": 17}'
  intent-ledger may refund-17 refund '{"order": 17}' --tools shop.tools
  intent-ledger may refund-17 refund '{"order": 17}' --step pay \\
      --tools ./tools.py --actor agent:refunds --json
"""


@verb(actor=True)
def may(
    call: Call,
    run: RunArgument,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="Name of the tool.", show_default=False)],
    args: Annotated[
        str | None, typer.Argument(metavar="[ARGS]", help="Its arguments, as JSON.", show_default=False)
    ] = None,
    named: Annotated[
        str | None, typer.Option("--args", metavar="ARGS", help="The same, named.", show_default=False)
    ] = None,
    tools: Annotated[
        str | None,
        typer.Option(
            "--tools",
            metavar="MODULE",
            help="Python module that declares the tool: shop.tools, or tools.py.",
            show_default=False,
        ),
    ] = None,
    step: Annotated[
        str | None, typer.Option("--step", metavar="NAME", help="Step of the plan.", show_default=False)
    ] = None,
    occurrence: Annotated[
        str | None,
        typer.Option(
            "--occurrence", metavar="ID", help="What tells it from the same act.", show_default=False
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--actor-session", metavar="ID", help="Session of who would act.", show_default=False),
    ] = None,
) -> None:
    """Ask whether a run may act."""
    import asyncio
    import contextlib
    import sys

    from ledger.adapters.cli.resume import asks_as
    from ledger.adapters.cli.tool_modules import awaited, declared_in
    from ledger.canonical import invalid
    from ledger.values import no_such

    screen = call.screen
    settings = call.settings
    if args is not None and named is not None:
        raise typer.BadParameter("the arguments are given twice: behind TOOL, and as --args")
    given = _arguments(named if args is None else args)
    with contextlib.redirect_stdout(sys.stderr), asyncio.Runner() as runner:
        declared = declared_in(tools)
        names = [one.name for one in declared.tools]
        if tools is not None and tool not in names:
            raise invalid("TOOL", f"{no_such('tool', tool, names)} ({tools})")
        with call.reading(secrets=declared.secrets) as opened:
            for one in declared.tools:
                opened.register(awaited(one, runner))
            handle = opened.run(run, actor=asks_as(opened, settings, session))
            found = handle.may(tool, given, step=step, occurrence=occurrence)
    if call.as_json:
        screen.document(_document(run, tool, given, found))
    else:
        _show(screen, run, tool, found, call.where)
    raise typer.Exit(Exit.FINE if found else Exit.REFUSED)


def _arguments(args: str | None) -> Mapping[str, Any]:
    """Read arguments.

    Raises:
        InvalidInput: they are no JSON object.
    """
    from ledger.canonical import invalid, load_text
    from ledger.errors import InvalidInput

    hint = """give the arguments of the tool behind its name, as one JSON object: '{"order": 17}'"""
    if args is None:
        return {}
    try:
        found = load_text(args, path="ARGS")
    except InvalidInput as error:
        raise invalid("ARGS", f"{error.reason}; {hint}") from None
    if not isinstance(found, dict):
        raise invalid("ARGS", hint)
    return found


def _document(run: str, tool: str, args: Mapping[str, Any], found: Permission) -> dict[str, Any]:
    return {
        "run": run,
        "tool": tool,
        "args": args,
        "allowed": found.allowed,
        "declared": found.declared,
        "done": found.done,
        "key": found.key,
        "position": found.position,
        "objections": [_objection(one) for one in found.objections],
    }


def _objection(one: Objection) -> dict[str, Any]:
    fields: dict[str, Any] = {"code": one.rule, "message": one.message, "evidence": dict(one.evidence)}
    return fields if one.position is None else {**fields, "position": one.position}


def _show(screen: Screen, run: str, tool: str, found: Permission, where: list[str]) -> None:
    from ledger.adapters.cli.visible import one_line
    from ledger.adapters.cli.ways_out import asking_anew
    from ledger.adapters.cli.words import quoted

    what = f"{quoted(tool)} in {quoted(run)}"
    if found.done:
        screen.line(f"DONE: {what} was done: the call returns what was recorded", style="bold")
    elif found.allowed:
        screen.line(f"YES: {what} may begin", style="bold")
    else:
        screen.line(f"NO: {what} may not begin", style="bold")
    for number, one in enumerate(found.objections, 1):
        is_said = one.position is None or f"position {one.position}" in one.message
        place = "" if is_said else f" (position {one.position})"
        screen.entry(f"{number}. {one.rule}: {one_line(one.message)}{place}", indent=2, hang=3)
    if not found.declared:
        screen.note(f"{quoted(tool)} is not declared here, so its program may be told more: it is not known")
        screen.note("whether it needs a person, what it costs and which arguments it takes (--tools MODULE)")
    if any(one.rule == "approval_denied" for one in found.objections):
        screen.note("a person lets ask anew by:")
        screen.note(f"  {asking_anew(found.key, run, where, by_person=True)}")
    screen.entry(f"key {found.key}, as of position {found.position}", indent=2, hang=2, style="dim")
