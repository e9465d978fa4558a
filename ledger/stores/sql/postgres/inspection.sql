-- What a check-up asks a server, and a ledger on it. Nothing is written.

-- name: facts
-- The server, and who asks.
SELECT current_setting('server_version_num')::bigint, current_setting('server_version'),
    current_setting('server_encoding'), pg_is_in_recovery(), rolname::text, rolsuper,
    rolsuper OR pg_has_role('pg_read_all_stats', 'USAGE')
FROM pg_roles
WHERE rolname = current_user

-- name: settings
SELECT name, setting
FROM pg_settings
WHERE name = ANY ($1)

-- name: rights
-- What this role may do, and whether it may do more than any use of the ledger needs.
SELECT has_schema_privilege(pg_namespace.oid, 'USAGE') AND has_table_privilege(events.oid, 'SELECT'),
    has_table_privilege(events.oid, 'INSERT')
        AND has_table_privilege(heads.oid, 'INSERT') AND has_any_column_privilege(heads.oid, 'UPDATE')
        AND has_table_privilege(snapshots.oid, 'INSERT') AND has_any_column_privilege(snapshots.oid, 'UPDATE')
        AND has_table_privilege(snapshots.oid, 'DELETE')
        AND has_table_privilege(blobs.oid, 'INSERT') AND has_any_column_privilege(blobs.oid, 'UPDATE')
        AND coalesce(
            has_table_privilege(leases.oid, 'INSERT') AND has_any_column_privilege(leases.oid, 'UPDATE')
                AND has_table_privilege(leases.oid, 'DELETE'),
            true
        ),
    pg_has_role(nspowner, 'USAGE'), owner.rolname::text, owner.rolcanlogin
FROM pg_namespace
JOIN pg_roles AS owner ON owner.oid = nspowner
JOIN pg_class AS events ON events.relnamespace = pg_namespace.oid AND events.relname = 'events'
JOIN pg_class AS heads ON heads.relnamespace = pg_namespace.oid AND heads.relname = 'heads'
JOIN pg_class AS snapshots ON snapshots.relnamespace = pg_namespace.oid AND snapshots.relname = 'snapshots'
JOIN pg_class AS blobs ON blobs.relnamespace = pg_namespace.oid AND blobs.relname = 'blobs'
-- An older schema has none.
LEFT JOIN pg_class AS leases ON leases.relnamespace = pg_namespace.oid AND leases.relname = 'leases'
WHERE nspname = $1

-- name: tenants
-- Whether row-level security holds for this role, and how many tenants are open to it; no name: every one.
SELECT row_security_active(format('%I.events', $1::text)), count(*), coalesce(bool_or(tenant IS NULL), false)
FROM {schema}.members
WHERE pg_has_role(role, 'USAGE')

-- name: left_behind
-- Tenants that are open to roles that were dropped since.
SELECT count(*)
FROM {schema}.members
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE pg_roles.oid = role)

-- name: epoch_is_behind
SELECT {schema}.epoch_is_behind()

-- name: transactions
-- Who holds an id of a transaction for $1 seconds or more, in any database of the server, the oldest first.
-- (How old others' transactions are is hidden from a role that may not see their sessions: listed without an age.)
SELECT pid::bigint, datname::text, usename::text, application_name, state,
    extract(epoch FROM clock_timestamp() - xact_start)::double precision, NULL::text
FROM pg_stat_activity
WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
    AND (xact_start IS NULL OR xact_start <= clock_timestamp() - make_interval(secs => $1))
UNION ALL
SELECT NULL, database::text, owner::text, NULL, 'prepared',
    extract(epoch FROM clock_timestamp() - prepared)::double precision, gid
FROM pg_prepared_xacts
WHERE prepared <= clock_timestamp() - make_interval(secs => $1)
ORDER BY 6 DESC NULLS LAST

-- name: blockers
-- Who has been in a transaction for $2 seconds that locks a table of the schema $1 against appends, or against
-- everybody. It need not hold an id. (Where its age is hidden from this role: listed without one.)
SELECT DISTINCT activity.pid::bigint, datname::text, usename::text, application_name, state,
    extract(epoch FROM clock_timestamp() - xact_start)::double precision, NULL::text
FROM pg_locks
JOIN pg_class ON pg_class.oid = relation
JOIN pg_stat_activity AS activity ON activity.pid = pg_locks.pid
WHERE granted AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
    AND activity.pid <> pg_backend_pid()
    AND (xact_start IS NULL OR xact_start <= clock_timestamp() - make_interval(secs => $2))

-- name: idle
-- Who has left a transaction open for $1 seconds in this database without having written anything.
SELECT pid::bigint, datname::text, usename::text, application_name, state,
    extract(epoch FROM clock_timestamp() - state_change)::double precision, NULL::text
FROM pg_stat_activity
WHERE starts_with(state, 'idle in transaction') AND backend_xid IS NULL AND pid <> pg_backend_pid()
    AND datname = current_database() AND state_change <= clock_timestamp() - make_interval(secs => $1)
ORDER BY 6 DESC

-- name: oldest_database
-- How many transactions ago the oldest database of the server was last frozen; at 2^31 it stops.
SELECT max(age(datfrozenxid))::bigint
FROM pg_database

-- name: tables
SELECT relname::text, relpersistence::text, relrowsecurity, relforcerowsecurity
FROM pg_class
WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND relkind = 'r'

-- name: indexes
SELECT relname::text, indisvalid AND indisready
FROM pg_index
JOIN pg_class ON pg_class.oid = indexrelid
WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)

-- name: constraints
SELECT conname::text, convalidated
FROM pg_constraint
WHERE connamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)

-- name: triggers
SELECT tgname::text, tgenabled::text, pg_get_triggerdef(pg_trigger.oid)
FROM pg_trigger
JOIN pg_class ON pg_class.oid = tgrelid
WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND NOT tgisinternal

-- name: policies
-- Which command they are for: `r` SELECT, `a` INSERT, `*` all; and whether they are for every role.
SELECT polname::text, relname::text, polpermissive, polcmd::text, polroles = '{0}', pg_get_expr(polqual, polrelid),
    pg_get_expr(polwithcheck, polrelid)
FROM pg_policy
JOIN pg_class ON pg_class.oid = polrelid
WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)

-- name: functions
SELECT proname::text, prosrc
FROM pg_proc
WHERE pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)

-- name: rules
SELECT rulename::text
FROM pg_rewrite
JOIN pg_class ON pg_class.oid = ev_class
WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND relkind = 'r'
