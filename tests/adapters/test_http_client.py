"""The HTTP clients send an effect's key and tell what an outside has done from what it may have done."""

from __future__ import annotations

import contextvars
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import anyio
import httpx
import pytest

from ledger.adapters import http_client
from ledger.adapters.http_client import (
    DEFINITE_ERRORS,
    REFUSALS,
    AsyncIdempotentClient,
    IdempotentClient,
    NotSent,
    Refusal,
)
from ledger.errors import InvalidInput
from ledger.gateway.current import CurrentEffect, performing
from tests.outside.manners import LOST, UNHEARD, Manner, done_but_answered, refused
from tests.outside.orders import orders, remember
from tests.outside.outside import Outside

KEY = "8e03978e40d5"


class Call(Protocol):
    """Sends one request through a client of either kind, made with the options given."""

    def __call__(self, method: str, url: str, *, json: object = None, **options: Any) -> httpx.Response: ...


def sync_call(method: str, url: str, *, json: object = None, **options: Any) -> httpx.Response:
    with IdempotentClient(**chosen(options)) as http:
        return http.request(method, url, json=json)


def async_call(backend: str) -> Call:
    def call(method: str, url: str, *, json: object = None, **options: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            async with AsyncIdempotentClient(**chosen(options)) as http:
                return await http.request(method, url, json=json)

        return anyio.run(send, backend=backend)

    return call


def chosen(options: dict[str, Any]) -> dict[str, Any]:
    """Complete the options of a client, None leaving one out; `verify` only spares loading certificates."""
    complete = {"key_of": lambda: KEY, "trust_env": False, "verify": False} | options
    return {name: option for name, option in complete.items() if option is not None}


@pytest.fixture(params=["sync", "asyncio", "trio"])
def call(request: pytest.FixtureRequest) -> Call:
    return sync_call if request.param == "sync" else async_call(request.param)


@pytest.fixture(autouse=True)
def fresh_context() -> Iterator[None]:
    """Let no test know what another has sent under the same key."""
    token = http_client._perhaps_done.set(())
    yield
    http_client._perhaps_done.reset(token)


def answering(*answers: httpx.Response) -> tuple[list[httpx.Request], httpx.MockTransport]:
    """Return a transport that gives these answers in turn, and the requests that it has seen."""
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return answers[len(seen) - 1] if answers else httpx.Response(200)

    return seen, httpx.MockTransport(answer)


def outside_of_effects() -> str:
    raise LookupError("no effect")


# --- the key -----------------------------------------------------------------------------------


def test_a_change_sent_twice_is_done_once(order_server: Outside, call: Call) -> None:
    first = call("POST", f"{order_server.url}/orders", json={"of": "tea"})
    again = call("POST", f"{order_server.url}/orders", json={"of": "tea"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    assert [(order.key, order.repeats) for order in orders(order_server.url)] == [(KEY, 1)]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_every_change_carries_the_key(call: Call, method: str) -> None:
    seen, transport = answering()
    call(method, "http://shop.example/orders/1", transport=transport)
    assert seen[0].headers["Idempotency-Key"] == KEY


def test_the_key_is_that_of_the_effect_at_work(call: Call) -> None:
    seen, transport = answering()
    with performing(CurrentEffect("of-the-effect", 1, "place", None)):
        call("POST", "http://shop.example/", transport=transport, key_of=None)
    assert seen[0].headers["Idempotency-Key"] == "of-the-effect"


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_a_reading_request_carries_none_and_is_left_as_it_is(call: Call, method: str) -> None:
    seen, transport = answering(httpx.Response(404))
    answer = call(method, "http://shop.example/orders/1", transport=transport, key_of=outside_of_effects)
    assert answer.status_code == 404
    assert "Idempotency-Key" not in seen[0].headers


def test_a_reading_request_that_never_left_says_nothing_of_the_effect(call: Call, nowhere: str) -> None:
    with pytest.raises(httpx.ConnectError):
        call("GET", nowhere)


def test_nothing_is_changed_outside_of_an_effect(call: Call) -> None:
    seen, transport = answering()
    with pytest.raises(LookupError, match="only inside an effect"):
        call("POST", "http://shop.example/orders", transport=transport, key_of=outside_of_effects)
    assert seen == []


def test_the_header_is_named_and_written_as_the_outside_wants_it(call: Call) -> None:
    seen, transport = answering()
    call("POST", "http://shop.example/", transport=transport, header="X-Request-Id", quoted=True)
    assert seen[0].headers["X-Request-Id"] == f'"{KEY}"'
    assert "Idempotency-Key" not in seen[0].headers


def test_another_key_of_the_callers_is_refused_and_its_own_is_not(call: Call) -> None:
    seen, transport = answering()
    with pytest.raises(InvalidInput) as error:
        call("POST", "http://shop.example/", transport=transport, headers={"Idempotency-Key": "mine"})
    assert (error.value.path, seen) == ("Idempotency-Key", [])
    call("POST", "http://shop.example/", transport=transport, headers={"Idempotency-Key": KEY})
    assert len(seen) == 1


# --- definite ends -----------------------------------------------------------------------------


@pytest.mark.parametrize("status", sorted(REFUSALS))
def test_a_refusal_is_definite_and_the_outside_did_nothing(
    order_server: Outside, call: Call, status: int
) -> None:
    order_server.expect(refused(status))
    with pytest.raises(Refusal) as error:
        call("POST", f"{order_server.url}/orders", json="tea")
    assert error.value.response.status_code == status
    assert isinstance(error.value, httpx.HTTPStatusError)
    assert orders(order_server.url) == []


def test_a_key_used_for_another_body_is_a_refusal_with_the_answer_to_read(
    order_server: Outside, call: Call
) -> None:
    call("POST", f"{order_server.url}/orders", json="tea")
    with pytest.raises(httpx.HTTPStatusError) as error:
        call("POST", f"{order_server.url}/orders", json="coffee")
    assert error.value.response.json() == {"error": "the key belongs to another order"}
    assert [order.body for order in orders(order_server.url)] == ["tea"]


def test_a_status_of_the_outsides_own_may_be_a_refusal(call: Call) -> None:
    _, transport = answering(httpx.Response(402))
    with pytest.raises(Refusal):
        call("POST", "http://shop.example/", transport=transport, refusals=REFUSALS | {402})


def test_a_request_that_never_left_is_definite(call: Call, nowhere: str) -> None:
    with pytest.raises(NotSent) as error:
        call("POST", nowhere)
    assert isinstance(error.value.__cause__, httpx.ConnectError)
    assert error.value.request.method == "POST"
    with pytest.raises(NotSent):
        call("POST", "ftp://127.0.0.1/orders")


@pytest.mark.parametrize("cause", [httpx.ConnectTimeout, httpx.PoolTimeout])
def test_a_time_out_before_the_sending_is_definite(
    call: Call, cause: Callable[[str], httpx.TransportError]
) -> None:
    with pytest.raises(NotSent):
        call("POST", "http://shop.example/", transport=failing(cause))


def test_a_refusal_counts_though_its_body_breaks_off(call: Call) -> None:
    with broken_answer(b"HTTP/1.1 422 No\r\nContent-Length: 100\r\n\r\nhalf") as url, pytest.raises(Refusal):
        call("POST", url)


# --- ends that say nothing ---------------------------------------------------------------------


@pytest.mark.parametrize("status", [302, 402, 408, 409, 425, 429, 500, 502, 503, 504])
def test_a_status_that_may_follow_a_deed_is_unknown(order_server: Outside, call: Call, status: int) -> None:
    order_server.expect(done_but_answered(status))
    with pytest.raises(httpx.HTTPStatusError) as error:
        call("POST", f"{order_server.url}/orders", json="tea")
    assert not isinstance(error.value, DEFINITE_ERRORS)
    assert len(orders(order_server.url)) == 1


@pytest.mark.parametrize(("manner", "done"), [(LOST, 1), (UNHEARD, 0)])
def test_a_lost_answer_is_unknown_and_the_same_key_heals_it(
    order_server: Outside, call: Call, manner: Manner, done: int
) -> None:
    order_server.expect(manner)
    with pytest.raises(httpx.TransportError) as error:
        call("POST", f"{order_server.url}/orders", json="tea")
    assert not isinstance(error.value, DEFINITE_ERRORS)
    assert len(orders(order_server.url)) == done
    assert call("POST", f"{order_server.url}/orders", json="tea").json()["repeats"] == done
    assert len(orders(order_server.url)) == 1


def test_after_the_outside_has_forgotten_the_key_it_does_it_again(order_server: Outside, call: Call) -> None:
    remember(order_server.url, 0)
    for _ in range(2):
        call("POST", f"{order_server.url}/orders", json="tea")
    assert len(orders(order_server.url)) == 2


def test_a_success_whose_body_breaks_off_is_unknown(call: Call) -> None:
    broken = broken_answer(b"HTTP/1.1 201 Made\r\nContent-Length: 100\r\n\r\nhalf")
    with broken as url, pytest.raises(httpx.RemoteProtocolError):
        call("POST", url)


@pytest.mark.parametrize("cause", [httpx.ReadTimeout, httpx.WriteTimeout, httpx.WriteError, httpx.ProxyError])
def test_what_breaks_on_the_way_is_unknown(call: Call, cause: Callable[[str], httpx.TransportError]) -> None:
    with pytest.raises(httpx.TransportError) as error:
        call("POST", "http://shop.example/", transport=failing(cause))
    assert not isinstance(error.value, DEFINITE_ERRORS)


# --- more than one request ---------------------------------------------------------------------


@pytest.mark.parametrize("second", [httpx.Response(422), httpx.ConnectError("no")])
@pytest.mark.parametrize("first", [httpx.Response(201), httpx.Response(503), httpx.ReadError("cut")])
def test_nothing_is_definite_after_a_request_under_the_same_key_that_may_have_been_done(
    first: httpx.Response | httpx.TransportError, second: httpx.Response | httpx.TransportError
) -> None:
    with IdempotentClient(key_of=lambda: KEY, transport=in_turn(first, second)) as http:
        with suppress(httpx.HTTPError):
            http.post("http://shop.example/a")
        with pytest.raises(httpx.HTTPError) as error:
            http.post("http://shop.example/b")
    assert not isinstance(error.value, DEFINITE_ERRORS)


@pytest.mark.parametrize("first", [httpx.Response(422), httpx.ConnectError("no")])
def test_a_definite_end_leaves_the_next_one_definite(first: httpx.Response | httpx.TransportError) -> None:
    with IdempotentClient(key_of=lambda: KEY, transport=in_turn(first, httpx.Response(422))) as http:
        for _ in range(2):
            with pytest.raises(DEFINITE_ERRORS):
                http.post("http://shop.example/")


def test_an_effect_inside_another_does_not_hide_what_the_other_has_sent() -> None:
    keys = iter(["outer", "inner", "outer", "next"])
    answers = [httpx.Response(201), httpx.Response(201), httpx.Response(422), httpx.Response(422)]
    with IdempotentClient(key_of=lambda: next(keys), transport=in_turn(*answers)) as http:
        http.post("http://shop.example/")
        http.post("http://shop.example/")
        with pytest.raises(httpx.HTTPStatusError) as error:
            http.post("http://shop.example/")
        assert not isinstance(error.value, Refusal)
        with pytest.raises(Refusal):
            http.post("http://shop.example/")


def test_what_another_thread_or_task_has_sent_counts_for_itself() -> None:
    answers = in_turn(httpx.Response(201), httpx.Response(422))
    with IdempotentClient(key_of=lambda: KEY, transport=answers) as http:
        contextvars.Context().run(http.post, "http://shop.example/")
        with pytest.raises(Refusal):
            http.post("http://shop.example/")


@pytest.mark.parametrize(("passed", "definite"), [(307, True), (308, True), (302, False), (303, False)])
def test_a_refusal_after_a_redirect_counts_where_the_redirect_did_nothing(
    call: Call, passed: int, definite: bool
) -> None:
    moved = httpx.Response(passed, headers={"Location": "/there"})
    seen, transport = answering(moved, httpx.Response(404))
    with pytest.raises(httpx.HTTPStatusError) as error:
        call("POST", "http://shop.example/", transport=transport, follow_redirects=True)
    assert (isinstance(error.value, Refusal), len(seen)) == (definite, 2)


def test_a_connection_that_fails_after_a_redirect_is_unknown(call: Call) -> None:
    moved = httpx.Response(303, headers={"Location": "/there"})
    with pytest.raises(httpx.ConnectError):
        call(
            "POST",
            "http://shop.example/",
            transport=in_turn(moved, httpx.ConnectError("no")),
            follow_redirects=True,
        )


# --- streams and messages ----------------------------------------------------------------------


def test_a_streamed_answer_is_judged_before_it_is_read(order_server: Outside) -> None:
    order_server.expect(Manner(), refused(422))
    keys = iter(["one", "other"])
    with IdempotentClient(**chosen({"base_url": order_server.url, "key_of": lambda: next(keys)})) as http:
        with http.stream("POST", "/orders", json="tea") as response:
            assert not response.is_closed
            assert response.read()
        with pytest.raises(Refusal), http.stream("POST", "/orders", json="tea"):
            pytest.fail("a refusal has no stream")


def test_an_error_tells_no_path_and_no_query(call: Call) -> None:
    _, transport = answering(httpx.Response(422))
    with pytest.raises(Refusal) as error:
        call("POST", "http://shop.example/hooks/s3cret?token=s3cret", transport=transport)
    assert str(error.value) == "shop.example answered POST with 422 Unprocessable Entity"


# --- what answers ------------------------------------------------------------------------------


@pytest.fixture
def nowhere() -> Iterator[str]:
    """Return an address that refuses connections: somebody has it, and does not listen."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{holder.getsockname()[1]}/orders"


@contextmanager
def broken_answer(answer: bytes) -> Iterator[str]:
    """Give the address of a server that answers one request with these bytes and closes the connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor() as pool:

        def serve() -> None:
            line, _ = listener.accept()
            with line, line.makefile("rb") as stream:
                while stream.readline().strip():
                    pass
                line.sendall(answer)

        served = pool.submit(serve)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/orders"
        served.result()


def failing(cause: Callable[[str], httpx.TransportError]) -> httpx.MockTransport:
    return in_turn(cause("as ordered"))


def in_turn(*ends: httpx.Response | httpx.TransportError) -> httpx.MockTransport:
    left = iter(ends)

    def answer(_: httpx.Request) -> httpx.Response:
        end = next(left)
        if isinstance(end, httpx.TransportError):
            raise end
        return httpx.Response(end.status_code, headers=end.headers)

    return httpx.MockTransport(answer)
