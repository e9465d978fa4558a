-- The ledger on PostgreSQL, in a schema of its own; `{schema}` stands for its name.
--
-- One table is the ledger: `events` holds every record as the bytes that were hashed, in one global order
-- (`gid`) and, within each stream of a tenant, at positions 1, 2, 3, … without a gap. A stream is a run, or one
-- of the ledger's own, whose name starts with `$`. All columns but `gid` are derived from the record; they are
-- there to be searched, and `verify` compares them with the bytes.
--
-- What stands beside it can be made again or may be missing: `heads` is where each source stream stands, so
-- that an append can be guarded by it; `snapshots` are saved folds; `blobs` is content too large for a record,
-- under its digest. `epoch` keeps the global order when the ledger moves to another server.
--
-- The global order: gid = (epoch + id of the transaction) · 2^20 + ordinal within the transaction. Whatever
-- lies below the oldest transaction that still runs is complete, so a follower that reads up to there misses
-- nothing, and writers wait for no counter and no lock. Transaction ids are given by the server: where they
-- start again lower, after a dump is restored into another one, the epoch is raised.
--
-- Text compares byte by byte (COLLATE "C"), so names that differ in case or in Unicode form are two names, and
-- an upgrade of the system's collations cannot damage an index.

CREATE TABLE {schema}.ledger_migrations (
    version integer PRIMARY KEY,
    name text NOT NULL
);

-- The wide columns come last and the fixed ones first, which saves the padding between them.
CREATE TABLE {schema}.events (
    gid bigint NOT NULL CHECK (gid > 0),
    position bigint NOT NULL CHECK (position > 0),
    tenant text COLLATE "C" NOT NULL,
    run text COLLATE "C" NOT NULL,
    hash bytea NOT NULL,
    key bytea,
    act bytea,
    claim bytea,
    record bytea NOT NULL,
    -- Decides the race for a position, reads a stream in order, and lists streams by skipping from name to name.
    CONSTRAINT events_place PRIMARY KEY (tenant, run, position),
    -- The global order, as followers read it.
    CONSTRAINT events_gid UNIQUE (gid)
);

-- Finds what an event is about (an effect, an observation, a message), the newest first; only events that are
-- about something pay.
CREATE INDEX events_key ON {schema}.events (tenant, key, gid) WHERE key IS NOT NULL;

-- Finds the same act under another step; one entry per intended effect.
CREATE INDEX events_act ON {schema}.events (tenant, act, gid) WHERE act IS NOT NULL;

-- Decides the race for an attempt at an effect, across the runs of a lineage; one entry per started effect.
CREATE UNIQUE INDEX events_claim ON {schema}.events (tenant, claim) WHERE claim IS NOT NULL;

-- Where each source stream stands; moved in the transaction that appends to it. Half of each page is left free,
-- so that a moved head stays where it is and its index need not follow.
CREATE TABLE {schema}.heads (
    tenant text COLLATE "C" NOT NULL,
    stream text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    CONSTRAINT heads_place PRIMARY KEY (tenant, stream)
) WITH (fillfactor = 50);

-- Saved folds. `hash` is the hash of the event at `position`: a snapshot that does not lie on the chain is not used.
CREATE TABLE {schema}.snapshots (
    position bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    run text COLLATE "C" NOT NULL,
    hash bytea NOT NULL,
    fold text COLLATE "C" NOT NULL,
    state bytea NOT NULL,
    CONSTRAINT snapshots_place PRIMARY KEY (tenant, run, position)
);

-- Content under its SHA-256. The same content in two classes is kept twice: each class has its own time to go.
CREATE TABLE {schema}.blobs (
    tenant text COLLATE "C" NOT NULL,
    digest bytea NOT NULL,
    kind text COLLATE "C" NOT NULL,
    content bytea NOT NULL,
    expires_at text COLLATE "C",
    CONSTRAINT blobs_place PRIMARY KEY (tenant, digest, kind)
);

-- One row: what is added to transaction ids, and the server they belong to.
CREATE TABLE {schema}.epoch (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    epoch bigint NOT NULL,
    system_identifier bigint NOT NULL,
    timeline text COLLATE "C" NOT NULL
);

INSERT INTO {schema}.epoch (epoch, system_identifier, timeline)
SELECT 0, system_identifier, left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
FROM pg_control_system();
