-- A version may be made once more, in a second set of tables, beside the one that is read: its slot is part of the
-- key of a cursor. `tables` names what it keeps, with spaces between, so that it can be deleted by a program that does
-- not know that version; a cursor without a shape stands for what is being deleted.
ALTER TABLE {schema}.projections
    ADD COLUMN slot bigint NOT NULL DEFAULT 0,
    ADD COLUMN tables text COLLATE "C" NOT NULL DEFAULT '',
    DROP CONSTRAINT projections_place,
    ADD CONSTRAINT projections_place PRIMARY KEY (tenant, projection, version, slot);

-- Which build of a projection (a version in a slot) its questions read, of each tenant by itself; which one was read
-- before it, and which is to be once it has caught up. A swap is a change of this row.
CREATE TABLE {schema}.served (
    version bigint NOT NULL,
    slot bigint NOT NULL,
    previous_version bigint,
    previous_slot bigint,
    next_version bigint,
    next_slot bigint,
    since timestamptz NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    projection text COLLATE "C" NOT NULL,
    CONSTRAINT served_place PRIMARY KEY (tenant, projection)
);

INSERT INTO {schema}.served (tenant, projection, version, slot, since)
SELECT tenant, projection, max(version), 0, max(updated_at)
FROM {schema}.projections
GROUP BY tenant, projection;

-- Streams that a build has set aside, each at the first of its records that is not handled; `events` counts those that
-- have come since, that one included. They change in the transaction of the cursor, except that `again` is set by who
-- says that they can be handled now.
CREATE TABLE {schema}.parked (
    version bigint NOT NULL,
    slot bigint NOT NULL,
    gid bigint NOT NULL,
    position bigint NOT NULL,
    events bigint NOT NULL,
    again boolean NOT NULL DEFAULT false,
    tenant text COLLATE "C" NOT NULL,
    projection text COLLATE "C" NOT NULL,
    run text COLLATE "C" NOT NULL,
    error text COLLATE "C" NOT NULL,
    CONSTRAINT parked_place PRIMARY KEY (tenant, projection, version, slot, run)
);

ALTER TABLE {schema}.served ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.served FORCE ROW LEVEL SECURITY;
CREATE POLICY served_tenant ON {schema}.served USING (
    (SELECT array_agg(coalesce(members.tenant, '')) FROM {schema}.members WHERE pg_has_role(role, 'USAGE'))
    && ARRAY['', tenant]
);

ALTER TABLE {schema}.parked ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.parked FORCE ROW LEVEL SECURITY;
CREATE POLICY parked_tenant ON {schema}.parked USING (
    (SELECT array_agg(coalesce(members.tenant, '')) FROM {schema}.members WHERE pg_has_role(role, 'USAGE'))
    && ARRAY['', tenant]
);
