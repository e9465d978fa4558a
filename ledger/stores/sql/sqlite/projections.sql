-- Every statement of the SQLite store about cursors of projections, by name.

-- name: cursors
SELECT tenant, projection, version, shape, gid, run, position, hash, seen, seen_hash, events, at, built, stopped_gid,
    stopped_run, stopped_position, stopped_error, updated_at, holder, until, fence
FROM projections
WHERE tenant = ?
ORDER BY projection, version

-- name: cursor
SELECT tenant, projection, version, shape, gid, run, position, hash, seen, seen_hash, events, at, built, stopped_gid,
    stopped_run, stopped_position, stopped_error, updated_at, holder, until, fence
FROM projections
WHERE tenant = ? AND projection = ? AND version = ?

-- name: take
-- Who may take it was looked at in the same transaction.
INSERT INTO projections (tenant, projection, version, shape, updated_at, holder, until, fence)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, projection, version) DO UPDATE SET
    holder = excluded.holder, until = excluded.until, fence = excluded.fence

-- name: advance
UPDATE projections
SET gid = ?, run = ?, position = ?, hash = ?, seen = ?, seen_hash = ?, events = ?, at = ?, built = ?, stopped_gid = ?,
    stopped_run = ?, stopped_position = ?, stopped_error = ?, updated_at = ?, until = ?
WHERE tenant = ? AND projection = ? AND version = ? AND fence = ? AND gid = ?

-- name: release
UPDATE projections
SET holder = NULL, until = NULL
WHERE tenant = ? AND projection = ? AND version = ? AND fence = ?

-- name: resume
UPDATE projections
SET stopped_gid = NULL, stopped_run = NULL, stopped_position = NULL, stopped_error = NULL
WHERE tenant = ? AND projection = ? AND version = ?

-- name: forget
DELETE FROM projections WHERE tenant = ? AND projection = ? AND version = ?

-- name: behind
-- The plus keeps SQLite from reading the whole tenant through the place index.
SELECT count(*), min(gid)
FROM events
WHERE gid > ? AND +tenant = ?

-- name: record
SELECT record FROM events WHERE gid = ?

-- name: columns
SELECT name FROM pragma_table_info(?) ORDER BY cid
