"""Each of the ledger's errors has a class of eventsourcing's, and none of them is its IntegrityError."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from eventsourcing import persistence

from ledger import errors
from ledger.errors import LedgerError
from ledger.stores.recording.errors import translate, translated


def family(kind: type[LedgerError]) -> Iterator[type[LedgerError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from family(child)


@pytest.mark.parametrize("kind", [*family(LedgerError)])
def test_every_error_is_translated(kind: type[LedgerError]) -> None:
    error = kind("the words do not matter")
    with pytest.raises(persistence.DatabaseError) as raised, translated():
        raise error
    assert raised.value.__cause__ is error
    assert not isinstance(raised.value, persistence.IntegrityError)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (errors.InvalidInput, persistence.DataError),
        (errors.PositionConflict, persistence.OperationalError),
        (errors.StoreUnavailable, persistence.OperationalError),
        (errors.StoreBusy, persistence.OperationalError),
        (errors.SchemaMismatch, persistence.NotSupportedError),
        (errors.UnsafeStore, persistence.NotSupportedError),
        (errors.UnknownEventName, persistence.NotSupportedError),
        (errors.UndecodableRecord, persistence.InternalError),
        (errors.ChainBroken, persistence.InternalError),
        (errors.IdInUse, persistence.DatabaseError),
    ],
)
def test_the_class_says_what_to_do(
    ours: type[LedgerError], theirs: type[persistence.PersistenceError]
) -> None:
    assert type(translate(ours("words"))) is theirs


def test_other_errors_pass_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError), translated():
        raise ZeroDivisionError
