"""Orders as a tool places them, and the clock of the server that takes them."""

from __future__ import annotations

from typing import Any, NamedTuple

import httpx

from tests.outside.outside import client


class Order(NamedTuple):
    """An order that was placed; `repeats` counts the requests that were answered with it again."""

    id: int
    key: str
    body: Any
    at: int
    repeats: int


def order(base_url: str, key: str, body: Any) -> Order:
    """Place an order under a key, or under none ("").

    Raises httpx.HTTPStatusError for an answer that is no success, httpx.TransportError where there is none.
    """
    with client(base_url) as http:
        headers = {"Idempotency-Key": key} if key else {}
        return read(http.post("/orders", json=body, headers=headers).raise_for_status())


def orders(base_url: str) -> list[Order]:
    """Return the orders in which they were placed."""
    with client(base_url) as http:
        return [Order(**item) for item in http.get("/orders").raise_for_status().json()]


def advance(base_url: str, seconds: int) -> None:
    """Let the server's clock go on."""
    with client(base_url) as http:
        http.post("/clock", json={"advance": seconds}).raise_for_status()


def remember(base_url: str, seconds: int) -> None:
    """Let the server forget each key this long after its order was placed; at first it is a day."""
    with client(base_url) as http:
        http.post("/clock", json={"remember": seconds}).raise_for_status()


def read(answer: httpx.Response) -> Order:
    """Return the order that an answer tells of."""
    return Order(**answer.json())
