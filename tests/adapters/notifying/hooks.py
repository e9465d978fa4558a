"""A real server that takes what it is posted, and answers as a test wants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Hook:
    """Answers with the codes that `answers` holds, then with 204; before that `waits` is called."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.got: list[tuple[dict[str, str], bytes]] = []
        """Headers by their lower-case names, and the body."""
        self.waits: Callable[[], object] = lambda: None
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
                hook.waits()
                code = hook.answers.pop(0) if hook.answers else 204
                self.send_response(code)
                if code == 307:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *given: object) -> None:
                """Write nothing."""

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except ConnectionError:  # who asked was killed
                    self.close_connection = True

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?token=sesame"

    @property
    def ids(self) -> list[str]:
        """The approvals that were told, in order, each as often as it was."""
        return [headers["idempotency-key"] for headers, _ in list(self.got)]


@contextmanager
def hooked() -> Iterator[Hook]:
    """Let a server run as long as the block lasts."""
    hook = Hook()
    thread = Thread(target=hook.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hook
    finally:
        hook.server.shutdown()
        thread.join()
        hook.server.server_close()
