"""What PostgreSQL's errors become: by SQLSTATE and constraint name, whatever their text says."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.errors import lookup

from ledger.errors import IntegrityError, InvalidInput, LedgerError, StoreBusy, StoreUnavailable
from ledger.stores.postgres.errors import Trouble, named, translate, trouble


def error(state: str) -> psycopg.Error:
    """Build the error of a state, with a text that speaks of another one."""
    return lookup(state)("duplicate key value violates unique constraint, disk full, deadlock detected")


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("57P01", Trouble.LOST),
        ("57P02", Trouble.LOST),
        ("57P03", Trouble.LOST),
        ("25P03", Trouble.LOST),
        ("08006", Trouble.LOST),
        ("40P01", Trouble.COLLISION),
        ("40001", Trouble.COLLISION),
        ("55P03", Trouble.LOCKED),
        ("57014", Trouble.LOCKED),
        ("22021", Trouble.INPUT),
        ("23514", Trouble.INPUT),
        ("54000", Trouble.INPUT),
        ("53100", Trouble.OTHER),
        ("42501", Trouble.OTHER),
    ],
)
def test_the_code_says_what_to_do(state: str, kind: Trouble) -> None:
    assert trouble(error(state)) is kind


@pytest.mark.parametrize(
    ("state", "expected", "reason"),
    [
        ("57P01", StoreUnavailable, "connection_lost"),
        ("40P01", StoreBusy, "contended"),
        ("55P03", StoreBusy, "locked"),
        ("53100", StoreUnavailable, "disk_full"),
        ("53300", StoreUnavailable, "too_many_connections"),
        ("25006", StoreUnavailable, "read_only"),
        ("42P01", StoreUnavailable, "missing"),
        ("42501", StoreUnavailable, "no_privilege"),
        ("XX001", IntegrityError, "damaged"),
        ("XX000", StoreUnavailable, "unexpected"),
    ],
)
def test_each_error_has_its_class_and_a_stable_reason(
    state: str, expected: type[LedgerError], reason: str
) -> None:
    translated = translate(error(state), "here")
    assert type(translated) is expected
    assert translated.data["reason"] == reason


def test_what_the_driver_cannot_encode_is_the_callers() -> None:
    unencodable = UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed")
    assert trouble(unencodable) is Trouble.INPUT
    assert isinstance(translate(unencodable, "here"), InvalidInput)
    assert trouble(psycopg.DataError("a text cannot contain NUL")) is Trouble.INPUT


def test_an_error_without_a_code_and_without_a_connection_is_a_lost_one() -> None:
    assert trouble(psycopg.OperationalError("the connection is closed")) is Trouble.LOST


def test_who_holds_is_said_in_words() -> None:
    session = {
        "pid": 7,
        "database": "reports",
        "user": "kim",
        "application": "nightly",
        "state": "idle in transaction",
        "seconds": 61.4,
        "prepared": None,
    }
    hidden = {**session, "state": None, "seconds": None}
    prepared = {**session, "pid": None, "application": None, "state": "prepared", "prepared": "tx-1"}
    assert named([session]) == (
        "pid 7 (application 'nightly', database 'reports', idle in transaction, for 61 s)"
    )
    assert named([hidden]) == "pid 7 (application 'nightly', database 'reports')"
    assert named([prepared]) == "prepared transaction 'tx-1' (database 'reports', prepared, for 61 s)"
    assert named([]) == "it ended before it could be named"
