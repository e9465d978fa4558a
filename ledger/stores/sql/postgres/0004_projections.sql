-- How far each projection has read, of each tenant by itself. A row moves in the transaction that changes what the
-- projection keeps in tables of its own (`projection_NAME_vVERSION_…`), so that both say the same. All of it can be
-- made again from the events.
--
-- `gid`, `run`, `position` and `hash` name the record that was handled last: one that is not in the ledger any more
-- says that the row comes from another history. `seen` is how far nothing of the tenant is left behind it, `seen_hash`
-- the hash of the event at that place, whosever it is. `fence` counts who has worked: a page is kept only under the
-- number that the last one was given, so that one who was thought dead cannot write. `at` is a time as records write
-- it. Half of each page is left free, so that a row that moves on stays where it is and its index need not follow.
CREATE TABLE {schema}.projections (
    version bigint NOT NULL,
    gid bigint NOT NULL DEFAULT 0,
    position bigint,
    seen bigint NOT NULL DEFAULT 0,
    events bigint NOT NULL DEFAULT 0,
    stopped_gid bigint,
    stopped_position bigint,
    fence bigint NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL,
    until timestamptz,
    built boolean NOT NULL DEFAULT false,
    tenant text COLLATE "C" NOT NULL,
    projection text COLLATE "C" NOT NULL,
    shape text COLLATE "C" NOT NULL,
    run text COLLATE "C",
    hash bytea,
    seen_hash bytea,
    at text COLLATE "C",
    stopped_run text COLLATE "C",
    stopped_error text COLLATE "C",
    holder text COLLATE "C",
    CONSTRAINT projections_place PRIMARY KEY (tenant, projection, version)
) WITH (fillfactor = 50);

ALTER TABLE {schema}.projections ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.projections FORCE ROW LEVEL SECURITY;
CREATE POLICY projections_tenant ON {schema}.projections USING (
    (SELECT array_agg(coalesce(members.tenant, '')) FROM {schema}.members WHERE pg_has_role(role, 'USAGE'))
    && ARRAY['', tenant]
);
