-- Every statement of the PostgreSQL store about cursors of projections, by name.

-- name: cursors
SELECT tenant, projection, version, shape, gid, run, position, hash, seen, seen_hash, events, at, built, stopped_gid,
    stopped_run, stopped_position, stopped_error, updated_at, holder, until, fence, slot, tables
FROM {schema}.projections
WHERE tenant = $1
ORDER BY projection, version, slot

-- name: cursors_held
-- Those of one projection, so that none of them moves before the transaction ends.
SELECT tenant, projection, version, shape, gid, run, position, hash, seen, seen_hash, events, at, built, stopped_gid,
    stopped_run, stopped_position, stopped_error, updated_at, holder, until, fence, slot, tables
FROM {schema}.projections
WHERE tenant = $1 AND projection = $2
ORDER BY version, slot
FOR UPDATE

-- name: take
-- By the server's clock, read after any wait for the row; $9 is that of a caller who has one of his own.
INSERT INTO {schema}.projections AS held (tenant, projection, version, slot, shape, tables, holder, until, fence,
    updated_at)
VALUES (
    $1::text, $2::text, $3::bigint, $4::bigint, $5::text, $6::text, $7::text,
    coalesce($9::timestamptz, clock_timestamp()) + make_interval(secs => $8::double precision), 1,
    coalesce($9::timestamptz, clock_timestamp())
)
ON CONFLICT (tenant, projection, version, slot) DO UPDATE SET
    tables = excluded.tables,
    holder = excluded.holder,
    until = coalesce($9::timestamptz, clock_timestamp()) + make_interval(secs => $8::double precision),
    fence = held.fence + 1
WHERE held.shape <> '' AND (
    held.holder IS NULL OR held.holder = excluded.holder
    OR held.until <= coalesce($9::timestamptz, clock_timestamp())
)
RETURNING tenant, projection, version, shape, gid, run, position, hash, seen, seen_hash, events, at, built, stopped_gid,
    stopped_run, stopped_position, stopped_error, updated_at, holder, until, fence, slot, tables

-- name: advance
UPDATE {schema}.projections
SET gid = $1, run = $2, position = $3, hash = $4, seen = $5, seen_hash = $6, events = $7, at = $8, built = $9,
    stopped_gid = $10, stopped_run = $11, stopped_position = $12, stopped_error = $13,
    updated_at = coalesce($14::timestamptz, clock_timestamp()),
    until = coalesce($14::timestamptz, clock_timestamp()) + make_interval(secs => $15::double precision)
WHERE tenant = $16 AND projection = $17 AND version = $18 AND slot = $19 AND fence = $20 AND gid = $21
RETURNING 1

-- name: stands
-- Whether a page is kept that a broken connection left in doubt.
SELECT 1
FROM {schema}.projections
WHERE tenant = $1 AND projection = $2 AND version = $3 AND slot = $4 AND fence = $5 AND gid = $6

-- name: release
UPDATE {schema}.projections
SET holder = NULL, until = NULL
WHERE tenant = $1 AND projection = $2 AND version = $3 AND slot = $4 AND fence = $5

-- name: lose
-- Whoever works on it finds out with its next page.
UPDATE {schema}.projections
SET holder = NULL, until = NULL, fence = fence + 1
WHERE tenant = $1 AND projection = $2 AND version = $3 AND slot = $4

-- name: resume
UPDATE {schema}.projections
SET stopped_gid = NULL, stopped_run = NULL, stopped_position = NULL, stopped_error = NULL
WHERE tenant = $1 AND projection = $2 AND version = $3 AND slot = $4

-- name: going
-- From here on nobody works on it.
UPDATE {schema}.projections
SET shape = '', holder = NULL, until = NULL, fence = fence + 1
WHERE tenant = $1 AND projection = $2 AND version = $3 AND slot = $4
RETURNING 1

-- name: new_going
INSERT INTO {schema}.projections (tenant, projection, version, slot, shape, tables, updated_at)
VALUES ($1::text, $2::text, $3::bigint, $4::bigint, '', $5::text, clock_timestamp())
ON CONFLICT DO NOTHING

-- name: is_going
-- A condition within a statement.
EXISTS (
    SELECT 1
    FROM {schema}.projections
    WHERE tenant = $1 AND projection = $2 AND version = $3 AND slot = $4 AND shape = ''
)

-- name: forget
DELETE FROM {schema}.projections
WHERE tenant = $1 AND projection = $2 AND version = $3 AND slot = $4 AND shape = ''
RETURNING 1

-- name: served
SELECT tenant, projection, version, slot, since, previous_version, previous_slot, next_version, next_slot
FROM {schema}.served
WHERE tenant = $1
ORDER BY projection

-- name: served_one
-- Held until the transaction ends, with the time after any wait for it.
SELECT tenant, projection, version, slot, since, previous_version, previous_slot, next_version, next_slot
FROM {schema}.served
WHERE tenant = $1 AND projection = $2
FOR UPDATE

-- name: moment
SELECT coalesce($1::timestamptz, clock_timestamp())

-- name: first_served
INSERT INTO {schema}.served (tenant, projection, version, slot, since)
VALUES ($1::text, $2::text, $3::bigint, $4::bigint, coalesce($5::timestamptz, clock_timestamp()))
ON CONFLICT (tenant, projection) DO NOTHING

-- name: keep_served
INSERT INTO {schema}.served (tenant, projection, since, version, slot, previous_version, previous_slot, next_version,
    next_slot)
VALUES ($1::text, $2::text, $3::timestamptz, $4::bigint, $5::bigint, $6::bigint, $7::bigint, $8::bigint, $9::bigint)
ON CONFLICT (tenant, projection) DO UPDATE SET
    since = excluded.since, version = excluded.version, slot = excluded.slot,
    previous_version = excluded.previous_version, previous_slot = excluded.previous_slot,
    next_version = excluded.next_version, next_slot = excluded.next_slot

-- name: unserve
DELETE FROM {schema}.served WHERE tenant = $1 AND projection = $2

-- name: parked
SELECT run, gid, position, error, events, again
FROM {schema}.parked
WHERE tenant = $1 AND projection = $2 AND version = $3 AND slot = $4
ORDER BY run

-- name: park
-- What somebody else has said of trying it again stands, unless it was tried.
INSERT INTO {schema}.parked AS kept (tenant, projection, version, slot, run, gid, position, error, events, again)
VALUES ($1::text, $2::text, $3::bigint, $4::bigint, $5::text, $6::bigint, $7::bigint, $8::text, $9::bigint,
    $10::boolean)
ON CONFLICT (tenant, projection, version, slot, run) DO UPDATE SET
    gid = excluded.gid, position = excluded.position, error = excluded.error, events = excluded.events,
    again = kept.again AND excluded.again

-- name: unpark
DELETE FROM {schema}.parked WHERE tenant = $1 AND projection = $2 AND version = $3 AND slot = $4 AND run = $5

-- name: unpark_all
DELETE FROM {schema}.parked WHERE tenant = $1 AND projection = $2 AND version = $3 AND slot = $4

-- name: try_again
UPDATE {schema}.parked SET again = true WHERE tenant = $1 AND projection = $2 AND version = $3 AND slot = $4

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
