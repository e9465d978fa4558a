"""HTTP clients for tools: each change is sent under the key of the effect that it belongs to.

    with IdempotentClient(base_url="https://shop.example") as http:
        def place_order(order: int) -> dict[str, Any]:
            return http.post("/orders", json={"order": order}).json()

They are httpx's own clients (`pip install '.[http]'` in a checkout) and differ in what they do with `POST`,
`PUT`, `PATCH` and `DELETE`. The header `Idempotency-Key` carries the effect's key, so that an outside that
honours it does an effect once, however often it is sent. And how a request ends is told apart by what it says
about the outside; declare `DEFINITE_ERRORS` with the tool as those that mean: nothing was done.

| the end of a request | did the outside do it? | the client |
|---|---|---|
| 2xx | yes | returns the response |
| 400, 401, 403, 404, 405, 410, 412, 413, 415, 422 | no | raises `Refusal` |
| no connection was made, no place in the pool came free | no, it never left | raises `NotSent` |
| 409 | perhaps: a request with this key may be at work right now | raises `httpx.HTTPStatusError` |
| 408, 425, 429, 5xx, a redirect, any other status | perhaps | raises `httpx.HTTPStatusError` |
| the connection broke, or time ran out | perhaps | raises httpx's own error |

422 is also the answer to a key that was used with another body. The key is made from the effect's arguments,
so send nothing else that varies: a body with the time of day in it is another body at the second attempt.

A definite end speaks of *this* request only. Where an earlier request under the same key may have been done,
in the same thread or task, what would be definite stays unknown; that also keeps a tool right that sends two
changes, of which the second is refused. Better is one effect for each change: both would carry one key, and
an outside may answer the second with the result of the first.

Source: IETF HTTPAPI working group, draft "The Idempotency-Key HTTP Header Field", for 409 and 422.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import httpx

from ledger.canonical import invalid
from ledger.gateway.current import current_effect

CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
REFUSALS: Final = frozenset({400, 401, 403, 404, 405, 410, 412, 413, 415, 422})
"""Statuses by which an outside says that it has done nothing."""

_NEVER_LEFT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
_KEEPS_METHOD = frozenset({307, 308})

_perhaps_done: ContextVar[tuple[str, ...]] = ContextVar("perhaps_done", default=())
"""The last keys under which this thread or task sent what may have been done."""
_REMEMBERED = 8


class Refusal(httpx.HTTPStatusError):
    """The outside refused and did nothing: mend what was sent, or give up; `response` holds its answer."""


class NotSent(httpx.TransportError):
    """The request never left, so the outside did nothing: try again; the cause is httpx's own error."""


DEFINITE_ERRORS: Final = (Refusal, NotSent)
"""What to declare with a tool as errors after which the outside is as it was."""


def key_of_effect() -> str:
    """Return the key of the effect that is being performed.

    Raises:
        LookupError: none is.
    """
    return current_effect().key


class IdempotentClient(httpx.Client):
    """An `httpx.Client` whose changes carry the effect's key; the table of this module says what it raises.

    `header` is the name of the key's header; `quoted` writes the key as the draft has it, in double quotes,
    where most servers expect it bare. `refusals` are the statuses that mean nothing was done: add those that
    the outside documents so, as 402 of a payment service. All other options are those of `httpx.Client`.

    Sending a change raises also LookupError outside of an effect, and InvalidInput where the caller has set
    the header to something else; then nothing was sent.
    """

    def __init__(
        self,
        *,
        header: str = "Idempotency-Key",
        quoted: bool = False,
        refusals: frozenset[int] = REFUSALS,
        key_of: Callable[[], str] = key_of_effect,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._rules = _Rules(header, quoted, refusals, key_of)

    def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        if request.method not in CHANGING:
            return super().send(request, stream=stream, **options)
        with self._rules.sending(request) as judge:
            # Streamed, so that a body that breaks off does not hide the status before it.
            response = super().send(request, stream=True, **options)
            failure = judge(response)
            try:
                if failure is not None or not stream:
                    response.read()
            except BaseException as error:
                response.close()
                if failure is None or not isinstance(error, httpx.RequestError):
                    raise
            if failure is not None:
                raise failure
            return response


class AsyncIdempotentClient(httpx.AsyncClient):
    """The same as an `httpx.AsyncClient`."""

    def __init__(
        self,
        *,
        header: str = "Idempotency-Key",
        quoted: bool = False,
        refusals: frozenset[int] = REFUSALS,
        key_of: Callable[[], str] = key_of_effect,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._rules = _Rules(header, quoted, refusals, key_of)

    async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        if request.method not in CHANGING:
            return await super().send(request, stream=stream, **options)
        with self._rules.sending(request) as judge:
            response = await super().send(request, stream=True, **options)
            failure = judge(response)
            try:
                if failure is not None or not stream:
                    await response.aread()
            except BaseException as error:
                await response.aclose()
                if failure is None or not isinstance(error, httpx.RequestError):
                    raise
            if failure is not None:
                raise failure
            return response


class _Rules:
    """What both clients do around the sending of a change."""

    def __init__(
        self, header: str, quoted: bool, refusals: frozenset[int], key_of: Callable[[], str]
    ) -> None:
        self._header = header
        self._quoted = quoted
        self._refusals = refusals
        self._key_of = key_of

    @contextmanager
    def sending(
        self, request: httpx.Request
    ) -> Iterator[Callable[[httpx.Response], httpx.HTTPStatusError | None]]:
        """Put the key on a request; inside, an error that says it never left becomes NotSent.

        Yields what tells the failure of a response, None for a success.
        """
        key = self._stamp(request)
        known = _perhaps_done.get()
        first = key not in known
        before = _perhaps_done.set((*known, key)[-_REMEMBERED:])

        def judge(response: httpx.Response) -> httpx.HTTPStatusError | None:
            return self._failure(response, definite=first and self._says_no(response))

        try:
            yield judge
        except Refusal:
            _perhaps_done.reset(before)
            raise
        except _NEVER_LEFT as error:
            # After a redirect another request failed than the one that was sent first.
            if not first or error.request is not request:
                raise
            _perhaps_done.reset(before)
            raise NotSent(f"nothing was sent to {request.url.host}: {error}", request=request) from error

    def _stamp(self, request: httpx.Request) -> str:
        try:
            key = self._key_of()
        except LookupError as error:
            message = f"this client sends a {request.method} only inside an effect, whose key it carries"
            raise LookupError(f"{message}; call it in a tool that a run performs") from error
        written = f'"{key}"' if self._quoted else key
        given = request.headers.get(self._header, written)
        if given != written:
            raise invalid(self._header, "it holds the effect's key and nothing else; leave it to the client")
        request.headers[self._header] = written
        return key

    def _says_no(self, response: httpx.Response) -> bool:
        undone = self._refusals | _KEEPS_METHOD
        return response.status_code in self._refusals and all(
            passed.status_code in undone for passed in response.history
        )

    def _failure(self, response: httpx.Response, *, definite: bool) -> httpx.HTTPStatusError | None:
        if response.is_success:
            return None
        # No path or query: they may hold secrets, and an error ends in the record.
        answer = f"{response.status_code} {response.reason_phrase}".strip()
        message = f"{response.request.url.host} answered {response.request.method} with {answer}"
        kind = Refusal if definite else httpx.HTTPStatusError
        return kind(message, request=response.request, response=response)
