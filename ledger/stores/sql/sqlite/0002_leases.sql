-- Until when attempts at effects were renewed: coordination between workers, and no fact. It may be lost: a lease
-- then ends where the record of its claim says, which is earlier. `key` is the column of that name in `events`,
-- `until` a time as records write it, which compares as text.
CREATE TABLE leases (
    tenant TEXT NOT NULL,
    key BLOB NOT NULL,
    attempt INTEGER NOT NULL CHECK (attempt > 0),
    worker TEXT NOT NULL,
    until TEXT NOT NULL,
    progress TEXT,
    PRIMARY KEY (tenant, key, attempt)
) WITHOUT ROWID;
