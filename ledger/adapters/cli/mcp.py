"""`mcp`: the ledger as tools and resources for agents, over the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.options import ToolsOption
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.mcp.listening import Place
    from ledger.adapters.settings import Settings
    from ledger.application.ledger import Ledger

HELP = """Serve the ledger to an agent, over the Model Context Protocol.

A client starts it as a process and speaks over standard input and output; with --http it listens for several
(streamable HTTP). It speaks for the one actor that --actor names, in the session that --session names, or in
one drawn for this start; no model can say who writes, for which tenant, or that anybody was authenticated.

Tools are the commands that an agent may use, and contract, brief, may, runs, log, ask, questions and verify.
--list shows them, and which commands are not offered and why. Effects are not performed over MCP: the ledger
runs no tool. --tools MODULE declares your program's tools, so that `may` knows how each is declared; it is
imported, so it must be yours. --runtime says what runs, field by field (model, prompt, …).

--http listens on 127.0.0.1 unless told; anywhere else every request has to bring the token that the variable
named by --token-in holds, as `Authorization: Bearer TOKEN`. There is no TLS: put it behind a proxy that has,
and name with --name under which host clients reach it. The ledger has to be there; --create makes one.

\b
Exit codes: 0 the client has gone, or listening was ended by SIGTERM, 3 could
not run, 64 the command line is malformed, 130 ended by Ctrl-C.
Examples:
  intent-ledger mcp --list
  intent-ledger mcp --ledger ./ledger.db --actor agent:refunds --session s-1
  intent-ledger mcp --actor agent:refunds --http 127.0.0.1:8765
  MCP_TOKEN=… intent-ledger mcp --actor agent:refunds --http 0.0.0.0:8765 \\
      --token-in MCP_TOKEN --name ledger.example
"""


@verb(actor=True)
def mcp(
    call: Call,
    listing: Annotated[
        bool, typer.Option("--list", help="Show the tools, and what is not offered; needs no ledger.")
    ] = False,
    http: Annotated[
        str | None,
        typer.Option(
            "--http", metavar="HOST:PORT", help="Listen there; port 0: a free one.", show_default=False
        ),
    ] = None,
    token_in: Annotated[
        str | None,
        typer.Option(
            "--token-in", metavar="VARIABLE", help="Where the token of --http stands.", show_default=False
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name", metavar="HOST", help="Host that clients name; repeatable.", show_default=False
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            "--session", metavar="ID", help="Session of the actor; else one is drawn.", show_default=False
        ),
    ] = None,
    runtime: Annotated[
        list[str] | None,
        typer.Option(
            "--runtime",
            metavar="KEY=VALUE",
            help="What runs; repeatable, or one JSON object.",
            show_default=False,
        ),
    ] = None,
    tools: ToolsOption = None,
    create: Annotated[bool, typer.Option("--create", help="Make the ledger where there is none.")] = False,
) -> None:
    """Serve the ledger over MCP."""
    screen = call.screen
    if listing:
        _list(screen)
        return
    settings = call.settings
    if settings.actor is None:
        raise typer.BadParameter("say for whom it speaks: --actor agent:NAME (nobody is taken for granted)")
    _check_installed()
    place = _place(http, token_in, name or [])
    _serve(screen, settings, session, runtime, tools, place, create=create)


def _serve(
    screen: Screen,
    settings: Settings,
    session: str | None,
    runtime: list[str] | None,
    tools: str | None,
    place: Place | None,
    *,
    create: bool,
) -> None:
    import contextlib
    import sys
    from threading import Event

    import anyio

    from ledger.adapters.cli.opening import note_unknown_tenant
    from ledger.adapters.cli.project_options import told_to_end
    from ledger.adapters.cli.resume import asks_as, runtime_of
    from ledger.adapters.cli.tool_modules import declared_in
    from ledger.adapters.mcp.desk import Desk
    from ledger.stores.stamps import new_id

    told = runtime_of(runtime)
    # A client reads every line of standard output as one of the protocol's.
    with contextlib.redirect_stdout(sys.stderr):
        declared = declared_in(tools)

    async def serve(opened: Ledger) -> None:
        actor = asks_as(opened, settings, session)
        if actor.session is None:
            # Two servers in no session would be taken for one program that was started again.
            actor = actor.with_fields({"session": f"mcp-{new_id()}"})
            screen.note(f"session {actor.session}, drawn for this start: --session names one to keep")
        desk = Desk(opened, actor, runtime=told, tools=declared.tools, url=settings.url)
        try:
            if place is None:
                from ledger.adapters.mcp.server import serve_stdio

                await serve_stdio(desk)
            else:
                from ledger.adapters.mcp.listening import serve_http

                # The server hears SIGTERM itself, and hands it on once it has ended.
                with told_to_end(Event(), screen):
                    await serve_http(desk, place, lambda address: screen.note(f"listening on {address}"))
        finally:
            await desk.close()

    with _opened(settings, declared.secrets, create=create) as opened:
        note_unknown_tenant(opened, screen)
        anyio.run(serve, opened)


def _opened(settings: Settings, secrets: Any, *, create: bool) -> Ledger:
    from ledger.adapters.cli.opening import is_there, open_for_reading, open_for_writing

    if create and not is_there(settings):
        open_for_writing(settings).close()
    return open_for_reading(settings, secrets=secrets)


def _place(http: str | None, token_in: str | None, names: list[str]) -> Place | None:
    """Read where to listen; None: nowhere.

    Raises:
        typer.BadParameter: an option goes with --http, or a variable is not set.
        InvalidInput: others could reach it and need no token.
    """
    if http is None:
        if token_in is not None or names:
            raise typer.BadParameter("--token-in and --name go with --http")
        return None
    from ledger.adapters.mcp.listening import place_of
    from ledger.adapters.settings import secret_in

    token = None if token_in is None else secret_in(token_in)
    if token_in is not None and token is None:
        raise typer.BadParameter(f"--token-in: the environment variable {token_in} is not set")
    return place_of(http, token=token, names=names)


def _check_installed() -> None:
    """Make sure that the SDK is there.

    Raises:
        InvalidInput: it is not; the reason says which extra has it.
    """
    from importlib.util import find_spec

    from ledger.canonical import invalid

    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise invalid("mcp", "the protocol needs its SDK: pip install '.[mcp]' in a checkout")


def _list(screen: Screen) -> None:
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.mcp.tools import not_offered, tools

    offered, missing = tools(), not_offered()
    if screen.as_json:
        screen.document(
            {
                "tools": [
                    {
                        "name": one.name,
                        "title": one.title,
                        "description": one.about,
                        "input_schema": one.takes,
                        "output_schema": one.answers,
                        "reads": one.reads,
                        "ends": one.ends,
                        "repeatable": one.is_repeatable,
                    }
                    for one in offered.values()
                ],
                "not_offered": [{"command": name, "why": why} for name, why in missing.items()],
            }
        )
        return
    rows = [(one.name, "reads" if one.reads else "says", _first(one.about)) for one in offered.values()]
    screen.table([Column("TOOL"), Column(""), Column("WHAT IT IS FOR")], rows)
    screen.line()
    screen.table([Column("NOT OFFERED"), Column("WHY")], list(missing.items()))


def _first(words: str) -> str:
    return words.partition("\n")[0].partition(". ")[0].removesuffix(".").partition(": ")[0]
