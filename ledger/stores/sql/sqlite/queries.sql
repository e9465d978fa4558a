-- Every statement the SQLite store runs on its tables, by name. Parameters are positional where a statement
-- runs for each append, and named elsewhere.

-- name: insert
-- Store a row without asking. The place index refuses it where the place is taken, so for the first event of
-- a stream nothing needs to be asked; otherwise the place was looked at in the same transaction.
INSERT INTO events (tenant, run, position, hash, key, act, claim, record)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_next
-- Store a row right behind the event that the writer saw last. No row is inserted where that event is not
-- there; where another one follows it already, the place index refuses.
INSERT INTO events (tenant, run, position, hash, key, act, claim, record)
SELECT tenant, run, position + 1, ?, ?, ?, ?, ?
FROM events
WHERE tenant = ? AND run = ? AND position = ? AND hash = ?

-- name: last
-- The last event of a stream.
SELECT position, hash
FROM events
WHERE tenant = ? AND run = ?
ORDER BY position DESC
LIMIT 1

-- name: stored
-- What stands where an append wants to stand: is it the same append?
SELECT gid, hash, record
FROM events
WHERE tenant = ? AND run = ? AND position > ? AND position <= ?
ORDER BY position

-- name: head
SELECT position
FROM heads
WHERE tenant = ? AND stream = ?

-- name: holder
SELECT run, position
FROM events
WHERE tenant = ? AND claim = ?

-- name: intended
-- The newest event with an act, where more than the known number of events have it.
SELECT run, position
FROM events
WHERE tenant = :tenant AND act = :digest
    AND EXISTS (SELECT 1 FROM events WHERE tenant = :tenant AND act = :digest LIMIT 1 OFFSET :known)
ORDER BY gid DESC
LIMIT 1

-- name: open_head
INSERT INTO heads (tenant, stream, position)
VALUES (?, ?, 0)
ON CONFLICT DO NOTHING

-- name: move_head
INSERT INTO heads (tenant, stream, position)
VALUES (?, ?, ?)
ON CONFLICT (tenant, stream) DO UPDATE SET position = excluded.position

-- name: put_blob
-- The same content again is kept as long as the longer of both wants it; no time means for ever.
INSERT INTO blobs (tenant, digest, kind, content, expires_at)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant, digest, kind) DO UPDATE SET
    expires_at = CASE WHEN expires_at > excluded.expires_at THEN expires_at ELSE excluded.expires_at END
WHERE expires_at IS NOT NULL

-- name: read
SELECT gid, tenant, run, position, hash, key, act, claim, record
FROM events
WHERE tenant = :tenant AND run = :stream AND position > :after AND position <= :upto
ORDER BY position
LIMIT :limit

-- name: read_links
-- Only what folding needs: a run is read as a whole here.
SELECT position, hash, record
FROM events
WHERE tenant = :tenant AND run = :stream AND position > :after AND position <= :upto
ORDER BY position

-- name: nearest_snapshot
-- The nearest snapshot of this fold that lies on the chain; one left behind by another history is passed over.
SELECT position, hash, fold, state
FROM snapshots
WHERE tenant = :tenant AND run = :stream AND position <= :upto AND fold = :fold
    AND EXISTS (
        SELECT 1
        FROM events
        WHERE events.tenant = snapshots.tenant AND events.run = snapshots.run
            AND events.position = snapshots.position AND events.hash = snapshots.hash
    )
ORDER BY position DESC
LIMIT 1

-- name: tail
SELECT gid, tenant, run, position, hash, key, act, claim, record
FROM events
WHERE gid > :after
ORDER BY gid
LIMIT :limit

-- name: tail_of_tenant
-- The plus keeps SQLite from reading the whole tenant through the place index and sorting it.
SELECT gid, tenant, run, position, hash, key, act, claim, record
FROM events
WHERE gid > :after AND +tenant = :tenant
ORDER BY gid
LIMIT :limit

-- name: end
SELECT coalesce(max(gid), 0) FROM events

-- name: find_key
SELECT gid, tenant, run, position, hash, key, act, claim, record
FROM events
WHERE tenant = :tenant AND key = :digest
ORDER BY gid DESC
LIMIT :limit

-- name: find_act
SELECT gid, tenant, run, position, hash, key, act, claim, record
FROM events
WHERE tenant = :tenant AND act = :digest
ORDER BY gid DESC
LIMIT :limit

-- name: find_claim
SELECT gid, tenant, run, position, hash, key, act, claim, record
FROM events
WHERE tenant = :tenant AND claim = :digest
ORDER BY gid DESC
LIMIT :limit

-- name: find_all
-- Of each key the newest few, found through the key index one by one. The list of keys is as long as it has to be.
WITH wanted (key) AS (VALUES (?))
SELECT events.gid, events.tenant, events.run, events.position, events.hash, events.key, events.act,
    events.claim, events.record
FROM wanted
JOIN events ON events.gid IN (
    SELECT gid
    FROM events
    WHERE tenant = ? AND key = wanted.key
    ORDER BY gid DESC
    LIMIT ?
)

-- name: stream_heads
-- Skip from name to name, one step down the place index each, whatever the streams hold. Names that start with
-- the prefix stand together in byte order, so the first that does not ends the list.
WITH RECURSIVE names (run) AS (
    SELECT * FROM (
        SELECT run
        FROM events
        WHERE tenant = :tenant AND run > :after AND run >= :prefix
        ORDER BY run
        LIMIT 1
    )
    UNION ALL
    SELECT (SELECT run FROM events WHERE tenant = :tenant AND run > names.run ORDER BY run LIMIT 1)
    FROM names
    WHERE substr(names.run, 1, length(:prefix)) = :prefix
    LIMIT :limit
)
SELECT events.run, events.position, events.gid, events.hash, events.record
FROM names
JOIN events ON events.gid = (
    SELECT gid FROM events WHERE tenant = :tenant AND run = names.run ORDER BY position DESC LIMIT 1
)
WHERE substr(names.run, 1, length(:prefix)) = :prefix
ORDER BY events.run

-- name: source_heads
SELECT stream, position
FROM heads
WHERE tenant = ?
ORDER BY stream

-- name: put_snapshot
INSERT INTO snapshots (tenant, run, position, hash, fold, state)
VALUES (:tenant, :stream, :position, :hash, :fold, :state)
ON CONFLICT (tenant, run, position) DO UPDATE SET
    hash = excluded.hash, fold = excluded.fold, state = excluded.state

-- name: thin_snapshots
-- Of the stretch that holds the new snapshot nothing before it is kept.
DELETE FROM snapshots
WHERE tenant = :tenant AND run = :stream AND position < :position
    AND position >= :position - :position % :keep_every

-- name: snapshots
SELECT position, hash, fold, state
FROM snapshots
WHERE tenant = ? AND run = ?
ORDER BY position

-- name: drop_snapshots
DELETE FROM snapshots

-- name: drop_snapshots_of_tenant
DELETE FROM snapshots WHERE tenant = ?

-- name: lease
SELECT worker, until, progress
FROM leases
WHERE tenant = ? AND key = ? AND attempt = ?

-- name: put_lease
INSERT INTO leases (tenant, key, attempt, worker, until, progress)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, key, attempt) DO UPDATE SET until = excluded.until, progress = excluded.progress

-- name: release_leases
DELETE FROM leases WHERE tenant = ? AND key = ?

-- name: blobs
-- The list of digests is as long as it has to be. Content kept in several classes is the same content.
SELECT digest, content
FROM blobs
WHERE digest IN (?) AND tenant = ?

-- name: list_blobs
SELECT digest, kind, length(content), expires_at
FROM blobs
WHERE tenant = :tenant AND (digest, kind) > (:digest, :kind)
ORDER BY digest, kind
LIMIT :limit

-- name: blob_rows
-- The list of digests is as long as it has to be.
SELECT digest, kind, length(content), expires_at
FROM blobs
WHERE digest IN (?) AND tenant = ?

-- name: kept_blobs
-- The list of digests is as long as it has to be.
SELECT digest, kind, content, expires_at
FROM blobs
WHERE digest IN (?) AND tenant = ?

-- name: behind
-- What was appended since, but to one stream. The plus keeps SQLite from reading the whole tenant through the
-- place index.
SELECT record
FROM events
WHERE gid > ? AND +tenant = ? AND +run <> ?

-- name: drop_blob
DELETE FROM blobs
WHERE tenant = ? AND digest = ? AND kind = ?
