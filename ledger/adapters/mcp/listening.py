"""Serving over streamable HTTP: where it listens, and who is let in."""

from __future__ import annotations

import hmac
import ipaddress
import json
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from ledger.adapters.mcp.connections import protocol_of
from ledger.adapters.mcp.desk import Desk
from ledger.adapters.mcp.lines import MOST_BYTES
from ledger.adapters.mcp.server import build_server
from ledger.adapters.mcp.tokens import Bearer
from ledger.canonical import invalid
from ledger.values import Actor

log = logging.getLogger("ledger")

PATH = "/mcp"
_GRACE_SECONDS = 2
"""How long requests under way may take once the server is told to end."""


class Place(NamedTuple):
    """Where to listen, and who is let in."""

    host: str
    port: int
    """0: one that is free."""
    bearers: tuple[Bearer, ...] = ()
    """What every request has to bring one of; empty: whoever reaches it is let in."""
    names: tuple[str, ...] = ()
    """Further names under which clients reach it."""


def place_of(given: str, *, bearers: Iterable[Bearer] = (), names: Iterable[str] = ()) -> Place:
    """Read where to listen, as `HOST:PORT` or `PORT`; without a host it is this machine alone.

    Raises:
        InvalidInput: it is neither, or others could reach it and need no token.
    """
    host, _, port = given.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not (port.isascii() and port.isdecimal() and int(port) < 65536):
        raise invalid("--http", f"{given!r:.80} is not HOST:PORT, as 127.0.0.1:8765")
    tokens = tuple(bearers)
    if not tokens and not _is_here(host):
        raise invalid(
            "--http",
            f"others reach {host!r:.80}: name with --token-in the environment variable that holds the token "
            "which they have to bring, or with --token-file a file of tokens, or listen on 127.0.0.1",
        )
    return Place(host, int(port), tokens, tuple(names))


def listen_at(place: Place) -> socket.socket:
    """Take the place; who connects waits there until it is served.

    Raises:
        OSError: the place is taken, or is none of this machine.
    """
    return socket.create_server((place.host, place.port), family=_family(place))


async def serve_http(
    desk: Desk, place: Place, listening: socket.socket, heard: Callable[[str], None]
) -> None:
    """Serve all who are let in, until the process is told to end.

    Args:
        desk: what is served; of another actor, whom a token names, one beside it.
        place: where.
        listening: what `listen_at` made of the place; the caller closes it.
        heard: told the address once it is served.
    """
    config = uvicorn.Config(
        app_of(desk, place),
        http=protocol_of(),
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    host = f"[{place.host}]" if _family(place) == socket.AF_INET6 else place.host
    heard(f"http://{host}:{listening.getsockname()[1]}{PATH}")
    await uvicorn.Server(config).serve(sockets=[listening])


def _family(place: Place) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in place.host else socket.AF_INET


def app_of(desk: Desk, place: Place) -> ASGIApp:
    """Build the application; a request that names another host, or comes from another site, is refused."""
    names = dict.fromkeys((place.host, *place.names, *(("localhost", "127.0.0.1", "[::1]"))))
    hosts = [f"[{name}]" if ":" in name and not name.startswith("[") else name for name in names]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[form for host in hosts for form in (host, f"{host}:*")],
        # The port of its scheme is left out of an origin.
        allowed_origins=[
            f"{scheme}://{host}{port}"
            for scheme in ("http", "https")
            for host in hosts
            for port in ("", ":*")
        ],
    )

    def app(actor: Actor | None) -> Starlette:
        return build_server(desk if actor is None else desk.beside(actor)).streamable_http_app(
            streamable_http_path=PATH,
            host=place.host,
            max_request_body_size=MOST_BYTES,
            transport_security=security,
        )

    if not place.bearers:
        return app(None)
    # Each actor has sessions of the protocol of its own: the id of one lets nobody speak for another.
    apps = {actor: app(actor) for actor in {one.actor for one in place.bearers}}
    return _Door({one.token.encode(): apps[one.actor] for one in place.bearers})


class _Door:
    """Lets in who brings a token, and leads to whoever speaks with it."""

    def __init__(self, apps: Mapping[bytes, Starlette]) -> None:
        self._apps = apps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await Router(lifespan=self._all_alive)(scope, receive, send)
            return
        brought = [value for name, value in scope["headers"] if name == b"authorization"]
        app = self._app(brought)
        if app is None:
            await _send_away(scope, send, has_token=bool(brought))
            return
        await app(scope, receive, send)

    @asynccontextmanager
    async def _all_alive(self, _: object) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for app in dict.fromkeys(self._apps.values()):
                await stack.enter_async_context(app.router.lifespan_context(app))
            yield

    def _app(self, brought: list[bytes]) -> Starlette | None:
        if len(brought) != 1:
            return None
        scheme, _, token = brought[0].partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        # Each is compared, so that how long it takes tells nothing of any.
        found = [app for known, app in self._apps.items() if hmac.compare_digest(token.strip(b" "), known)]
        return found[0] if found else None


async def _send_away(scope: Scope, send: Send, *, has_token: bool) -> None:
    """Answer a request that brings no token, or none that is known; what it brought is told to nobody."""
    client = scope.get("client")
    code, message, challenge = "no_token", "bring a token, as Authorization: Bearer TOKEN", "Bearer"
    if has_token:
        code, message = "wrong_token", "Authorization is not Bearer and a token that this server knows"
        challenge = 'Bearer error="invalid_token"'
    log.warning("401 %s: a request from %s was not let in", code, client[0] if client else "somebody")
    body = json.dumps({"code": code, "message": message}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"www-authenticate", challenge.encode()),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _is_here(host: str) -> bool:
    """Tell whether only this machine reaches a host."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
