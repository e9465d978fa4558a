-- Every statement of the SQLite store about cursors of projections, by name.

-- name: cursors
SELECT tenant, projection, version, shape, gid, run, position, hash, seen, seen_hash, events, at, built, stopped_gid,
    stopped_run, stopped_position, stopped_error, updated_at, holder, until, fence, slot, tables
FROM projections
WHERE tenant = ?
ORDER BY projection, version, slot

-- name: cursor
SELECT tenant, projection, version, shape, gid, run, position, hash, seen, seen_hash, events, at, built, stopped_gid,
    stopped_run, stopped_position, stopped_error, updated_at, holder, until, fence, slot, tables
FROM projections
WHERE tenant = ? AND projection = ? AND version = ? AND slot = ?

-- name: take
-- Who may take it was looked at in the same transaction.
INSERT INTO projections (tenant, projection, version, slot, shape, tables, updated_at, holder, until, fence)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, projection, version, slot) DO UPDATE SET
    tables = excluded.tables, holder = excluded.holder, until = excluded.until, fence = excluded.fence

-- name: advance
UPDATE projections
SET gid = ?, run = ?, position = ?, hash = ?, seen = ?, seen_hash = ?, events = ?, at = ?, built = ?, stopped_gid = ?,
    stopped_run = ?, stopped_position = ?, stopped_error = ?, updated_at = ?, until = ?
WHERE tenant = ? AND projection = ? AND version = ? AND slot = ? AND fence = ? AND gid = ?

-- name: release
UPDATE projections
SET holder = NULL, until = NULL
WHERE tenant = ? AND projection = ? AND version = ? AND slot = ? AND fence = ?

-- name: lose
-- Whoever works on it finds out with its next page.
UPDATE projections
SET holder = NULL, until = NULL, fence = fence + 1
WHERE tenant = ? AND projection = ? AND version = ? AND slot = ?

-- name: resume
UPDATE projections
SET stopped_gid = NULL, stopped_run = NULL, stopped_position = NULL, stopped_error = NULL
WHERE tenant = ? AND projection = ? AND version = ? AND slot = ?

-- name: going
-- From here on nobody works on it, also where nobody ever did.
INSERT INTO projections (tenant, projection, version, slot, shape, tables, updated_at, fence)
VALUES (?, ?, ?, ?, '', ?, ?, 1)
ON CONFLICT (tenant, projection, version, slot) DO UPDATE SET
    shape = '', holder = NULL, until = NULL, fence = fence + 1

-- name: is_going
-- A condition within a statement.
EXISTS (
    SELECT 1 FROM projections WHERE tenant = ? AND projection = ? AND version = ? AND slot = ? AND shape = ''
)

-- name: forget
DELETE FROM projections WHERE tenant = ? AND projection = ? AND version = ? AND slot = ? AND shape = ''

-- name: served
SELECT tenant, projection, version, slot, since, previous_version, previous_slot, next_version, next_slot
FROM served
WHERE tenant = ?
ORDER BY projection

-- name: served_one
SELECT tenant, projection, version, slot, since, previous_version, previous_slot, next_version, next_slot
FROM served
WHERE tenant = ? AND projection = ?

-- name: keep_served
INSERT OR REPLACE INTO served (tenant, projection, since, version, slot, previous_version, previous_slot, next_version,
    next_slot)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: unserve
DELETE FROM served WHERE tenant = ? AND projection = ?

-- name: parked
SELECT run, gid, position, error, events, again
FROM parked
WHERE tenant = ? AND projection = ? AND version = ? AND slot = ?
ORDER BY run

-- name: park
-- What somebody else has said of trying it again stands, unless it was tried.
INSERT INTO parked (tenant, projection, version, slot, run, gid, position, error, events, again)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, projection, version, slot, run) DO UPDATE SET
    gid = excluded.gid, position = excluded.position, error = excluded.error, events = excluded.events,
    again = parked.again AND excluded.again

-- name: unpark
DELETE FROM parked WHERE tenant = ? AND projection = ? AND version = ? AND slot = ? AND run = ?

-- name: unpark_all
DELETE FROM parked WHERE tenant = ? AND projection = ? AND version = ? AND slot = ?

-- name: try_again
UPDATE parked SET again = 1 WHERE tenant = ? AND projection = ? AND version = ? AND slot = ?

-- name: behind
-- The plus keeps SQLite from reading the whole tenant through the place index.
SELECT count(*), min(gid)
FROM events
WHERE gid > ? AND +tenant = ?

-- name: record
SELECT record FROM events WHERE gid = ?

-- name: columns
SELECT name FROM pragma_table_info(?) ORDER BY cid
