-- A version may be made once more, in a second set of tables, beside the one that is read: its slot is part of the
-- key of a cursor. `tables` names what it keeps, with spaces between, so that it can be deleted by a program that does
-- not know that version; a cursor without a shape stands for what is being deleted.
CREATE TABLE projections_with_slots (
    tenant TEXT NOT NULL,
    projection TEXT NOT NULL,
    version INTEGER NOT NULL,
    slot INTEGER NOT NULL DEFAULT 0,
    shape TEXT NOT NULL,
    tables TEXT NOT NULL DEFAULT '',
    gid INTEGER NOT NULL DEFAULT 0,
    run TEXT,
    position INTEGER,
    hash BLOB,
    seen INTEGER NOT NULL DEFAULT 0,
    seen_hash BLOB,
    events INTEGER NOT NULL DEFAULT 0,
    at TEXT,
    built INTEGER NOT NULL DEFAULT 0,
    stopped_gid INTEGER,
    stopped_run TEXT,
    stopped_position INTEGER,
    stopped_error TEXT,
    updated_at TEXT NOT NULL,
    holder TEXT,
    until TEXT,
    fence INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, projection, version, slot)
) WITHOUT ROWID;

INSERT INTO projections_with_slots (tenant, projection, version, shape, gid, run, position, hash, seen, seen_hash,
    events, at, built, stopped_gid, stopped_run, stopped_position, stopped_error, updated_at, holder, until, fence)
SELECT tenant, projection, version, shape, gid, run, position, hash, seen, seen_hash, events, at, built, stopped_gid,
    stopped_run, stopped_position, stopped_error, updated_at, holder, until, fence
FROM projections;

DROP TABLE projections;

ALTER TABLE projections_with_slots RENAME TO projections;

-- Which build of a projection (a version in a slot) its questions read, of each tenant by itself; which one was read
-- before it, and which is to be once it has caught up. A swap is a change of this row.
CREATE TABLE served (
    tenant TEXT NOT NULL,
    projection TEXT NOT NULL,
    version INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    since TEXT NOT NULL,
    previous_version INTEGER,
    previous_slot INTEGER,
    next_version INTEGER,
    next_slot INTEGER,
    PRIMARY KEY (tenant, projection)
) WITHOUT ROWID;

INSERT INTO served (tenant, projection, version, slot, since)
SELECT tenant, projection, max(version), 0, max(updated_at)
FROM projections
GROUP BY tenant, projection;

-- Streams that a build has set aside, each at the first of its records that is not handled; `events` counts those that
-- have come since, that one included. They change in the transaction of the cursor, except that `again` is set by who
-- says that they can be handled now.
CREATE TABLE parked (
    tenant TEXT NOT NULL,
    projection TEXT NOT NULL,
    version INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    run TEXT NOT NULL,
    gid INTEGER NOT NULL,
    position INTEGER NOT NULL,
    error TEXT NOT NULL,
    events INTEGER NOT NULL,
    again INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, projection, version, slot, run)
) WITHOUT ROWID;
