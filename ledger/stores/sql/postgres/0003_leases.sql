-- Until when attempts at effects were renewed: coordination between workers, and no fact. It may be missing: a
-- lease then ends where the record of its claim says, which is earlier. `key` is the column of that name in
-- `events`. Half of each page is left free, so that a renewed row stays where it is and its index need not follow.
CREATE TABLE {schema}.leases (
    attempt bigint NOT NULL CHECK (attempt > 0),
    until timestamptz NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    key bytea NOT NULL,
    worker text COLLATE "C" NOT NULL,
    progress text COLLATE "C",
    CONSTRAINT leases_place PRIMARY KEY (tenant, key, attempt)
) WITH (fillfactor = 50);

ALTER TABLE {schema}.leases ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.leases FORCE ROW LEVEL SECURITY;
CREATE POLICY leases_tenant ON {schema}.leases USING (
    (SELECT array_agg(coalesce(members.tenant, '')) FROM {schema}.members WHERE pg_has_role(role, 'USAGE'))
    && ARRAY['', tenant]
);
