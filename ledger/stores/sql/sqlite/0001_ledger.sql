-- The ledger on SQLite.
--
-- One table is the ledger: `events` holds every record as the bytes that were hashed, in one global order
-- (`gid`) and, within each stream of a tenant, at positions 1, 2, 3, … without a gap. A stream is a run, or one
-- of the ledger's own, whose name starts with `$`. All columns but `gid` are derived from the record; they are
-- there to be searched, and `verify` compares them with the bytes.
--
-- What stands beside it can be made again or may be missing: `heads` is where each source stream stands, so
-- that an append can be guarded by it; `snapshots` are saved folds; `blobs` is content too large for a record,
-- under its digest.
--
-- Text compares byte by byte (SQLite's default), so names that differ in case or in Unicode form are two names.

CREATE TABLE ledger_migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL
);

-- The rowid is the global position. It follows the commit order because SQLite has one writer at a time, and
-- it is never given twice because nothing is ever deleted; AUTOINCREMENT would promise the same at the cost of
-- one more page written by every append.
CREATE TABLE events (
    gid INTEGER PRIMARY KEY CHECK (gid > 0),
    tenant TEXT NOT NULL,
    run TEXT NOT NULL,
    position INTEGER NOT NULL CHECK (position > 0),
    hash BLOB NOT NULL,
    key BLOB,
    act BLOB,
    claim BLOB,
    record BLOB NOT NULL
);

-- Decides the race for a position, reads a stream in order, and lists streams by skipping from name to name.
CREATE UNIQUE INDEX events_place ON events (tenant, run, position);

-- Finds what an event is about (an effect, an observation, a message); only events that are about something pay.
CREATE INDEX events_key ON events (tenant, key) WHERE key IS NOT NULL;

-- Finds the same act under another step; one entry per intended effect.
CREATE INDEX events_act ON events (tenant, act) WHERE act IS NOT NULL;

-- Decides the race for an attempt at an effect, across the runs of a lineage; one entry per started effect.
CREATE UNIQUE INDEX events_claim ON events (tenant, claim) WHERE claim IS NOT NULL;

CREATE TRIGGER events_refuse_delete BEFORE DELETE ON events
BEGIN
    SELECT raise(ABORT, 'the ledger is append-only: no event is deleted');
END;

CREATE TRIGGER events_refuse_update BEFORE UPDATE ON events
BEGIN
    SELECT raise(ABORT, 'the ledger is append-only: no event is changed');
END;

-- INSERT OR REPLACE deletes the rows it collides with, and does so without a word to the triggers above unless
-- the connection has asked for recursive triggers. So what would collide is refused before it comes to that: an
-- event has the next position of its stream, and a claim that nobody holds. A gid that is given must be the next
-- one too, for a lower one would appear behind followers that have passed it. (Where none is given, new.gid is
-- not a positive number here.)
CREATE TRIGGER events_refuse_replace BEFORE INSERT ON events
WHEN new.position IS NOT 1 + (
        SELECT coalesce(max(position), 0) FROM events WHERE tenant = new.tenant AND run = new.run
    )
    OR (new.claim IS NOT NULL
        AND EXISTS (SELECT 1 FROM events WHERE tenant = new.tenant AND claim = new.claim))
    OR (new.gid > 0 AND new.gid IS NOT (SELECT coalesce(max(gid), 0) + 1 FROM events))
BEGIN
    SELECT raise(ABORT, 'the ledger is append-only: an event takes the next position, a free claim, the next gid');
END;

-- Where each source stream stands; moved in the transaction that appends to it.
CREATE TABLE heads (
    tenant TEXT NOT NULL,
    stream TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (tenant, stream)
) WITHOUT ROWID;

-- Saved folds. `hash` is the hash of the event at `position`: a snapshot that does not lie on the chain is not used.
CREATE TABLE snapshots (
    tenant TEXT NOT NULL,
    run TEXT NOT NULL,
    position INTEGER NOT NULL,
    hash BLOB NOT NULL,
    fold TEXT NOT NULL,
    state BLOB NOT NULL
);

CREATE UNIQUE INDEX snapshots_place ON snapshots (tenant, run, position);

-- Content under its SHA-256. The same content in two classes is kept twice: each class has its own time to go.
CREATE TABLE blobs (
    tenant TEXT NOT NULL,
    digest BLOB NOT NULL,
    kind TEXT NOT NULL,
    content BLOB NOT NULL,
    expires_at TEXT
);

CREATE UNIQUE INDEX blobs_place ON blobs (tenant, digest, kind);
