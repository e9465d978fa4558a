"""Payments as a tool makes and finds them: the effect's key lies in the metadata of each charge."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.outside.outside import client

CARD = "pm_card_visa"
PAGE = 100


class Charge(NamedTuple):
    """Money that was taken; `amount` in cents."""

    id: str
    key: str
    amount: int
    order: str


def charge(base_url: str, key: str, amount: int, order: str) -> Charge:
    """Take `amount` cents for an order.

    Raises httpx.HTTPStatusError for an answer that is no success, httpx.TransportError where there is none.
    """
    data = {
        "amount": amount,
        "currency": "eur",
        "source": CARD,
        "metadata[effect]": key,
        "metadata[order]": order,
    }
    with client(base_url) as http:
        answer = http.post("/v1/charges", data=data, auth=("sk_tests", ""))
    return _charge(answer.raise_for_status().json())


def charges(base_url: str) -> list[Charge]:
    """Return all charges in the order in which they were made."""
    found: list[Charge] = []
    with client(base_url) as http:
        page: dict[str, Any] = {"has_more": True}
        while page["has_more"]:
            after = {"starting_after": found[-1].id} if found else {}
            answer = http.get("/v1/charges", params={"limit": PAGE, **after}, auth=("sk_tests", ""))
            page = answer.raise_for_status().json()
            found += [_charge(item) for item in page["data"]]
    return found


def find(base_url: str, key: str) -> Charge | None:
    """Return the charge made under an effect's key; AssertionError where it was made more than once."""
    found = [made for made in charges(base_url) if made.key == key]
    assert len(found) <= 1, f"charged {len(found)} times: {found}"
    return found[0] if found else None


def _charge(item: dict[str, Any]) -> Charge:
    assert item["paid"], item
    metadata = item["metadata"]
    return Charge(item["id"], metadata["effect"], item["amount"], metadata["order"])
