"""Serving over streamable HTTP: where it listens, and who is let in."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Callable, Iterable
from typing import NamedTuple

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from ledger.adapters.mcp.connections import protocol_of
from ledger.adapters.mcp.desk import Desk
from ledger.adapters.mcp.lines import MOST_BYTES
from ledger.adapters.mcp.server import build_server
from ledger.canonical import invalid

PATH = "/mcp"
SHORTEST_TOKEN = 16
"""Characters of the shortest token that is taken."""
_GRACE_SECONDS = 2
"""How long requests under way may take once the server is told to end."""


class Place(NamedTuple):
    """Where to listen, and who is let in."""

    host: str
    port: int
    """0: one that is free."""
    token: str | None = None
    """What every request has to bring as a bearer; None: whoever reaches it is let in."""
    names: tuple[str, ...] = ()
    """Further names under which clients reach it."""


def place_of(given: str, *, token: str | None = None, names: Iterable[str] = ()) -> Place:
    """Read where to listen, as `HOST:PORT` or `PORT`; without a host it is this machine alone.

    Raises:
        InvalidInput: it is neither, the token is too short, or others could reach it and need no token.
    """
    host, _, port = given.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not (port.isascii() and port.isdecimal() and int(port) < 65536):
        raise invalid("--http", f"{given!r:.80} is not HOST:PORT, as 127.0.0.1:8765")
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise invalid("--token-in", f"a token has at least {SHORTEST_TOKEN} characters")
    if token is None and not _is_here(host):
        raise invalid(
            "--http",
            f"others reach {host!r:.80}: name with --token-in the environment variable that holds the token "
            "which they have to bring, or listen on 127.0.0.1",
        )
    return Place(host, int(port), token, tuple(names))


async def serve_http(desk: Desk, place: Place, heard: Callable[[str], None]) -> None:
    """Serve all who are let in, until the process is told to end.

    Args:
        desk: what is served.
        place: where.
        heard: told the address once it listens.

    Raises:
        OSError: the place is taken, or is none of this machine.
    """
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    with socket.create_server((place.host, place.port), family=family) as listening:
        port = listening.getsockname()[1]
        app = app_of(desk, place)
        config = uvicorn.Config(
            app,
            http=protocol_of(),
            ws="none",
            log_config=None,
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        host = f"[{place.host}]" if family == socket.AF_INET6 else place.host
        heard(f"http://{host}:{port}{PATH}")
        await uvicorn.Server(config).serve(sockets=[listening])


def app_of(desk: Desk, place: Place) -> ASGIApp:
    """Build the application; a request that names another host, or comes from another site, is refused."""
    names = dict.fromkeys((place.host, *place.names, *(("localhost", "127.0.0.1", "[::1]"))))
    hosts = [f"[{name}]" if ":" in name and not name.startswith("[") else name for name in names]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[form for host in hosts for form in (host, f"{host}:*")],
        allowed_origins=[f"{scheme}://{host}:*" for scheme in ("http", "https") for host in hosts],
    )
    app = build_server(desk).streamable_http_app(
        streamable_http_path=PATH,
        host=place.host,
        max_request_body_size=MOST_BYTES,
        transport_security=security,
    )
    return app if place.token is None else _Door(app, place.token)


class _Door:
    """Lets in who brings the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_let_in(scope):
            headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        await self._app(scope, receive, send)

    def _is_let_in(self, scope: Scope) -> bool:
        brought = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(brought) != 1:
            return False
        scheme, _, token = brought[0].partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(b" "), self._expected)


def _is_here(host: str) -> bool:
    """Tell whether only this machine reaches a host."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
