-- What each role of a ledger may do; `{owner}`, `{writer}`, `{reader}` and `{every_tenant}` stand for their names.
-- It may be run again at any time, and is after each migration.
--
-- None of them logs in. A login is made a member of one that says what it may do (writer or reader), and of one
-- that says for whom (every tenant, or a role that `members` opens to some). The two are apart so that taking
-- something away never opens anything.

GRANT USAGE ON SCHEMA {schema} TO {writer}, {reader};
GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {writer}, {reader};

GRANT INSERT ON {schema}.events, {schema}.heads, {schema}.snapshots, {schema}.blobs, {schema}.leases TO {writer};
-- To lock a head takes the right to move it.
GRANT UPDATE (position) ON {schema}.heads TO {writer};
-- Snapshots can be made again; content never changes, it may be kept longer.
GRANT UPDATE (hash, fold, state), DELETE ON {schema}.snapshots TO {writer};
GRANT UPDATE (expires_at) ON {schema}.blobs TO {writer};
-- A lease is extended by its worker, and forgotten by who settles the effect.
GRANT UPDATE (until, progress), DELETE ON {schema}.leases TO {writer};

-- A projection can be made again. Its own tables are granted as they are made.
GRANT INSERT, UPDATE, DELETE ON {schema}.projections, {schema}.served, {schema}.parked TO {writer};

GRANT EXECUTE ON FUNCTION {schema}.epoch_is_behind() TO {writer}, {reader};
GRANT EXECUTE ON FUNCTION {schema}.raise_epoch() TO {writer};

INSERT INTO {schema}.members (role)
SELECT unnest(ARRAY[{owner_name}, {every_tenant_name}]::regrole[])
ON CONFLICT DO NOTHING;
