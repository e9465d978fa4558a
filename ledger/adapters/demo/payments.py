"""The payment server of the demonstration: it keeps its own record, and loses its first answer.

    python -m ledger.adapters.demo.payments

Says on which port it listens, as one line of JSON, and goes on until its standard input ends.

    POST /charges   {"key", "order", "amount"}: charges a card
    GET /charges    what was charged, with the keys, and how often it was asked to charge
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Charges:
    """What the server did."""

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []
        self.ended = threading.Event()

    def charge(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Charge a card; that the same was asked before makes no difference to this server."""
        made = {"id": f"ch_{len(self.made) + 1}", **asked}
        self.made.append(made)
        return made


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    charges: Charges

    def do_POST(self) -> None:
        """Charge, and keep the first answer back."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        made = self.charges.charge(asked)
        if made["id"] == "ch_1":
            self.charges.ended.wait()
        self._answer(made)

    def do_GET(self) -> None:
        """Say what was charged."""
        self._answer({"charges": self.charges.made})

    def log_message(self, *args: Any) -> None:
        """Say nothing on the screen of the demonstration."""

    def _answer(self, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def serve() -> None:
    """Serve until standard input ends, as it does when who started this is gone."""
    Handler.charges = Charges()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdout.write(json.dumps({"port": server.server_address[1]}) + "\n")
        sys.stdout.flush()
        sys.stdin.buffer.read()
        Handler.charges.ended.set()
        server.shutdown()


if __name__ == "__main__":
    serve()
