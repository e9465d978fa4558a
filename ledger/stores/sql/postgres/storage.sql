-- What a verification asks a ledger about itself, beyond its rows. Nothing is written, and no right is needed but
-- to read the ledger's tables.

-- name: sight
-- Whether row-level security holds for this role, and whether every tenant, and the tenant $2, is open to it.
SELECT EXISTS (
        SELECT FROM pg_class
        WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
            AND relname IN ('events', 'heads', 'snapshots', 'blobs') AND row_security_active(oid)
    ),
    coalesce(bool_or(tenant IS NULL), false), coalesce(bool_or(tenant IS NULL OR tenant = $2), false)
FROM {schema}.members
WHERE pg_has_role(role, 'USAGE')

-- name: epochs
-- One row, and whether it was made for another server: what was restored there stands above what the server's
-- transactions can have been given. (A replica has the epoch of its primary, and no log of its own to name.)
SELECT CASE WHEN pg_is_in_recovery() THEN false ELSE
    epoch.system_identifier <> server.system_identifier
    OR epoch.timeline <> left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
END
FROM {schema}.epoch, pg_control_system() AS server

-- name: impossible
-- Events at global positions that no transaction can have been given until this statement began: whatever it
-- sees was stored by one that had begun before. At most $1 of each kind.
(
    SELECT gid, tenant, run, position
    FROM {schema}.events
    WHERE gid >= (
        SELECT (epoch + pg_snapshot_xmax(pg_current_snapshot())::text::bigint) << 20 FROM {schema}.epoch
    )
    ORDER BY gid
    LIMIT $1
)
UNION ALL
(
    SELECT gid, tenant, run, position
    FROM {schema}.events
    WHERE gid <= 0
    ORDER BY gid
    LIMIT $1
)

-- name: kept_snapshots
-- The names after one, a page of them; so are the next two.
SELECT DISTINCT tenant, run
FROM {schema}.snapshots
WHERE (tenant, run) > ($1, $2)
ORDER BY tenant, run
LIMIT $3

-- name: kept_heads
SELECT tenant, stream
FROM {schema}.heads
WHERE (tenant, stream) > ($1, $2)
ORDER BY tenant, stream
LIMIT $3

-- name: kept_contents
SELECT DISTINCT tenant, digest
FROM {schema}.blobs
WHERE (tenant, digest) > ($1, $2)
ORDER BY tenant, digest
LIMIT $3

-- name: contents
-- Each row: the same content may be kept in several classes.
SELECT digest, kind, content, expires_at
FROM {schema}.blobs
WHERE tenant = $1 AND digest = ANY ($2::bytea[])

-- name: checkers
-- The functions of PostgreSQL's own extension `amcheck`, where it is installed and this role may call them.
SELECT pg_namespace.nspname::text, proname::text
FROM pg_extension
JOIN pg_depend ON refclassid = 'pg_extension'::regclass AND refobjid = pg_extension.oid
    AND classid = 'pg_proc'::regclass AND deptype = 'e'
JOIN pg_proc ON pg_proc.oid = objid
JOIN pg_namespace ON pg_namespace.oid = pronamespace
WHERE extname = 'amcheck' AND has_schema_privilege(pronamespace, 'USAGE')
    AND has_function_privilege(pg_proc.oid, 'EXECUTE')
    AND (proname = 'verify_heapam' OR proname = 'bt_index_check' AND pronargs = 2)

-- name: relations
-- What those functions look at: tables and whole B-tree indexes of the ledger.
SELECT pg_class.oid::bigint, relname::text, relkind::text
FROM pg_class
LEFT JOIN pg_index ON indexrelid = pg_class.oid
LEFT JOIN pg_am ON pg_am.oid = relam
WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND relpersistence = 'p'
    AND (relkind = 'r' OR relkind = 'i' AND amname = 'btree' AND indisvalid AND indisready)
ORDER BY relkind, relname
