"""The database roles of a ledger: an owner nobody logs in as, a writer, a reader, and one for every tenant.

Roles belong to the whole server and not to the database: a dump does not hold them, a restored ledger lacks
them, and creating them takes a right (CREATEROLE) that migrating does not. So they are no migration but a
step of its own, which may be repeated.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from psycopg.sql import Identifier, Literal

from ledger.canonical import invalid
from ledger.stores.postgres.session import Session
from ledger.stores.postgres.template import in_schema
from ledger.stores.scripts import script

LONGEST_NAME = 63
"""Bytes of a name in PostgreSQL; a longer one would be cut, and two could become one."""
_OWNER = "_owner"


class Roles(NamedTuple):
    """The names of a ledger's roles."""

    owner: str
    """Owns schema, tables and functions."""
    writer: str
    """May read and append."""
    reader: str
    """May read."""
    every_tenant: str
    """Reads and appends for every tenant; what it may do the other two say."""

    @classmethod
    def named(cls, prefix: str) -> Roles:
        """Return the names that begin with a prefix.

        Raises:
            InvalidInput: a name would be too long, need quotes wherever it is granted, or be the server's.
        """
        longest = LONGEST_NAME - len("_every_tenant")
        plain = re.fullmatch(rf"[a-z_][a-z0-9_]{{0,{longest - 1}}}", prefix)
        if not plain or f"{prefix}_".startswith("pg_"):
            word = f"1 to {longest} lower-case letters, digits and _, which do not begin with a digit or pg_"
            raise invalid("roles", f"they are named after {word}")
        return cls._made_of(prefix)

    @classmethod
    def _made_of(cls, prefix: str) -> Roles:
        return cls(f"{prefix}{_OWNER}", f"{prefix}_writer", f"{prefix}_reader", f"{prefix}_every_tenant")


def establish(session: Session, schema: str, roles: Roles) -> list[str]:
    """Create the roles that are missing and give each what it needs; return those that were created.

    The schema and all in it go to the owner. Whoever does this becomes a member of it, unless he is a
    superuser, and can migrate later; whoever only uses the ledger should not be.

    Raises:
        InvalidInput: a role of that name can log in, so it is somebody else's; or the ledger has other roles,
            whose members would be left without it.
        psycopg.Error: this role may not create roles, or does not own the schema.
    """
    present = established(session, schema)
    if present is not None and present != roles:
        beginning = present.owner.removesuffix(_OWNER)
        to = Identifier(schema).as_string()
        raise invalid(
            "roles",
            f"this ledger has the roles {', '.join(present)}: name {beginning!r}, or give it up first with "
            f"ALTER SCHEMA {to} OWNER TO a login",
        )
    session.command(b"BEGIN")
    try:
        created = [name for name in roles if _create(session, name)]
        _join(session, roles.owner)
        _hand_over(session, schema, roles.owner)
        session.command(in_schema(_OWN_RIGHTS, schema).encode())
        grant(session, schema, roles)
        session.command(b"COMMIT")
    finally:
        session.roll_back()
    return created


def grant(session: Session, schema: str, roles: Roles) -> None:
    """Give each role what it needs, in the transaction that is open."""
    words = {"schema": Identifier(schema).as_string()}
    for place, name in roles._asdict().items():
        words[place] = Identifier(name).as_string()
        # A role as a value is written like an identifier, within a string.
        words[f"{place}_name"] = Literal(words[place]).as_string()
    # All at once: a name may look like a place.
    text = re.sub(r"\{(\w+)\}", lambda place: words[place[1]], script("postgres", "roles"))
    session.command(text.encode())
    grant_read_models(session, schema, roles)


def grant_read_models(session: Session, schema: str, roles: Roles) -> None:
    """Let readers read what projections keep, and writers change it, in the transaction that is open."""
    made = session.connection.execute(_READ_MODELS, (schema,)).fetchall()
    reader, writer = (Identifier(name).as_string() for name in (roles.reader, roles.writer))
    for (table,) in made:
        session.command(f"GRANT SELECT ON {table} TO {reader}, {writer}".encode())
        session.command(f"GRANT INSERT, UPDATE, DELETE ON {table} TO {writer}".encode())


def established(session: Session, schema: str) -> Roles | None:
    """Return the roles of a ledger, found by the owner of its schema; None where it has none."""
    found = session.connection.execute(
        "SELECT rolname FROM pg_catalog.pg_namespace JOIN pg_catalog.pg_roles ON pg_roles.oid = nspowner "
        "WHERE nspname = $1 AND NOT rolcanlogin",
        (schema,),
    ).fetchone()
    if found is None or not found[0].endswith(_OWNER) or found[0] == _OWNER:
        return None
    return Roles._made_of(found[0].removesuffix(_OWNER))


def _create(session: Session, name: str) -> bool:
    query = "SELECT rolcanlogin FROM pg_catalog.pg_roles WHERE rolname = $1"
    found = session.connection.execute(query, (name,)).fetchone()
    if found is None:
        session.command(f"CREATE ROLE {Identifier(name).as_string()} NOLOGIN".encode())
        return True
    if found[0]:
        raise invalid("roles", f"there is a role {name!r} that can log in: choose another beginning")
    return False


def _join(session: Session, owner: str) -> None:
    """Become a member of the owner: to give away what one owns takes that."""
    query = "SELECT pg_has_role(current_user, $1::name, 'USAGE')"
    row = session.connection.execute(query, (owner,)).fetchone()
    if row is None or not row[0]:
        session.command(f"GRANT {Identifier(owner).as_string()} TO CURRENT_USER".encode())


def _hand_over(session: Session, schema: str, owner: str) -> None:
    to_owner = f" OWNER TO {Identifier(owner).as_string()}"
    # A member of the owner need not be one of its fellows; what is handed over already stays untouched.
    for kind, name in session.connection.execute(_NOT_YET_HANDED_OVER, (schema, owner)).fetchall():
        session.command(f"ALTER {kind} {name}{to_owner}".encode())


# What the owner may do he may do; once he is none any more, nothing of it shall be left to him.
_OWN_RIGHTS = "DELETE FROM {schema}.members WHERE role = session_user::regrole AND tenant IS NULL"

_READ_MODELS = """
SELECT format('%I.%I', nspname, relname)
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = $1 AND relkind = 'r' AND starts_with(relname, 'projection_')
"""

_NOT_YET_HANDED_OVER = """
SELECT kind, name
FROM (
    SELECT 'TABLE' AS kind, format('%I.%I', nspname, relname) AS name, relowner AS owner, 1 AS step
    FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = $1 AND relkind = 'r'
    UNION ALL
    SELECT 'FUNCTION', pg_proc.oid::regprocedure::text, proowner, 1
    FROM pg_catalog.pg_proc JOIN pg_catalog.pg_namespace ON pg_namespace.oid = pronamespace
    WHERE nspname = $1
    UNION ALL
    SELECT 'SCHEMA', quote_ident(nspname), nspowner, 0
    FROM pg_catalog.pg_namespace
    WHERE nspname = $1
) AS part
WHERE owner <> (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = $2)
ORDER BY step, kind, name
"""
