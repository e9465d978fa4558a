-- How far each projection has read, of each tenant by itself. A row moves in the transaction that changes what the
-- projection keeps in tables of its own (`projection_NAME_vVERSION_…`), so that both say the same. All of it can be
-- made again from the events.
--
-- `gid`, `run`, `position` and `hash` name the record that was handled last: one that is not in the ledger any more
-- says that the row comes from another history. `seen` is how far nothing of the tenant is left behind it, `seen_hash`
-- the hash of the event at that place, whosever it is. `fence` counts who has worked: a page is kept only under the
-- number that the last one was given, so that one who was thought dead cannot write. Times are as in records.
CREATE TABLE projections (
    tenant TEXT NOT NULL,
    projection TEXT NOT NULL,
    version INTEGER NOT NULL,
    shape TEXT NOT NULL,
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
    PRIMARY KEY (tenant, projection, version)
) WITHOUT ROWID;
