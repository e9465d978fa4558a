"""Which statement an append becomes, and how its events are numbered."""

from __future__ import annotations

from hashlib import sha256

import pytest

from ledger.errors import InvalidInput
from ledger.stores.base import Append, Blob, Fresh, Guard
from ledger.stores.postgres import plans
from ledger.stores.postgres.plans import ORDINALS, plan, plan_blobs, plan_locks, plan_one
from tests.stores.builder import TENANT, Spec, one, part

FIRST = part("run-1", "a")
GUARDS = [Guard("$source:a", 1)]
SOON, LATE = "2031-05-06T12:00:00.000000Z", "2032-01-01T00:00:00.000000Z"


def blob(content: bytes, kind: str = "message", expires_at: str | None = None) -> Blob:
    return Blob(sha256(content).digest(), kind, content, expires_at)


@pytest.mark.parametrize(
    ("append", "name"),
    [
        (one(FIRST), "append_one"),
        (one(part("run-1", Spec("a", key=b"k" * 16))), "append_one_keyed"),
        (one(FIRST, blobs=[blob(b"x")]), "append_one_with_content"),
        (one(part("run-1", Spec("a", claim=b"c" * 16)), blobs=[blob(b"x")]), "append_one_with_content"),
        (one(part("run-1", "a", "b")), "append_several"),
        (one(part("run-1", Spec("a", act=b"a" * 16)), fresh=[b"a" * 16]), "append_several"),
        (one(part("run-1", Spec("a", act=b"a" * 16)), fresh=[Fresh(b"a" * 16, 2)]), "append_several"),
        (one(FIRST, guards=GUARDS), "append_guarded"),
        (one(part("run-1", "a", Spec("b", claim=b"c" * 16)), guards=GUARDS), "append_guarded"),
    ],
)
def test_a_common_append_has_a_statement_of_its_own(append: Append, name: str) -> None:
    statement = plan_one(append)
    assert statement is not None
    assert statement.name == name
    made = plan([append])
    assert made.first == statement
    assert not made.contents_left


@pytest.mark.parametrize(
    "append",
    [
        one(FIRST, part("run-2", "b")),
        one(FIRST, blobs=[blob(b"x"), blob(b"y")]),
        one(part("run-1", "a", "b"), blobs=[blob(b"x")]),
        one(FIRST, blobs=[blob(b"x")], guards=GUARDS),
        one(FIRST, blobs=[blob(b"x")], fresh=[b"a" * 16]),
        one(part("$source:a", "p")),
    ],
)
def test_what_takes_more_than_one_statement_has_none(append: Append) -> None:
    assert plan_one(append) is None
    assert plan([append]).contents_left == bool(append.blobs)


def test_events_are_numbered_in_the_order_given_and_stored_by_place() -> None:
    """So a parent comes before its child in the global order, and no two processes wait for each other."""
    child, parent = part("run-2", "a", "b"), part("run-1", "c")
    made = plan([one(child, parent), one(part("run-0", "d"))])
    assert made.first.name == "append_batch"
    assert made.offsets == [0, 3, 4]
    ordinals = made.first.values[12]
    assert ordinals is not None
    numbers = [int.from_bytes(ordinals[start : start + 8], "big") for start in range(24, len(ordinals), 12)]
    assert numbers == [3, 2, 0, 1]


def test_what_was_stored_is_told_by_the_places_in_the_global_order() -> None:
    made = plan([one(FIRST), one(part("run-2", "b", "c")), one(part("run-3", "d"))])
    base = 7 * ORDINALS
    assert made.stored([base + 3, base]) == [(base,), None, (base + 3,)]
    assert made.stored([base + 2, base + 1]) == [None, (base + 1, base + 2), None]
    assert made.stored([]) == [None, None, None]


def test_a_large_append_is_begun_and_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    events = part("run-1", *(f"e-{number}" for number in range(10)))
    monkeypatch.setattr(plans, "CHUNK_BYTES", 3 * len(events.rows[0].record))
    made = plan([one(events)])
    assert [made.first.name, *(statement.name for statement in made.more)] == [
        "append_several",
        *["append_more"] * 3,
    ]
    made = plan([one(events, part("run-2", "x"))])
    assert made.first.name == "append_batch"
    assert len(made.more) == 3


def test_the_same_content_is_stored_once_and_kept_as_long_as_anybody_wants_it() -> None:
    appends = [
        one(FIRST, blobs=[blob(b"x", expires_at=SOON), blob(b"y"), blob(b"x", "result")]),
        one(part("run-2", "b"), blobs=[blob(b"x", expires_at=LATE), blob(b"y", expires_at=SOON)]),
    ]
    (statement,) = plan_blobs(appends)
    assert statement.name == "put_blobs"
    tenants, _, _, contents, expiries = statement.values
    assert tenants is not None
    assert contents is not None
    assert expiries is not None
    assert tenants.count(TENANT.encode()) == 3
    assert (expiries.count(LATE.encode()), expiries.count(SOON.encode())) == (1, 0)


def test_contents_are_stored_in_chunks_and_a_large_one_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "CHUNK_BYTES", 100)
    contents = [bytes([number]) * size for number, size in enumerate([40, 40, 400, 40])]
    made = list(plan_blobs([one(FIRST, blobs=[blob(content) for content in contents])]))
    assert {statement.name for statement in made} >= {"put_blob"}
    assert len(made) >= 3
    everything = b"".join(value for statement in made for value in statement.values if value is not None)
    assert all(content in everything for content in contents)


def test_what_no_transaction_has_room_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plans.check_size(one(part("run-1", "a", "b"), blobs=[blob(b"x" * 10)]))
    monkeypatch.setattr(plans, "LARGEST_BYTES", 9)
    with pytest.raises(InvalidInput) as refused:
        plans.check_size(
            one(FIRST._replace(rows=(FIRST.rows[0]._replace(record=b""),)), blobs=[blob(b"x" * 10)])
        )
    assert refused.value.path == "content"
    with pytest.raises(InvalidInput) as refused:
        plans.check_size(one(FIRST))
    assert refused.value.path == "record"
    monkeypatch.setattr(plans, "ORDINALS", 1)
    with pytest.raises(InvalidInput) as refused:
        plans.check_size(one(part("run-1", "a", "b")))
    assert refused.value.path == "append"


def test_acts_that_must_be_fresh_are_locked_in_one_order_whoever_names_them() -> None:
    """Or two that want the same two would wait for each other."""
    acts = [bytes([number]) * 16 for number in range(8)]
    shuffled = (*acts[5:], *acts[:5], acts[0])
    one_way = plan_locks("ledger", [one(FIRST, fresh=shuffled)], 1)
    other_way = plan_locks("ledger", [one(FIRST, fresh=[Fresh(act, 3)]) for act in shuffled], 1)
    assert one_way == other_way
    assert one_way is not None
    assert one_way.name == "lock_acts"
    locks, patience = one_way.values
    assert patience == b"1000"
    assert locks is not None
    # Behind the head of 20 bytes, each has its length (4) and itself (8).
    found = [int.from_bytes(locks[at + 4 : at + 12], "big", signed=True) for at in range(20, len(locks), 12)]
    assert found == sorted(set(found))
    assert len(found) == len(acts)


def test_an_act_of_another_tenant_or_schema_is_another() -> None:
    fresh = [b"a" * 16]
    mine = plan_locks("ledger", [one(FIRST, fresh=fresh)], 1)
    assert mine == plan_locks("ledger", [one(FIRST), one(FIRST, fresh=fresh)], 1)
    assert mine != plan_locks("ledger", [one(FIRST, fresh=fresh, tenant="globex")], 1)
    assert mine != plan_locks("ledger2", [one(FIRST, fresh=fresh)], 1)
    assert plan_locks("ab", [one(FIRST, fresh=fresh, tenant="c")], 1) != plan_locks(
        "a", [one(FIRST, fresh=fresh, tenant="bc")], 1
    )
    assert plan_locks("ledger", [one(FIRST)], 1) is None
