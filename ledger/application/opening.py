"""Opening a ledger from an address."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path

from ledger.application.edge import Edge, local_actor
from ledger.application.ledger import Ledger
from ledger.application.performing import refuse_async
from ledger.canonical import invalid
from ledger.gateway.tools import Tool
from ledger.secrets import Secrets
from ledger.stores.opening import open_store
from ledger.stores.stamps import Clock, new_id, system_clock
from ledger.values import Actor, check_id


def open_ledger(  # noqa: PLR0913 - each is an option
    url: str | Path,
    *,
    tenant: str = "default",
    actor: Actor | None = None,
    clock: Clock = system_clock,
    ids: Callable[[], str] = new_id,
    busy_seconds: float = 10.0,
    create: bool = True,
    unsafe: bool = False,
    secrets: Secrets | None = None,
    tools: Iterable[Tool] = (),
    require_authority: bool = False,
    authenticated_answers: bool = False,
) -> Ledger:
    """Open a ledger, creating its tables where there are none.

    Args:
        url: a file path (SQLite; it is created, its folder is not), or `:memory:` (lost with the process).
        tenant: whose runs and sources to see.
        actor: who writes where a call names nobody; None: `service:<login>@<host>`, unauthenticated.
        clock: returns the present moment in UTC.
        ids: returns a fresh event id.
        busy_seconds: how long to wait for another process that writes.
        create: make the file where there is none; without it that is StoreUnavailable, reason `missing`.
        unsafe: accept a database that could lose what was acknowledged.
        secrets: what is taken for a secret, and how a `SecretRef` is resolved; None: `Secrets()`.
        tools: tools that runs and `reconcile` find by name.
        require_authority: each act of the runs that are opened here needs a grant, unless `open_run` says
            otherwise. Without it an act of a run that was never granted anything needs none.
        authenticated_answers: take answers to approvals only from who is authenticated as the person that
            they name, or from an authenticated service that passes on what that person decided; others are
            NotAuthenticated. It is a setting of this ledger, not of the record: `Actor.authenticated_by` is
            believed, and who opens the ledger without it, or imports, is not held to it.

    Raises:
        InvalidInput: the address or the tenant is malformed, `clock` or `ids` no plain function, or a tool is
            a coroutine function, which only `open_async_ledger` takes.
        SchemaMismatch: the database was written by a newer version.
        UnsafeStore: the database could lose what was acknowledged.
        StoreUnavailable: it cannot be opened; `reason` says why, `no_tenant`: this tenant is not open to the
            login.
    """
    if actor is not None and not isinstance(actor, Actor):
        raise invalid("actor", f"give an Actor, e.g. Actor({str(actor)!r:.50})")
    flags = {"require_authority": require_authority, "authenticated_answers": authenticated_answers}
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise invalid(name, f"say True or False, not {flag!r:.50}")
    for name, given in (("clock", clock), ("ids", ids)):
        _plain_function(name, given)
    known = tuple(tools)
    for tool in known:
        refuse_async(tool)
    try:
        check_id(tenant)
    except ValueError as error:
        raise invalid("tenant", str(error)) from None
    store = open_store(url, busy_seconds=busy_seconds, create=create, unsafe=unsafe, tenant=tenant)
    writer = actor or local_actor()
    edge = Edge(store, tenant, writer, clock, ids, authenticated_answers=authenticated_answers)
    return Ledger(edge, secrets, known, require_authority=require_authority)


def _plain_function(name: str, given: object) -> None:
    if not callable(given):
        raise invalid(name, f"give a function, not {given!r:.50}")
    if inspect.iscoroutinefunction(given) or inspect.iscoroutinefunction(type(given).__call__):
        raise invalid(name, "give a plain function: nobody awaits an async one, nor does AsyncLedger")
