"""Connections over HTTP: how many there may be, and for how long one may keep the server waiting."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE_SECONDS = 20.0
"""How long a client may take to send a whole request, from the connection or the answer before it on."""
MOST = 400
"""Connections that are served at once; those beyond are closed."""


def protocol_of(patience: float = PATIENCE_SECONDS, most: int | None = None) -> type[asyncio.Protocol]:
    """Build the protocol that each connection is served by.

    Args:
        patience: seconds that a client may take to send a request.
        most: connections that are served at once; None: as many as the descriptors of this process allow,
            at most `MOST`.
    """
    allowed = _allowed() if most is None else most

    class Protocol(H11Protocol):
        """Serves one connection, and closes it where its client does not send what it began."""

        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > allowed:
                transport.abort()
            else:
                self._judge()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._judge()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._judge()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def _judge(self) -> None:
            """Begin to wait, unless a whole request is here; what comes in between begins no longer wait."""
            cycle = self.cycle
            if cycle is not None and not cycle.response_complete and not cycle.more_body:
                self._stop()
            elif self._late is None and not self.transport.is_closing():
                self._late = self.loop.call_later(patience, self._give_up)

        def _give_up(self) -> None:
            self._late = None
            self.transport.abort()

        def _stop(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

    return Protocol


def _allowed() -> int:
    """Leave half of the descriptors to the ledger: a process that has none left accepts nobody."""
    try:
        import resource
    except ImportError:  # not on this system
        return MOST
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(1, min(MOST, soft // 2))
