"""What the ledger's errors are to a program that knows eventsourcing's. Classes decide, never texts.

Two words mean two things: eventsourcing's IntegrityError is a lost race, which applications answer by trying
again, so it is raised for a version that is taken and for nothing else. The ledger's is a record that is not
what was written; it becomes InternalError, which nobody retries.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eventsourcing.persistence import (
    DatabaseError,
    DataError,
    InternalError,
    NotSupportedError,
    OperationalError,
    PersistenceError,
)

from ledger import errors

CLASSES: dict[type[errors.LedgerError], type[PersistenceError]] = {
    errors.InvalidInput: DataError,
    errors.Conflict: OperationalError,
    errors.StoreError: OperationalError,
    errors.SchemaMismatch: NotSupportedError,
    errors.UnsafeStore: NotSupportedError,
    errors.UnknownEventName: NotSupportedError,
    errors.UndecodableRecord: InternalError,
    errors.IntegrityError: InternalError,
    errors.LedgerError: DatabaseError,
}
"""Which class stands for which; the nearest base that is named here decides."""


def translate(error: errors.LedgerError) -> PersistenceError:
    """Build eventsourcing's error for one of the ledger's."""
    kind = next(CLASSES[base] for base in type(error).__mro__ if base in CLASSES)
    return kind(str(error))


@contextmanager
def translated() -> Iterator[None]:
    """Raise the ledger's errors as eventsourcing's; the original is the cause."""
    try:
        yield
    except errors.LedgerError as error:
        raise translate(error) from error
