"""The process that takes payments: localstripe, on a port of 127.0.0.1, with a script before it.

localstripe honours no idempotency key, so a payment sent twice is two payments; who wants to know whether one
was made must ask.
"""

from __future__ import annotations

from aiohttp import web
from localstripe.resources import store  # type: ignore[import-untyped]
from localstripe.server import app  # type: ignore[import-untyped]

from tests.outside.serving import Script, control, listen, played, run

CHANGING = ("/v1/charges", "/v1/payment_intents", "/v1/refunds")


def changes(request: web.Request) -> bool:
    return request.method == "POST" and request.path.startswith(CHANGING)


def keep_nothing() -> None:
    """Stand in for the file that all servers of a machine would share."""


async def start() -> dict[str, int]:
    script = Script()
    store.dump_to_disk = keep_nothing
    app.middlewares.insert(0, played(script, changes))
    return {"port": await listen(app), "control": await listen(control(script, store.clear))}


if __name__ == "__main__":
    run(start)
