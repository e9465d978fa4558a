"""`mcp`: the ledger as tools and resources for agents, over the Model Context Protocol."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.options import ToolsOption
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    import socket

    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.mcp.listening import Place
    from ledger.adapters.mcp.tokens import Bearer
    from ledger.adapters.settings import Settings
    from ledger.application.ledger import Ledger
    from ledger.values import Actor

HELP = """Serve the ledger to an agent, over the Model Context Protocol.

A client starts it as a process and speaks over standard input and output; with --http it listens for several
(streamable HTTP). It speaks for the one actor that --actor names, in the session that --session names, or in
one drawn for this start; no model can say who writes, for which tenant, or that anybody was authenticated.

Tools are the commands that an agent may use, and contract, brief, may, runs, log, ask, questions and verify.
--list shows them, and which commands are not offered and why. Effects are not performed over MCP: the ledger
runs no tool. --tools MODULE declares your program's tools, so that `may` knows how each is declared; it is
imported, so it must be yours. --runtime says what runs, field by field (model, prompt, …).

--http listens on 127.0.0.1 unless told; anywhere else every request has to bring a token, as `Authorization:
Bearer TOKEN`: the one that the variable named by --token-in holds, or one of those in --token-file, whose
lines are TOKEN, then KIND:NAME and SESSION of who speaks with it, if that is not the --actor. There is no
TLS: put it behind a proxy that has, and name with --name under which host clients reach it. The ledger has to
be there; --create makes one.

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

_ActorOption = Annotated[
    str | None,
    typer.Option(
        "--actor",
        metavar="KIND:NAME",
        help="For whom it speaks, e.g. agent:refunds. Else INTENT_LEDGER_ACTOR; there is no default.",
        show_default=False,
    ),
]


@verb(actor=_ActorOption)
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
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="A token a line, and who speaks with it.",
            show_default=False,
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
    if http is None and (token_in is not None or token_file is not None or name):
        raise typer.BadParameter("--token-in, --token-file and --name go with --http")
    bearers = _bearers(token_in, token_file)
    if settings.actor is None and not (bearers and all(one.actor for one in bearers)):
        raise typer.BadParameter("say for whom it speaks: --actor agent:NAME (nobody is taken for granted)")
    _check_installed()
    place = None if http is None else _place(http, bearers, name or [])
    _serve(call, session, runtime, tools, place, create=create)


def _serve(
    call: Call,
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

    screen, settings = call.screen, call.settings
    told = runtime_of(runtime)
    # A client reads every line of standard output as one of the protocol's.
    with contextlib.redirect_stdout(sys.stderr):
        declared = declared_in(tools)

    async def serve(opened: Ledger, listening: socket.socket | None) -> None:
        own = None if settings.actor is None else asks_as(opened, settings, session)
        actor, there = _in_sessions(screen, own, place)
        desk = Desk(opened, actor, runtime=told, tools=declared.tools, url=settings.url)
        try:
            if there is None or listening is None:
                from ledger.adapters.mcp.server import serve_stdio

                await serve_stdio(desk)
            else:
                from ledger.adapters.mcp.listening import serve_http

                # The server hears SIGTERM itself, and hands it on once it has ended.
                with told_to_end(Event(), screen):
                    await serve_http(desk, there, listening, lambda at: screen.note(f"listening on {at}"))
        finally:
            await desk.close()

    # First the place: where it is taken, no ledger is made.
    with _listening(place) as listening, _opened(settings, declared.secrets, create=create) as opened:
        note_unknown_tenant(opened, screen)
        anyio.run(serve, opened, listening)


def _listening(place: Place | None) -> AbstractContextManager[socket.socket | None]:
    if place is None:
        return nullcontext()
    from ledger.adapters.mcp.listening import listen_at

    return listen_at(place)


def _opened(settings: Settings, secrets: Any, *, create: bool) -> Ledger:
    from ledger.adapters.cli.opening import is_there, open_for_reading, open_for_writing

    if create and not is_there(settings):
        open_for_writing(settings).close()
    return open_for_reading(settings, secrets=secrets)


def _in_sessions(screen: Screen, own: Actor | None, place: Place | None) -> tuple[Actor, Place | None]:
    """Give each who speaks a session, and tell those that are drawn; the first speaks where no token does."""
    from ledger.stores.stamps import new_id

    bearers = () if place is None else place.bearers
    who: dict[Actor, Actor] = {}
    for actor in (own, *(one.actor for one in bearers)):
        if actor is None or actor in who:
            continue
        who[actor] = actor
        if actor.session is None:
            # Two servers in no session would be taken for one program that was started again.
            who[actor] = actor.with_fields({"session": f"mcp-{new_id()}"})
            name, named = ("", "--session") if actor is own else (f" of {actor.id}", "the file of tokens")
            told = f"session {who[actor].session}{name}, drawn for this start"
            screen.note(f"{told}: {named} names one to keep")
    first = next(iter(who.values()))
    if place is None:
        return first, None
    spoken = tuple(one._replace(actor=None if one.actor is None else who[one.actor]) for one in place.bearers)
    return first, place._replace(bearers=spoken)


def _bearers(token_in: str | None, token_file: Path | None) -> tuple[Bearer, ...]:
    """Read what clients have to bring; nothing where no option says so.

    Raises:
        typer.BadParameter: a variable is not set, or both options are there.
        InvalidInput: what they name is no token.
    """
    from ledger.adapters.mcp.tokens import Bearer, bearers_in, checked
    from ledger.adapters.settings import secret_in

    if token_file is not None:
        if token_in is not None:
            raise typer.BadParameter("say either --token-in or --token-file")
        return bearers_in(token_file)
    if token_in is None:
        return ()
    token = secret_in(token_in)
    if token is None:
        raise typer.BadParameter(f"--token-in: the environment variable {token_in} is not set")
    return checked((Bearer(token),), "--token-in")


def _place(http: str, bearers: tuple[Bearer, ...], names: list[str]) -> Place:
    """Read where to listen.

    Raises:
        InvalidInput: it is no place, or others could reach it and need no token.
    """
    from ledger.adapters.mcp.listening import place_of

    return place_of(http, bearers=bearers, names=names)


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
