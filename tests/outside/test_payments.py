"""The payment server takes what it is sent, twice if it is sent twice, and tells a test what it took."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.outside.manners import HELD, LATE, LOST, UNHEARD, Manner, done_but_answered, refused
from tests.outside.outside import Outside, client
from tests.outside.payments import PAGE, Charge, charge, charges, find


def test_a_charge_is_found_by_its_key_and_a_charge_sent_twice_is_two(payment_server: Outside) -> None:
    made = charge(payment_server.url, "k1", 1_000, "17")
    assert made == Charge(made.id, "k1", 1_000, "17")
    assert find(payment_server.url, "k1") == made
    assert find(payment_server.url, "k2") is None
    again = charge(payment_server.url, "k1", 1_000, "17")
    assert charges(payment_server.url) == [made, again]
    with pytest.raises(AssertionError, match="charged 2 times"):
        find(payment_server.url, "k1")


def test_all_pages_of_charges_are_read(payment_server: Outside) -> None:
    made = [charge(payment_server.url, f"k{n}", n + 1, "17") for n in range(PAGE + 1)]
    assert charges(payment_server.url) == made


def test_each_test_begins_with_no_charge_and_no_order_left(payment_server: Outside) -> None:
    charge(payment_server.url, "k1", 1, "17")
    payment_server.expect(refused(), refused())
    payment_server.forget()
    assert charges(payment_server.url) == []
    assert charge(payment_server.url, "k1", 1, "17").amount == 1


def test_a_lost_acknowledgement_leaves_a_charge_and_an_unheard_request_none(payment_server: Outside) -> None:
    payment_server.expect(LOST, UNHEARD)
    for key in ("lost", "unheard"):
        with pytest.raises(httpx.TransportError):
            charge(payment_server.url, key, 1_000, "17")
    assert [made.key for made in charges(payment_server.url)] == ["lost"]


def test_a_refusal_leaves_no_charge_and_a_late_error_does(payment_server: Outside) -> None:
    payment_server.expect(refused(402), done_but_answered(500))
    for key, status in (("refused", 402), ("done", 500)):
        with pytest.raises(httpx.HTTPStatusError) as error:
            charge(payment_server.url, key, 1_000, "17")
        assert error.value.response.status_code == status
    assert [made.key for made in charges(payment_server.url)] == ["done"]


@pytest.mark.parametrize(("manner", "made"), [(HELD, 1), (LATE, 0)])
def test_what_is_held_is_answered_at_its_release(payment_server: Outside, manner: Manner, made: int) -> None:
    payment_server.expect(manner)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(charge, payment_server.url, "k", 1_000, "17")
        payment_server.until_held()
        assert len(charges(payment_server.url)) == made
        assert not waiting.done()
        payment_server.release()
        assert charges(payment_server.url) == [waiting.result()]


def test_only_changes_are_treated_as_ordered(payment_server: Outside) -> None:
    payment_server.expect(refused())
    assert charges(payment_server.url) == []
    with client(payment_server.url) as http:
        assert http.get("/v1/balance", auth=("sk_tests", "")).is_success
        assert http.get("/v1/charges").status_code == 401
    with pytest.raises(httpx.HTTPStatusError):
        charge(payment_server.url, "k", 1, "17")
