"""The process that takes orders: it does an `Idempotency-Key` once, as long as it remembers it.

- The key of an order that it remembers: that order again (200, `Idempotency-Replayed: true`), however the
  first request was answered; 422 where the body is another.
- A key whose first request is still at work (or held by a test): 409.
- No key: an order each time.

Its clock starts at 0 and moves only when told, so that no test waits for a key to be forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.outside.serving import Handler, Script, control, listen, played, run

KEY = "Idempotency-Key"
DAY = 86_400


@dataclass
class Book:
    """The record of the orders, and for how many seconds each key is remembered."""

    now: int = 0
    remember: int = DAY
    orders: list[dict[str, Any]] = field(default_factory=list)
    at_work: set[str] = field(default_factory=set)

    def forget(self) -> None:
        self.now, self.remember = 0, DAY
        self.orders.clear()

    def remembered(self, key: str) -> dict[str, Any] | None:
        known = (order for order in reversed(self.orders) if key and order["key"] == key)
        return next((order for order in known if self.now - order["at"] < self.remember), None)

    def add(self, key: str, body: Any) -> dict[str, Any]:
        order = {"id": len(self.orders) + 1, "key": key, "body": body, "at": self.now, "repeats": 0}
        self.orders.append(order)
        return order


def changes(request: web.Request) -> bool:
    return request.method == "POST" and request.path == "/orders"


def application(book: Book, script: Script) -> web.Application:
    """Return the server of a book."""

    @web.middleware
    async def one_at_a_time(request: web.Request, handler: Handler) -> web.StreamResponse:
        key = request.headers.get(KEY, "")
        if not changes(request) or not key:
            return await handler(request)
        if key in book.at_work:
            return web.json_response({"error": "the key is at work"}, status=409)
        book.at_work.add(key)
        try:
            return await handler(request)
        finally:
            book.at_work.discard(key)

    async def order(request: web.Request) -> web.Response:
        key, body = request.headers.get(KEY, ""), await request.json()
        known = book.remembered(key)
        if known is None:
            return web.json_response(book.add(key, body), status=201)
        if known["body"] != body:
            return web.json_response({"error": "the key belongs to another order"}, status=422)
        known["repeats"] += 1
        return web.json_response(known, headers={"Idempotency-Replayed": "true"})

    async def orders(_: web.Request) -> web.Response:
        return web.json_response(book.orders)

    async def clock(request: web.Request) -> web.Response:
        told = await request.json()
        book.now += told.get("advance", 0)
        book.remember = told.get("remember", book.remember)
        return web.Response()

    app = web.Application(middlewares=[one_at_a_time, played(script, changes)])
    app.router.add_post("/orders", order)
    app.router.add_get("/orders", orders)
    app.router.add_post("/clock", clock)
    return app


async def start() -> dict[str, int]:
    book, script = Book(), Script()
    port = await listen(application(book, script))
    return {"port": port, "control": await listen(control(script, book.forget))}


if __name__ == "__main__":
    run(start)
