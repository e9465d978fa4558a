"""What PostgreSQL's errors become: by SQLSTATE and constraint name, whatever their text says."""

from __future__ import annotations

import pickle

import psycopg
import pytest
from psycopg.errors import lookup

from ledger.errors import IntegrityError, InvalidInput, LedgerError, StoreBusy, StoreUnavailable
from ledger.stores.postgres.errors import (
    FINAL,
    Trouble,
    named,
    translate,
    trouble,
    unavailable,
)
from ledger.stores.postgres.refusals import unreachable


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
        ("57014", Trouble.CANCELLED),
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
        ("57014", StoreBusy, "cancelled"),
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


@pytest.mark.parametrize(
    ("state", "reason", "repeats"),
    [
        ("28P01", "login_refused", False),
        ("28000", "login_refused", False),
        ("3D000", "no_database", False),
        ("42501", "no_privilege", False),
        ("42P01", "missing", False),
        ("42P05", "pooled", False),
        ("26000", "pooled", False),
        ("25006", "read_only", True),
        ("53100", "disk_full", True),
        ("57P01", "connection_lost", True),
        ("57014", "cancelled", True),
    ],
)
def test_only_what_a_repeat_may_help_is_said_to_be_repeatable(state: str, reason: str, repeats: bool) -> None:
    translated = translate(error(state), "here")
    assert (translated.data["reason"], translated.retryable) == (reason, repeats)
    revived = pickle.loads(pickle.dumps(translated))
    assert (revived.data, revived.retryable) == (translated.data, repeats)


@pytest.mark.parametrize("reason", sorted(FINAL))
def test_reasons_that_a_repeat_cannot_help_are_not_repeatable(reason: str) -> None:
    assert not unavailable("here", reason, "do something else").retryable
    assert unavailable("here", "unreachable", "try again").retryable


def test_what_a_server_says_is_told_on_one_line() -> None:
    many = psycopg.OperationalError('connection to server at "h", port 1 failed:\n\tIs it\n\trunning?\n')
    assert str(unreachable("here", many)) == (
        'here: no connection can be made (connection to server at "h", port 1 failed: Is it running?)'
    )


def test_the_place_in_a_statement_of_ours_is_not_told() -> None:
    pointed = lookup("42P01")('relation "x.events" does not exist\nLINE 1: SELECT 1 FROM x.events\n        ^')
    assert str(translate(pointed, "here")).endswith('(relation "x.events" does not exist)')


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
    assert named([]) == "who it is could not be told"
