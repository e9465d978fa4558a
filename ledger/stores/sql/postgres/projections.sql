-- Every statement of the PostgreSQL store about cursors of projections, by name.

-- name: cursors
SELECT tenant, projection, version, shape, gid, run, position, hash, seen, seen_hash, events, at, built, stopped_gid,
    stopped_run, stopped_position, stopped_error, updated_at, holder, until, fence
FROM {schema}.projections
WHERE tenant = $1
ORDER BY projection, version

-- name: take
-- By the server's clock, read after any wait for the row; $7 is that of a caller who has one of his own.
INSERT INTO {schema}.projections AS held (tenant, projection, version, shape, holder, until, fence, updated_at)
VALUES (
    $1::text, $2::text, $3::bigint, $4::text, $5::text,
    coalesce($7::timestamptz, clock_timestamp()) + make_interval(secs => $6::double precision), 1,
    coalesce($7::timestamptz, clock_timestamp())
)
ON CONFLICT (tenant, projection, version) DO UPDATE SET
    holder = excluded.holder,
    until = coalesce($7::timestamptz, clock_timestamp()) + make_interval(secs => $6::double precision),
    fence = held.fence + 1
WHERE held.holder IS NULL OR held.holder = excluded.holder
    OR held.until <= coalesce($7::timestamptz, clock_timestamp())
RETURNING tenant, projection, version, shape, gid, run, position, hash, seen, seen_hash, events, at, built, stopped_gid,
    stopped_run, stopped_position, stopped_error, updated_at, holder, until, fence

-- name: advance
UPDATE {schema}.projections
SET gid = $1, run = $2, position = $3, hash = $4, seen = $5, seen_hash = $6, events = $7, at = $8, built = $9,
    stopped_gid = $10, stopped_run = $11, stopped_position = $12, stopped_error = $13,
    updated_at = coalesce($14::timestamptz, clock_timestamp()),
    until = coalesce($14::timestamptz, clock_timestamp()) + make_interval(secs => $15::double precision)
WHERE tenant = $16 AND projection = $17 AND version = $18 AND fence = $19 AND gid = $20
RETURNING 1

-- name: stands
-- Whether a page is kept that a broken connection left in doubt.
SELECT 1
FROM {schema}.projections
WHERE tenant = $1 AND projection = $2 AND version = $3 AND fence = $4 AND gid = $5

-- name: release
UPDATE {schema}.projections
SET holder = NULL, until = NULL
WHERE tenant = $1 AND projection = $2 AND version = $3 AND fence = $4

-- name: resume
UPDATE {schema}.projections
SET stopped_gid = NULL, stopped_run = NULL, stopped_position = NULL, stopped_error = NULL
WHERE tenant = $1 AND projection = $2 AND version = $3

-- name: forget
DELETE FROM {schema}.projections WHERE tenant = $1 AND projection = $2 AND version = $3

-- name: behind
-- Also what followers are not shown yet. The tenant is compared as an expression, which no index has.
SELECT count(*), min(gid)
FROM {schema}.events
WHERE gid > $1 AND tenant || '' = $2

-- name: record
SELECT record FROM {schema}.events WHERE gid = $1

-- name: columns
SELECT relname::text, attname::text
FROM pg_catalog.pg_class
JOIN pg_catalog.pg_attribute ON attrelid = pg_class.oid
WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1) AND relname = ANY ($2::text[])
    AND attnum > 0 AND NOT attisdropped
ORDER BY relname, attnum

-- name: lock
-- As who migrates does: programs that start at once make tables one after the other.
SELECT pg_advisory_xact_lock($1::bigint::integer, hashtext($2))
