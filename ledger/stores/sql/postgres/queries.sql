-- Every statement the PostgreSQL store runs on its tables, by name. `{schema}` stands for the schema's name.
-- Each is complete in itself: it needs no search path, no session state, and no right that a writer lacks.

-- name: lock_acts
-- Wait until nobody else has these locks, and hold them until the transaction ends. They are taken in their order.
-- $2 is how long to wait for one at most, in milliseconds: behind a pooler a session has no settings of its own.
SELECT count(pg_advisory_xact_lock(lock))
FROM (SELECT set_config('lock_timeout', $2::text, true) AS patience OFFSET 0) AS bound
CROSS JOIN unnest($1::int8[]) AS lock
WHERE bound.patience IS NOT NULL

-- name: epoch
-- What each append counts from, read by each.
SELECT epoch FROM {schema}.epoch

-- name: epoch_here
-- The same behind a pooler, whose sessions outlive a switch to another server unnoticed: where this is not the
-- server, or the timeline, that the epoch was made for there is none, and nothing is stored.
SELECT epoch
FROM {schema}.epoch
WHERE system_identifier = (pg_control_system()).system_identifier
    AND timeline = left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)

-- name: append_one
-- Store one event right behind the one that the writer saw last, or nothing. $3 and $4 are position and hash of
-- that event, 0 and zeros where there is none. The place index decides the race with a writer in flight. A
-- transaction that took its id before that event was stored must not come behind it: its gid would be below.
INSERT INTO {schema}.events (gid, position, tenant, run, hash, record)
SELECT ids.first, $3::bigint + 1, $1::text, $2::text, $5::bytea, $6::bytea
FROM (SELECT) AS one
LEFT JOIN LATERAL (
    SELECT gid, position, hash
    FROM {schema}.events
    WHERE tenant = $1::text AND run = $2::text
    ORDER BY position DESC
    LIMIT 1
) AS last ON true
CROSS JOIN LATERAL (
    SELECT ((SELECT epoch FROM {schema}.epoch) + pg_current_xact_id()::text::bigint) << 20 AS first
) AS ids
WHERE coalesce(last.position, 0) = $3::bigint
    AND coalesce(last.hash, '\x0000000000000000000000000000000000000000000000000000000000000000') = $4::bytea
    AND coalesce(last.gid, 0) < ids.first
RETURNING gid

-- name: append_one_keyed
-- The same for an event with key columns: a claim must be free. The claim index decides the race for it.
INSERT INTO {schema}.events (gid, position, tenant, run, hash, record, key, act, claim)
SELECT ids.first, $3::bigint + 1, $1::text, $2::text, $5::bytea, $6::bytea, $7::bytea, $8::bytea, $9::bytea
FROM (SELECT) AS one
LEFT JOIN LATERAL (
    SELECT gid, position, hash
    FROM {schema}.events
    WHERE tenant = $1::text AND run = $2::text
    ORDER BY position DESC
    LIMIT 1
) AS last ON true
CROSS JOIN LATERAL (
    SELECT ((SELECT epoch FROM {schema}.epoch) + pg_current_xact_id()::text::bigint) << 20 AS first
) AS ids
WHERE coalesce(last.position, 0) = $3::bigint
    AND coalesce(last.hash, '\x0000000000000000000000000000000000000000000000000000000000000000') = $4::bytea
    AND coalesce(last.gid, 0) < ids.first
    AND NOT EXISTS (SELECT FROM {schema}.events WHERE tenant = $1::text AND claim = $9::bytea)
RETURNING gid

-- name: append_one_with_content
-- The same for an event with one content ($10 to $13): it is kept where the event is stored. The same content again is
-- kept as long as the longer of both wants it; no time means for ever.
WITH stored AS (
    INSERT INTO {schema}.events (gid, position, tenant, run, hash, record, key, act, claim)
    SELECT ids.first, $3::bigint + 1, $1::text, $2::text, $5::bytea, $6::bytea, $7::bytea, $8::bytea, $9::bytea
    FROM (SELECT) AS one
    LEFT JOIN LATERAL (
        SELECT gid, position, hash
        FROM {schema}.events
        WHERE tenant = $1::text AND run = $2::text
        ORDER BY position DESC
        LIMIT 1
    ) AS last ON true
    CROSS JOIN LATERAL (
        SELECT ((SELECT epoch FROM {schema}.epoch) + pg_current_xact_id()::text::bigint) << 20 AS first
    ) AS ids
    WHERE coalesce(last.position, 0) = $3::bigint
        AND coalesce(last.hash, '\x0000000000000000000000000000000000000000000000000000000000000000') = $4::bytea
        AND coalesce(last.gid, 0) < ids.first
        AND NOT EXISTS (SELECT FROM {schema}.events WHERE tenant = $1::text AND claim = $9::bytea)
    RETURNING gid
), kept AS (
    INSERT INTO {schema}.blobs (tenant, digest, kind, content, expires_at)
    SELECT $1::text, $10::bytea, $11::text, $12::bytea, $13::text
    FROM stored
    ON CONFLICT (tenant, digest, kind) DO UPDATE SET
        expires_at =
            CASE WHEN blobs.expires_at > excluded.expires_at THEN blobs.expires_at ELSE excluded.expires_at END
    WHERE blobs.expires_at IS NOT NULL
)
SELECT gid FROM stored

-- name: append_several
-- The same for several events of one stream. $10 are the claims among them, $11 the acts that must be fresh and $12
-- how many stored events may have each; where there are none it is NULL, and so are the lists of key columns that
-- no event has.
INSERT INTO {schema}.events (gid, position, tenant, run, hash, key, act, claim, record)
SELECT ids.first + row.number - 1, $3::bigint + row.number, $1::text, $2::text, row.hash, row.key, row.act,
    row.claim, row.record
FROM (SELECT) AS one
LEFT JOIN LATERAL (
    SELECT gid, position, hash
    FROM {schema}.events
    WHERE tenant = $1::text AND run = $2::text
    ORDER BY position DESC
    LIMIT 1
) AS last ON true
CROSS JOIN LATERAL (
    SELECT ((SELECT epoch FROM {schema}.epoch) + pg_current_xact_id()::text::bigint) << 20 AS first
) AS ids
CROSS JOIN unnest($5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bytea[])
    WITH ORDINALITY AS row (hash, key, act, claim, record, number)
WHERE coalesce(last.position, 0) = $3::bigint
    AND coalesce(last.hash, '\x0000000000000000000000000000000000000000000000000000000000000000') = $4::bytea
    AND coalesce(last.gid, 0) < ids.first
    AND NOT EXISTS (
        SELECT
        FROM unnest($10::bytea[]) AS wanted (claim)
        CROSS JOIN LATERAL (
            SELECT FROM {schema}.events WHERE tenant = $1::text AND claim = wanted.claim LIMIT 1
        ) AS holder
    )
    AND NOT EXISTS (
        SELECT
        FROM unnest($11::bytea[], $12::bigint[]) AS fresh (act, known)
        CROSS JOIN LATERAL (
            SELECT FROM {schema}.events WHERE tenant = $1::text AND act = fresh.act OFFSET fresh.known LIMIT 1
        ) AS unknown
    )
RETURNING gid

-- name: append_guarded
-- The same where source streams ($13) must still stand where the writer saw them ($14). Their heads are locked
-- by name, before anything takes a transaction id, and so that whoever moves one waits: what was admitted
-- before a move comes before it in the global order as well.
WITH heads AS MATERIALIZED (
    SELECT stream, position
    FROM {schema}.heads
    WHERE tenant = $1::text AND stream = ANY ($13::text[])
    ORDER BY stream
    FOR SHARE
),
standing AS MATERIALIZED (
    SELECT count(*) AS guards
    FROM heads
    JOIN unnest($13::text[], $14::bigint[]) AS guard (stream, position) USING (stream, position)
)
INSERT INTO {schema}.events (gid, position, tenant, run, hash, key, act, claim, record)
SELECT ids.first + row.number - 1, $3::bigint + row.number, $1::text, $2::text, row.hash, row.key, row.act,
    row.claim, row.record
FROM standing
LEFT JOIN LATERAL (
    SELECT gid, position, hash
    FROM {schema}.events
    WHERE tenant = $1::text AND run = $2::text
    ORDER BY position DESC
    LIMIT 1
) AS last ON true
CROSS JOIN LATERAL (
    SELECT ((SELECT epoch FROM {schema}.epoch) + pg_current_xact_id()::text::bigint) << 20 AS first
    WHERE standing.guards = cardinality($13::text[])
) AS ids
CROSS JOIN unnest($5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bytea[])
    WITH ORDINALITY AS row (hash, key, act, claim, record, number)
WHERE coalesce(last.position, 0) = $3::bigint
    AND coalesce(last.hash, '\x0000000000000000000000000000000000000000000000000000000000000000') = $4::bytea
    AND coalesce(last.gid, 0) < ids.first
    AND NOT EXISTS (
        SELECT
        FROM unnest($10::bytea[]) AS wanted (claim)
        CROSS JOIN LATERAL (
            SELECT FROM {schema}.events WHERE tenant = $1::text AND claim = wanted.claim LIMIT 1
        ) AS holder
    )
    AND NOT EXISTS (
        SELECT
        FROM unnest($11::bytea[], $12::bigint[]) AS fresh (act, known)
        CROSS JOIN LATERAL (
            SELECT FROM {schema}.events WHERE tenant = $1::text AND act = fresh.act OFFSET fresh.known LIMIT 1
        ) AS unknown
    )
RETURNING gid

-- name: append_batch
-- Store many appends, each whole or not at all, none waiting for another. $1 to $5 are the streams they build
-- on (each once), $6 to $9 their guards, $10 and $11 the heads of these, each once and by name. The events
-- follow, by place: in another order two processes that insert the same places would wait for each other. $22 to
-- $25 are the acts that must be fresh.
WITH heads AS MATERIALIZED (
    SELECT head.tenant, head.stream, head.position
    FROM unnest($10::text[], $11::text[]) AS wanted (tenant, stream)
    JOIN {schema}.heads AS head ON head.tenant = wanted.tenant AND head.stream = wanted.stream
    ORDER BY head.tenant, head.stream
    FOR SHARE OF head
),
moved AS MATERIALIZED (
    SELECT guard.member
    FROM unnest($6::bigint[], $7::text[], $8::text[], $9::bigint[]) AS guard (member, tenant, stream, position)
    LEFT JOIN heads USING (tenant, stream)
    WHERE heads.position IS DISTINCT FROM guard.position
),
ids AS MATERIALIZED (
    SELECT ((SELECT epoch FROM {schema}.epoch) + pg_current_xact_id()::text::bigint) << 20 AS first
    FROM (SELECT count(*) FROM moved) AS guards_first
),
refused AS MATERIALIZED (
    SELECT member FROM moved
    UNION ALL
    SELECT part.member
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bytea[])
        AS part (member, tenant, run, expected, prev)
    LEFT JOIN LATERAL (
        SELECT gid, position, hash
        FROM {schema}.events
        WHERE tenant = part.tenant AND run = part.run
        ORDER BY position DESC
        LIMIT 1
    ) AS last ON true
    WHERE coalesce(last.position, 0) <> part.expected
        OR coalesce(last.hash, '\x0000000000000000000000000000000000000000000000000000000000000000') <> part.prev
        OR last.gid >= (SELECT first FROM ids)
        OR (SELECT first FROM ids) IS NULL
    UNION ALL
    SELECT row.member
    FROM unnest($12::bigint[], $14::text[], $20::bytea[]) AS row (member, tenant, claim)
    CROSS JOIN LATERAL (
        SELECT FROM {schema}.events WHERE events.tenant = row.tenant AND events.claim = row.claim LIMIT 1
    ) AS holder
    WHERE row.claim IS NOT NULL
    UNION ALL
    SELECT fresh.member
    FROM unnest($22::bigint[], $23::text[], $24::bytea[], $25::bigint[]) AS fresh (member, tenant, act, known)
    CROSS JOIN LATERAL (
        SELECT
        FROM {schema}.events
        WHERE events.tenant = fresh.tenant AND events.act = fresh.act
        OFFSET fresh.known
        LIMIT 1
    ) AS unknown
)
INSERT INTO {schema}.events (gid, position, tenant, run, hash, key, act, claim, record)
SELECT (SELECT first FROM ids) + row.ordinal, row.position, row.tenant, row.run, row.hash, row.key, row.act,
    row.claim, row.record
FROM unnest(
    $12::bigint[], $13::bigint[], $14::text[], $15::text[], $16::bigint[], $17::bytea[], $18::bytea[], $19::bytea[],
    $20::bytea[], $21::bytea[]
) WITH ORDINALITY AS row (member, ordinal, tenant, run, position, hash, key, act, claim, record, number)
WHERE row.member NOT IN (SELECT member FROM refused)
ORDER BY row.number
RETURNING gid

-- name: append_more
-- More events of an append that was begun in this transaction.
INSERT INTO {schema}.events (gid, position, tenant, run, hash, key, act, claim, record)
SELECT (((SELECT epoch FROM {schema}.epoch) + pg_current_xact_id()::text::bigint) << 20) + row.ordinal,
    row.position, row.tenant, row.run, row.hash, row.key, row.act, row.claim, row.record
FROM unnest(
    $1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[],
    $9::bytea[]
) WITH ORDINALITY AS row (ordinal, tenant, run, position, hash, key, act, claim, record, number)
ORDER BY row.number
RETURNING gid

-- name: last
-- The last event of a stream.
SELECT position, hash
FROM {schema}.events
WHERE tenant = $1 AND run = $2
ORDER BY position DESC
LIMIT 1

-- name: stored
-- What stands where an append wants to stand: is it the same append?
SELECT gid, hash, record
FROM {schema}.events
WHERE tenant = $1 AND run = $2 AND position > $3 AND position <= $4
ORDER BY position
LIMIT 1048576

-- name: head
SELECT position
FROM {schema}.heads
WHERE tenant = $1 AND stream = $2

-- name: head_for_share
SELECT position
FROM {schema}.heads
WHERE tenant = $1 AND stream = $2
FOR SHARE

-- name: head_for_update
-- The first statement of an append to a source: whoever relies on the source waits, and only then does this
-- transaction take an id. The other way round it could come, in the global order, before what it waited for.
SELECT position
FROM {schema}.heads
WHERE tenant = $1 AND stream = $2
FOR UPDATE

-- name: holder
SELECT run, position
FROM {schema}.events
WHERE tenant = $1 AND claim = $2

-- name: intended
-- The newest event with an act, where more than $3 events have it.
SELECT run, position
FROM {schema}.events
WHERE tenant = $1 AND act = $2
    AND EXISTS (SELECT FROM {schema}.events WHERE tenant = $1 AND act = $2 OFFSET $3::bigint LIMIT 1)
ORDER BY gid DESC
LIMIT 1

-- name: open_head
-- At 0, or where the stream ends, should its head have been lost.
INSERT INTO {schema}.heads (tenant, stream, position)
SELECT $1::text, $2::text, coalesce(max(position), 0)
FROM {schema}.events
WHERE tenant = $1::text AND run = $2::text
ON CONFLICT DO NOTHING

-- name: move_head
UPDATE {schema}.heads
SET position = $3
WHERE tenant = $1 AND stream = $2

-- name: put_blobs
-- The same content again is kept as long as the longer of both wants it; no time means for ever.
INSERT INTO {schema}.blobs (tenant, digest, kind, content, expires_at)
SELECT tenant, digest, kind, content, expires_at
FROM unnest($1::text[], $2::bytea[], $3::text[], $4::bytea[], $5::text[])
    WITH ORDINALITY AS blob (tenant, digest, kind, content, expires_at, number)
ORDER BY number
ON CONFLICT (tenant, digest, kind) DO UPDATE SET
    expires_at = CASE WHEN blobs.expires_at > excluded.expires_at THEN blobs.expires_at ELSE excluded.expires_at END
WHERE blobs.expires_at IS NOT NULL

-- name: put_blob
-- The same for one content, which may be large: it is not copied into a list and out of it again.
INSERT INTO {schema}.blobs (tenant, digest, kind, content, expires_at)
VALUES ($1::text, $2::bytea, $3::text, $4::bytea, $5::text)
ON CONFLICT (tenant, digest, kind) DO UPDATE SET
    expires_at = CASE WHEN blobs.expires_at > excluded.expires_at THEN blobs.expires_at ELSE excluded.expires_at END
WHERE blobs.expires_at IS NOT NULL

-- name: read
SELECT gid, tenant, run, position, hash, key, act, claim, record
FROM {schema}.events
WHERE tenant = $1 AND run = $2 AND position > $3 AND position <= $4
ORDER BY position
LIMIT $5

-- name: load
-- The nearest snapshot of this fold that lies on the chain (one left behind by another history is passed over),
-- as a row that is marked and whose record is the state, and the events after it.
WITH snapshot AS MATERIALIZED (
    SELECT position, hash, state
    FROM {schema}.snapshots
    WHERE tenant = $1 AND run = $2 AND fold = $3 AND position <= $4
        AND hash = (
            SELECT hash
            FROM {schema}.events
            WHERE tenant = $1 AND run = $2 AND position = snapshots.position
        )
    ORDER BY position DESC
    LIMIT 1
)
SELECT true, position, hash, state
FROM snapshot
UNION ALL
(
    SELECT false, position, hash, record
    FROM {schema}.events
    WHERE tenant = $1 AND run = $2 AND position > coalesce((SELECT position FROM snapshot), 0) AND position <= $4
    ORDER BY position
    LIMIT $5
)

-- name: tail
-- The ceiling is of the same snapshot as the rows: of two statements the second would see too much or too little.
SELECT gid, tenant, run, position, hash, key, act, claim, record
FROM {schema}.events
WHERE gid > $1
    AND gid < (
        SELECT (epoch + pg_snapshot_xmin(pg_current_snapshot())::text::bigint) << 20 FROM {schema}.epoch
    )
ORDER BY gid
LIMIT $2

-- name: tail_of_tenant
-- The tenant is compared as an expression, which no index has: read in global order, not sorted into it.
SELECT gid, tenant, run, position, hash, key, act, claim, record
FROM {schema}.events
WHERE gid > $1
    AND gid < (
        SELECT (epoch + pg_snapshot_xmin(pg_current_snapshot())::text::bigint) << 20 FROM {schema}.epoch
    )
    AND tenant || '' = $3
ORDER BY gid
LIMIT $2

-- name: progress
-- The last event below the ceiling and the last event at all, of whatever tenant, and the oldest transaction, which
-- makes the ceiling.
SELECT {schema}.last_below(bound.ceiling), {schema}.last_below(9223372036854775807), bound.oldest
FROM (
    SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest,
        (epoch + pg_snapshot_xmin(pg_current_snapshot())::text::bigint) << 20 AS ceiling
    FROM {schema}.epoch
) AS bound

-- name: find_key
SELECT gid, tenant, run, position, hash, key, act, claim, record
FROM {schema}.events
WHERE tenant = $1 AND key = $2
ORDER BY gid DESC
LIMIT $3

-- name: find_act
SELECT gid, tenant, run, position, hash, key, act, claim, record
FROM {schema}.events
WHERE tenant = $1 AND act = $2
ORDER BY gid DESC
LIMIT $3

-- name: find_claim
SELECT gid, tenant, run, position, hash, key, act, claim, record
FROM {schema}.events
WHERE tenant = $1 AND claim = $2
ORDER BY gid DESC
LIMIT $3

-- name: find_all
-- Of each key the newest few, found through the key index one by one.
SELECT found.gid, found.tenant, found.run, found.position, found.hash, found.key, found.act, found.claim,
    found.record
FROM unnest($2::bytea[]) AS wanted (key)
CROSS JOIN LATERAL (
    SELECT gid, tenant, run, position, hash, key, act, claim, record
    FROM {schema}.events
    WHERE tenant = $1 AND key = wanted.key
    ORDER BY gid DESC
    LIMIT $3
) AS found
ORDER BY found.gid

-- name: stream_heads
-- Skip from name to name, one step down the place index each, whatever the streams hold. Names that start with
-- the prefix stand together in byte order, so the first that does not ends the list.
WITH RECURSIVE names (run) AS (
    (
        SELECT run
        FROM {schema}.events
        WHERE tenant = $1 AND run > $2 AND run >= $3
        ORDER BY run
        LIMIT 1
    )
    UNION ALL
    SELECT (SELECT run FROM {schema}.events WHERE tenant = $1 AND run > names.run ORDER BY run LIMIT 1)
    FROM names
    WHERE starts_with(names.run, $3)
)
SELECT last.run, last.position, last.gid, last.hash, last.record
FROM (SELECT run FROM names LIMIT $4) AS listed
CROSS JOIN LATERAL (
    SELECT run, position, gid, hash, record
    FROM {schema}.events
    WHERE tenant = $1 AND run = listed.run
    ORDER BY position DESC
    LIMIT 1
) AS last
WHERE starts_with(listed.run, $3)
ORDER BY last.run

-- name: source_heads
SELECT stream, position
FROM {schema}.heads
WHERE tenant = $1
ORDER BY stream

-- name: put_snapshot
-- Of the stretch that holds the new snapshot nothing before it is kept. It may be lost in a crash, so its
-- commit does not wait for the disk.
WITH saved AS (
    INSERT INTO {schema}.snapshots (tenant, run, position, hash, fold, state)
    SELECT $1::text, $2::text, $3::bigint, $4::bytea, $5::text, $6::bytea
    WHERE set_config('synchronous_commit', 'off', true) = 'off'
    ON CONFLICT (tenant, run, position) DO UPDATE SET
        hash = excluded.hash, fold = excluded.fold, state = excluded.state
)
DELETE FROM {schema}.snapshots
WHERE tenant = $1::text AND run = $2::text AND position < $3::bigint
    AND position >= $3::bigint - $3::bigint % $7::bigint

-- name: snapshots
SELECT position, hash, fold, state
FROM {schema}.snapshots
WHERE tenant = $1 AND run = $2
ORDER BY position

-- name: drop_snapshots
WITH dropped AS (DELETE FROM {schema}.snapshots RETURNING 1)
SELECT count(*) FROM dropped

-- name: drop_snapshots_of_tenant
WITH dropped AS (DELETE FROM {schema}.snapshots WHERE tenant = $1 RETURNING 1)
SELECT count(*) FROM dropped

-- name: blobs
-- Content kept in several classes is the same content.
SELECT DISTINCT ON (digest) digest, content
FROM {schema}.blobs
WHERE tenant = $1 AND digest = ANY ($2::bytea[])
ORDER BY digest, kind

-- name: renew_lease
-- Extend a lease by $6 seconds where it has not lapsed and is this worker's, and say how many seconds were left of
-- it. A row that somebody else is changing is waited for, and the clock read then; $7 overrules the clock. A row
-- that appears only now was made by who renews at the same time.
WITH held AS MATERIALIZED (
    SELECT worker, until
    FROM {schema}.leases
    WHERE tenant = $1::text AND key = $2::bytea AND attempt = $3::bigint
    FOR UPDATE
),
judged AS MATERIALIZED (
    SELECT coalesce(last.worker, $4::text) AS worker, coalesce(last.until, $5::timestamptz) AS until,
        coalesce($7::timestamptz, clock_timestamp()) AS now
    FROM (SELECT max(worker) AS worker, max(until) AS until FROM held) AS last
),
renewed AS (
    INSERT INTO {schema}.leases (tenant, key, attempt, worker, until, progress)
    SELECT $1::text, $2::bytea, $3::bigint, $4::text,
        greatest(until, now + make_interval(secs => $6::double precision)), $8::text
    FROM judged
    WHERE worker = $4::text AND until > now
    ON CONFLICT (tenant, key, attempt) DO UPDATE SET
        until = greatest(leases.until, excluded.until), progress = coalesce(excluded.progress, leases.progress)
    WHERE leases.worker = excluded.worker
    RETURNING until
)
SELECT renewed.until, extract(epoch FROM judged.until - judged.now)::double precision
FROM renewed, judged

-- name: lease
SELECT worker, until, progress
FROM {schema}.leases
WHERE tenant = $1 AND key = $2 AND attempt = $3

-- name: release_leases
-- One that is lost in a crash does no harm, so its commit does not wait for the disk.
DELETE FROM {schema}.leases
WHERE tenant = $1 AND key = $2 AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'

-- name: clock
SELECT clock_timestamp()

-- name: schema_version
SELECT coalesce(max(version), 0) FROM {schema}.ledger_migrations

-- name: server
-- What the server and this session promise.
SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'),
    current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
    pg_is_in_recovery()

-- name: standing
-- Whether the tenant $2, or any where it is null, is open to this role in the schema $1, and whether the epoch has
-- to be raised and it may.
SELECT NOT row_security_active(format('%I.events', $1::text))
        OR EXISTS (
            SELECT FROM {schema}.members
            WHERE pg_has_role(role, 'USAGE') AND ($2::text IS NULL OR coalesce(tenant, $2) = $2)
        ),
    {schema}.epoch_is_behind() AND has_function_privilege(format('%I.raise_epoch()', $1::text), 'EXECUTE')

-- name: raise_epoch
SELECT {schema}.raise_epoch()

-- name: log_position
-- How far the log has got: all that this session has been shown lies before it.
SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint

-- name: identity
-- Which database this is: a replica has the identity of its primary's, and a copy that lives on has it not.
SELECT system_identifier, (SELECT oid::bigint FROM pg_database WHERE datname = current_database())
FROM pg_control_system()

-- name: shown
-- How many seconds ago a replica's last commit was made on its primary.
SELECT coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0)::double precision

-- name: replayed
-- How far a replica has come in the log of its primary.
SELECT (pg_last_wal_replay_lsn() - '0/0')::bigint

-- name: holders
-- Who holds the transaction $1, which followers wait for: a session in any database, or nobody any more
-- where the transaction was prepared. Ids are compared as the 32 bits that sessions show.
SELECT pid::bigint, datname::text, usename::text, application_name, state,
    extract(epoch FROM clock_timestamp() - xact_start)::double precision, NULL::text
FROM pg_stat_activity
WHERE backend_xid::text::bigint = $1::bigint % 4294967296
UNION ALL
SELECT NULL, database::text, owner::text, NULL, 'prepared',
    extract(epoch FROM clock_timestamp() - prepared)::double precision, gid
FROM pg_prepared_xacts
WHERE transaction::text::bigint = $1::bigint % 4294967296

-- name: lock_holders
-- Who has been in a transaction for $2 seconds that locks tables of the schema $1: one of them, or several, kept
-- a statement waiting that has just given up. (Who blocks whom is shown only while the waiting lasts.)
SELECT DISTINCT activity.pid::bigint, activity.datname::text, activity.usename::text, activity.application_name,
    activity.state, extract(epoch FROM statement_timestamp() - coalesce(activity.xact_start, held.prepared))::double precision,
    held.gid
FROM pg_locks
JOIN pg_class ON pg_class.oid = pg_locks.relation
LEFT JOIN pg_stat_activity AS activity ON activity.pid = pg_locks.pid
LEFT JOIN pg_prepared_xacts AS held ON pg_locks.virtualtransaction = '-1/' || held.transaction::text
WHERE pg_locks.granted AND pg_locks.mode <> 'AccessShareLock'
    AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND pg_class.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
    AND pg_locks.pid IS DISTINCT FROM pg_backend_pid()
    AND coalesce(activity.xact_start, held.prepared, '-infinity')
        <= statement_timestamp() - make_interval(secs => $2::double precision)

-- name: list_blobs
SELECT digest, kind, length(content)::bigint, expires_at
FROM {schema}.blobs
WHERE tenant = $1 AND (digest, kind) > ($2::bytea, $3::text)
ORDER BY digest, kind
LIMIT $4

-- name: blob_rows
SELECT digest, kind, length(content)::bigint, expires_at
FROM {schema}.blobs
WHERE tenant = $1 AND digest = ANY ($2::bytea[])
ORDER BY digest, kind

-- name: kept_blobs
SELECT digest, kind, content, expires_at
FROM {schema}.blobs
WHERE tenant = $1 AND digest = ANY ($2::bytea[])
ORDER BY digest, kind

-- name: lock_blobs
-- The first statement of who drops contents: whoever stores one of them again holds its row until his event is
-- stored, and waits for this one. Behind it, what was appended can be seen.
SELECT digest, kind
FROM {schema}.blobs
WHERE tenant = $1 AND (digest, kind) IN (SELECT * FROM unnest($2::bytea[], $3::text[]))
ORDER BY digest, kind
FOR UPDATE

-- name: behind
-- What was appended since, but to one stream, shown to followers yet or not.
SELECT record
FROM {schema}.events
WHERE gid > $1 AND tenant || '' = $2 AND run <> $3

-- name: drop_blobs
DELETE FROM {schema}.blobs
WHERE tenant = $1 AND (digest, kind) IN (SELECT * FROM unnest($2::bytea[], $3::text[]))
