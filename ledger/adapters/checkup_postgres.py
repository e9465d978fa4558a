"""A check-up of a ledger on PostgreSQL: what of the server, its settings and rights breaks a promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime

from psycopg.sql import Identifier

from ledger.adapters.checkup import Check, check_clock
from ledger.errors import LedgerError, SchemaMismatch, StoreUnavailable
from ledger.stores.base import FullStore
from ledger.stores.postgres.errors import named
from ledger.stores.postgres.inspection import Inspection, inspect
from ledger.stores.postgres.replicas import Replica
from ledger.stores.postgres.server import OLDEST_VERSION

Open = Callable[[str], FullStore]

HELD_SECONDS = 30.0
"""Age from which an open transaction is told: appends take milliseconds."""
LAG_SECONDS = 30.0
"""Age of a replica's last commit from which it is told, where there are later ones."""
WRAPAROUND_SOON, WRAPAROUND_NEAR = 1_000_000_000, 1_800_000_000
"""Transactions since the last freezing; the server stops at 2^31, its own housekeeping begins at 2 · 10^8."""


def check_up_server(url: str, open_store: Open, clock: Callable[[], datetime]) -> list[Check]:
    """Look at a ledger on PostgreSQL and at its server; nothing is written.

    Raises:
        StoreUnavailable: there is no ledger to look at; `reason` says why.
    """
    try:
        seen = inspect(url, held_seconds=HELD_SECONDS)
    except SchemaMismatch as error:
        return [Check("schema", "bad", str(error.found), "upgrade intent-ledger")]
    return [
        *_server(seen),
        *_schema(seen),
        *_durability(seen),
        *_sessions(seen),
        *_rights(seen),
        *_tenants(seen),
        *_order(seen),
        *_store(seen, url, open_store, clock),
    ]


def _server(seen: Inspection) -> Iterator[Check]:
    old = seen.version < OLDEST_VERSION
    yield Check("postgresql", "bad" if old else "ok", seen.release, "upgrade to 14 or newer" if old else "")
    other = seen.encoding != "UTF8"
    yield Check(
        "encoding", "bad" if other else "ok", seen.encoding, "create a database with UTF8" if other else ""
    )
    if seen.in_recovery:
        yield Check("replica", "note", "this server only reads", "appends go to its primary")
    elif seen.replica is not None:
        yield _replica(seen.replica)


def _replica(seen: Replica) -> Check:
    if seen.trouble is not None:
        advice = "nothing is read there, the primary answers: mend the server or replica_url"
        return Check("replica", "note", seen.trouble, advice)
    found = f"{seen.where}: {seen.bytes_behind} bytes of the log behind"
    if seen.seconds_behind < LAG_SECONDS:
        return Check("replica", "ok", found)
    advice = "until it catches up, who reads there is shown an older state: see what keeps it"
    return Check("replica", "note", f"{found}, as of {seen.seconds_behind:.0f} s ago", advice)


def _schema(seen: Inspection) -> Iterator[Check]:
    old = seen.schema < seen.supported
    advice = "stop older programs, then run: intent-ledger migrate"
    yield Check("schema", "bad" if old else "ok", f"{seen.schema} of {seen.supported}", advice if old else "")
    if seen.altered:
        advice = "somebody changed the schema, and perhaps events: run verify --all, restore a backup"
        yield Check("guards", "bad", f"missing or changed: {', '.join(seen.altered)}", advice)
    else:
        yield Check("guards", "ok", "changing and deleting events is refused")


def _durability(seen: Inspection) -> Iterator[Check]:
    settings = seen.settings
    for name in ("fsync", "full_page_writes"):
        off = settings[name] == "off"
        advice = "an acknowledged append can be lost: turn it on" if off else ""
        yield Check(name, "bad" if off else "ok", settings[name], advice)
    commit = settings["synchronous_commit"]
    if commit == "off" and seen.pooled:
        advice = "an acknowledged append can be lost: ALTER ROLE … SET synchronous_commit = on"
        yield Check("synchronous_commit", "bad", commit, advice)
    elif commit == "off":
        yield Check("synchronous_commit", "note", commit, "the ledger turns it on for its own sessions")
    else:
        yield Check("synchronous_commit", "ok", commit)
    for name in ("zero_damaged_pages", "ignore_checksum_failure"):
        if settings[name] == "on":
            yield Check(name, "bad", "on", "damaged pages are read as if they were whole: turn it off")
    if settings["data_checksums"] == "off":
        advice = "the server does not notice that its disk altered a page; verify does"
        yield Check("data_checksums", "note", "off", advice)
    else:
        yield Check("data_checksums", "ok", "on")


def _sessions(seen: Inspection) -> Iterator[Check]:
    """Check settings that the ledger's sessions bring along, though not through a pooler, and everybody's."""
    settings = seen.settings
    for name, right in (
        ("default_transaction_isolation", "read committed"),
        ("default_transaction_read_only", "off"),
    ):
        if settings[name] == right:
            yield Check(name, "ok", right)
        elif seen.pooled:
            yield Check(name, "bad", settings[name], f"ALTER ROLE … SET {name} = '{right}'")
        else:
            yield Check(name, "note", settings[name], "the ledger's own sessions set it right")
    for name in ("lock_timeout", "statement_timeout"):
        if seen.pooled and settings[name] == "0":
            advice = (
                f"behind a pooler the ledger cannot set it, and may wait for ever: ALTER ROLE … SET {name}"
            )
            yield Check(name, "note", "none", advice)
    if settings["idle_in_transaction_session_timeout"] == "0":
        role = Identifier(seen.rights.role).as_string()
        advice = (
            "a transaction that any program of this role leaves open holds followers back for ever: "
            f"ALTER ROLE {role} SET idle_in_transaction_session_timeout = '60s'"
        )
        yield Check("idle_in_transaction_session_timeout", "note", "none", advice)
    else:
        yield Check("idle_in_transaction_session_timeout", "ok", "set")


def _rights(seen: Inspection) -> Iterator[Check]:
    rights = seen.rights
    if rights.superuser or rights.owns:
        what = "a superuser" if rights.superuser else "a member of the owner"
        advice = "it can switch the guards off: let programs log in as a member of the writer role alone"
        yield Check("rights", "note", f"{rights.role} is {what}", advice)
    elif rights.appends:
        yield Check("rights", "ok", f"{rights.role} reads and appends")
    else:
        advice = "to append make it a member of the writer role"
        yield Check("rights", "note", f"{rights.role} only reads", advice)
    if rights.owner_logs_in:
        advice = "whoever logs in as it can switch the guards off: run intent-ledger migrate --roles NAME"
        yield Check("owner", "note", f"{rights.owner} logs in", advice)
    else:
        yield Check("owner", "ok", f"nobody logs in as {rights.owner}")


def _tenants(seen: Inspection) -> Iterator[Check]:
    tenants = seen.tenants
    if not tenants.secured:
        yield Check("tenants", "note", "every one", "row-level security does not hold for this role")
    elif tenants.open == 0:
        advice = "the ledger seems empty to this role: make it a member of one that has tenants"
        yield Check("tenants", "bad", "none", advice)
    else:
        yield Check("tenants", "ok", "every one" if tenants.every else str(tenants.open))
    if tenants.left_behind:
        advice = "delete what `members` still says of them"
        yield Check("members", "note", f"{tenants.left_behind} of roles that were dropped", advice)


def _order(seen: Inspection) -> Iterator[Check]:
    """Check what the global order rests on: the epoch, open transactions, transaction ids."""
    if seen.epoch_is_behind:
        advice = "the ledger came from another server; the first that opens it to append raises the epoch"
        yield Check("epoch", "bad", "behind", advice)
    else:
        yield Check("epoch", "ok", "of this server")
    yield _transactions(seen)
    yield _locks(seen)
    yield _idle(seen)
    age = seen.oldest_database
    found = f"{age} since the oldest database was frozen"
    if age < WRAPAROUND_SOON:
        yield Check("transaction ids", "ok", found)
    else:
        advice = "the server stops at 2147483648: vacuum its databases, and end what keeps it from that"
        yield Check("transaction ids", "bad" if age >= WRAPAROUND_NEAR else "note", found, advice)


def _transactions(seen: Inspection) -> Check:
    """Check who holds followers back; a transaction whose age is hidden may have begun just now."""
    old = [holder for holder in seen.holders if holder["seconds"] is not None]
    if old:
        advice = "followers are not shown what was appended since: end them"
        return Check("transactions", "bad", named(old), advice)
    if seen.rights.sees_sessions:
        return Check("transactions", "ok", f"none is open for {HELD_SECONDS:g} s")
    found = f"open, nobody knows for how long: {named(seen.holders)}" if seen.holders else "none is seen"
    role = Identifier(seen.rights.role).as_string()
    advice = f"this role is not shown how old others' transactions are: GRANT pg_read_all_stats TO {role}"
    return Check("transactions", "note", found, advice)


def _locks(seen: Inspection) -> Check:
    """Check who keeps appends from the tables, which takes no id of a transaction."""
    if not seen.blockers:
        return Check("locks", "ok", "nobody keeps appends from the tables")
    old = any(holder["seconds"] is not None for holder in seen.blockers)
    advice = "appends wait for what it has locked, in vain: end it"
    return Check("locks", "bad" if old else "note", named(seen.blockers), advice)


def _idle(seen: Inspection) -> Check:
    """Check who has left a transaction open and forgotten it."""
    if not seen.idle:
        return Check("idle in transaction", "ok", f"nobody is seen to be for {HELD_SECONDS:g} s")
    advice = "what is deleted is not cleaned up, and migrations wait: end them"
    return Check("idle in transaction", "note", named(seen.idle), advice)


def _store(seen: Inspection, url: str, open_store: Open, clock: Callable[[], datetime]) -> Iterator[Check]:
    # To open an older ledger, or one from another server, would change it.
    if seen.schema < seen.supported or seen.in_recovery or seen.epoch_is_behind:
        return
    try:
        with closing(open_store(url)) as store:
            yield check_clock(store, clock)
    except StoreUnavailable as error:
        yield Check("store", "bad", str(error.data.get("reason", error.code)), str(error))
    except LedgerError as error:
        yield Check("store", "bad", error.code, str(error))
