"""Set a ledger up: its tables as this program has them, and the roles that use it."""

from __future__ import annotations

from contextlib import closing
from typing import NamedTuple

from ledger.stores.postgres.errors import DRIVER_ERRORS, translate
from ledger.stores.postgres.roles import Roles, establish
from ledger.stores.postgres.schema import migrate, recognise
from ledger.stores.postgres.server import Server


class SetUp(NamedTuple):
    """What setting a ledger up has changed."""

    before: int
    """The schema it had; 0: none."""
    after: int
    created: tuple[str, ...]
    """The roles that were not there."""


def set_up(server: Server, roles: Roles | None) -> SetUp:
    """Bring a ledger to this program's schema and, if they are named, establish its roles.

    Raises:
        InvalidInput: a role of one of these names can log in.
        StoreUnavailable: the server cannot be reached; `no_privilege`: this role may not do that.
        SchemaMismatch: a newer program has migrated it.
    """
    try:
        with closing(server.unchecked()) as session:
            before = recognise(session, server.schema, server.where)
            migrate(session, server.schema, server.where)
            after = recognise(session, server.schema, server.where)
            created = establish(session, server.schema, roles) if roles is not None else []
    except DRIVER_ERRORS as error:
        raise translate(error, server.where) from error
    return SetUp(before, after, tuple(created))
