"""The outsides as fixtures: one process of each kind for each worker, with an empty record for each test."""

from __future__ import annotations

from functools import cache

import pytest

from tests.outside.outside import Outside
from tests.servers.session import before_leaving

__all__ = ["mail_server", "order_server", "payment_server"]


@pytest.fixture
def payment_server() -> Outside:
    """Return a server for `tests.outside.payments`; it can be asked and repeats what it is sent twice."""
    return _emptied("payments")


@pytest.fixture
def order_server() -> Outside:
    """Return a server for `tests.outside.orders`; it does each `Idempotency-Key` once, for a limited time."""
    return _emptied("orders")


@pytest.fixture
def mail_server() -> Outside:
    """Return a server for `tests.outside.mails`; it can not be asked and knows nothing again."""
    return _emptied("mails")


def _emptied(kind: str) -> Outside:
    outside = _running(kind)
    outside.forget()
    return outside


@cache
def _running(kind: str) -> Outside:
    outside = Outside(kind)
    before_leaving(outside.close)
    return outside
