"""The order server does a key once while it remembers it, and what a test orders."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.outside.manners import HELD, LATE, LOST, UNHEARD, Manner, done_but_answered, refused
from tests.outside.orders import advance, order, orders, remember
from tests.outside.outside import Outside


def status_of(server: Outside, key: str, body: object) -> int:
    with pytest.raises(httpx.HTTPStatusError) as error:
        order(server.url, key, body)
    return error.value.response.status_code


def test_a_key_is_done_once_and_no_key_each_time(order_server: Outside) -> None:
    first = order(order_server.url, "k1", {"of": "tea"})
    assert order(order_server.url, "k1", {"of": "tea"}) == first._replace(repeats=1)
    assert order(order_server.url, "k2", {"of": "tea"}).id != first.id
    order(order_server.url, "", {"of": "tea"})
    order(order_server.url, "", {"of": "tea"})
    assert [(found.key, found.repeats) for found in orders(order_server.url)] == [
        ("k1", 1),
        ("k2", 0),
        ("", 0),
        ("", 0),
    ]


def test_a_key_is_forgotten_when_its_time_has_passed_and_not_before(order_server: Outside) -> None:
    remember(order_server.url, 60)
    first = order(order_server.url, "k1", "tea")
    advance(order_server.url, 59)
    assert order(order_server.url, "k1", "tea").id == first.id
    advance(order_server.url, 1)
    second = order(order_server.url, "k1", "tea")
    assert (second.id, second.at) == (first.id + 1, 60)


def test_a_key_with_another_body_is_refused(order_server: Outside) -> None:
    order(order_server.url, "k1", "tea")
    assert status_of(order_server, "k1", "coffee") == 422
    assert [found.body for found in orders(order_server.url)] == ["tea"]


@pytest.mark.parametrize("manner", [HELD, LATE])
def test_a_key_at_work_is_a_conflict_until_it_is_done(order_server: Outside, manner: Manner) -> None:
    order_server.expect(manner)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(order, order_server.url, "k1", "tea")
        order_server.until_held()
        assert len(orders(order_server.url)) == (1 if manner == HELD else 0)
        assert status_of(order_server, "k1", "tea") == 409
        order_server.release()
        first = waiting.result()
    assert order(order_server.url, "k1", "tea").id == first.id


def test_a_lost_acknowledgement_is_healed_by_the_same_key(order_server: Outside) -> None:
    order_server.expect(LOST, UNHEARD)
    for key in ("lost", "unheard"):
        with pytest.raises(httpx.TransportError):
            order(order_server.url, key, "tea")
    assert [found.key for found in orders(order_server.url)] == ["lost"]
    assert order(order_server.url, "lost", "tea").repeats == 1
    assert order(order_server.url, "unheard", "tea").repeats == 0


def test_what_is_refused_is_not_done_and_its_key_is_still_free(order_server: Outside) -> None:
    order_server.expect(refused(422), refused(503), done_but_answered(500))
    assert [status_of(order_server, key, "tea") for key in ("a", "b", "c")] == [422, 503, 500]
    assert [found.key for found in orders(order_server.url)] == ["c"]
    assert order(order_server.url, "a", "coffee").repeats == 0
    assert order(order_server.url, "c", "tea").repeats == 1


def test_forgetting_takes_back_orders_clock_and_memory(order_server: Outside) -> None:
    remember(order_server.url, 1)
    advance(order_server.url, 5)
    order(order_server.url, "k1", "tea")
    order_server.forget()
    assert orders(order_server.url) == []
    assert order(order_server.url, "k1", "tea").at == 0
    advance(order_server.url, 5)
    assert order(order_server.url, "k1", "tea").repeats == 1
