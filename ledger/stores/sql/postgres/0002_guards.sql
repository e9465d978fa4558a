-- What the database itself refuses: to change history, and to show or take what is another tenant's.

-- --- history -------------------------------------------------------------------------------------------------

CREATE FUNCTION {schema}.refuse() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'the ledger is append-only: % of % is refused', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END
$$;

-- For each statement, so that one that would change nothing is refused too, and an append pays nothing: neither
-- of them fires on INSERT. ALWAYS: also where a session passes itself off as replication.
CREATE TRIGGER events_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON {schema}.events
FOR EACH STATEMENT EXECUTE FUNCTION {schema}.refuse();
ALTER TABLE {schema}.events ENABLE ALWAYS TRIGGER events_refuse_change;

CREATE TRIGGER epoch_refuse_delete BEFORE DELETE OR TRUNCATE ON {schema}.epoch
FOR EACH STATEMENT EXECUTE FUNCTION {schema}.refuse();
ALTER TABLE {schema}.epoch ENABLE ALWAYS TRIGGER epoch_refuse_delete;

-- What was appended after a lower epoch would come before what followers have passed.
CREATE TRIGGER epoch_refuse_lower BEFORE UPDATE ON {schema}.epoch
FOR EACH ROW WHEN (new.epoch < old.epoch) EXECUTE FUNCTION {schema}.refuse();
ALTER TABLE {schema}.epoch ENABLE ALWAYS TRIGGER epoch_refuse_lower;

-- A head that goes back would admit again what relied on a constraint that was withdrawn since.
CREATE TRIGGER heads_refuse_back BEFORE UPDATE ON {schema}.heads
FOR EACH ROW WHEN (
    new.position < old.position OR new.tenant <> old.tenant OR new.stream <> old.stream
) EXECUTE FUNCTION {schema}.refuse();
ALTER TABLE {schema}.heads ENABLE ALWAYS TRIGGER heads_refuse_back;

-- Content is kept as long as anybody wants it: who appends may ask for longer, not for less.
CREATE TRIGGER blobs_refuse_sooner BEFORE UPDATE ON {schema}.blobs
FOR EACH ROW WHEN (
    new.expires_at < old.expires_at OR old.expires_at IS NULL AND new.expires_at IS NOT NULL
) EXECUTE FUNCTION {schema}.refuse();
ALTER TABLE {schema}.blobs ENABLE ALWAYS TRIGGER blobs_refuse_sooner;

-- --- tenants -------------------------------------------------------------------------------------------------

-- Which roles may see and write which tenant; no tenant means every one. A role counts for all who have its
-- rights. It is a role and not a setting, because any session may set a setting. Roles are kept as what they
-- are, not by name: to look a name up costs an append more than all the rest.
CREATE TABLE {schema}.members (
    role regrole NOT NULL,
    tenant text COLLATE "C"
);
CREATE UNIQUE INDEX members_place ON {schema}.members (role, coalesce(tenant, ''));

INSERT INTO {schema}.members (role) VALUES (current_user::regrole);

-- Who may read the others' tenants is their owner alone.
ALTER TABLE {schema}.members ENABLE ROW LEVEL SECURITY;
CREATE POLICY members_own ON {schema}.members USING (pg_has_role(role, 'USAGE'));

-- The list is made once for each statement, not for each row, since it depends on none. An id is never empty,
-- so the empty one can stand for every tenant. Forced: the owner of the tables is no exception.
ALTER TABLE {schema}.events ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.events FORCE ROW LEVEL SECURITY;
CREATE POLICY events_tenant ON {schema}.events USING (
    (SELECT array_agg(coalesce(members.tenant, '')) FROM {schema}.members WHERE pg_has_role(role, 'USAGE'))
    && ARRAY['', tenant]
);

-- An event takes its place in the global order from the transaction that stores it: a lower one would appear
-- behind followers that have passed it, a higher one would keep what comes next below it.
CREATE POLICY events_order ON {schema}.events AS RESTRICTIVE FOR INSERT WITH CHECK (
    gid >> 20 = (SELECT epoch + pg_current_xact_id()::text::bigint FROM {schema}.epoch)
);

ALTER TABLE {schema}.heads ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.heads FORCE ROW LEVEL SECURITY;
CREATE POLICY heads_tenant ON {schema}.heads USING (
    (SELECT array_agg(coalesce(members.tenant, '')) FROM {schema}.members WHERE pg_has_role(role, 'USAGE'))
    && ARRAY['', tenant]
);

-- A head says where its stream ends, and nothing else: one that says more would refuse for ever whatever relies on
-- the source, and its withdrawals too, for it does not go back.
CREATE POLICY heads_stored ON {schema}.heads AS RESTRICTIVE WITH CHECK (
    position = (
        SELECT coalesce(max(events.position), 0)
        FROM {schema}.events
        WHERE events.tenant = heads.tenant AND events.run = heads.stream
    )
);

ALTER TABLE {schema}.snapshots ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.snapshots FORCE ROW LEVEL SECURITY;
CREATE POLICY snapshots_tenant ON {schema}.snapshots USING (
    (SELECT array_agg(coalesce(members.tenant, '')) FROM {schema}.members WHERE pg_has_role(role, 'USAGE'))
    && ARRAY['', tenant]
);

ALTER TABLE {schema}.blobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.blobs FORCE ROW LEVEL SECURITY;
CREATE POLICY blobs_tenant ON {schema}.blobs USING (
    (SELECT array_agg(coalesce(members.tenant, '')) FROM {schema}.members WHERE pg_has_role(role, 'USAGE'))
    && ARRAY['', tenant]
);

-- --- the epoch ------------------------------------------------------------------------------------------------

-- Whether every tenant is open to this role. The functions below run as the owner of the tables: one that was
-- restored for another owner than `members` knows would show him no events, and he would take it for empty.
CREATE FUNCTION {schema}.sees_every_tenant() RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT NOT row_security_active($name${schema}.events$name$)
        OR EXISTS (SELECT FROM {schema}.members WHERE tenant IS NULL AND pg_has_role(role, 'USAGE'))
$$;

-- Go on above all that is stored, on this server: called when a connection finds another server than the one
-- the epoch was made for, or events that transaction ids have yet to reach.
--
-- No event is being inserted meanwhile (the lock waits for those who do, and keeps others out). From then on
-- every transaction that inserts has an id of at least the snapshot's xmin, so xmin is what has to be lifted
-- above the highest event. Where the server is another one, what was restored may be behind what followers of
-- the old one have seen, by transactions nobody can count any more: 2^28 more are passed over, which is a day
-- of three thousand a second, and there is room for that thirty thousand times.
--
-- It changes nothing where nothing has to be, so whoever writes may call it; it needs rights that writers lack.
CREATE FUNCTION {schema}.raise_epoch() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    known {schema}.epoch;
    server bigint := (SELECT system_identifier FROM pg_control_system());
    line text := left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);
    highest bigint;
    moved boolean;
BEGIN
    IF NOT {schema}.sees_every_tenant() THEN
        RAISE EXCEPTION 'the owner of the ledger does not see every tenant, so it cannot tell which event is the last'
            USING ERRCODE = 'insufficient_privilege', HINT = 'Run intent-ledger migrate --roles NAME.';
    END IF;
    LOCK TABLE {schema}.events IN SHARE ROW EXCLUSIVE MODE;
    SELECT * INTO STRICT known FROM {schema}.epoch FOR UPDATE;
    SELECT coalesce(max(gid) >> 20, 0) INTO highest FROM {schema}.events;
    moved := known.system_identifier <> server OR known.timeline <> line;
    IF moved OR highest >= known.epoch + pg_snapshot_xmax(pg_current_snapshot())::text::bigint THEN
        known.epoch := greatest(
            known.epoch, highest + 1 - pg_snapshot_xmin(pg_current_snapshot())::text::bigint
        );
        IF moved THEN
            known.epoch := known.epoch + (1 << 28);
        END IF;
        UPDATE {schema}.epoch SET epoch = known.epoch, system_identifier = server, timeline = line;
    END IF;
    RETURN known.epoch;
END
$$;

-- Whether the epoch was made for another server, or events stand where transaction ids have yet to come. It
-- looks at the events of all tenants, which not every writer sees. (A replica has the epoch of its primary.)
CREATE FUNCTION {schema}.epoch_is_behind() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN pg_is_in_recovery() THEN false ELSE
        epoch.system_identifier <> server.system_identifier
        OR epoch.timeline <> left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
        OR NOT {schema}.sees_every_tenant()
        OR coalesce((SELECT max(gid) >> 20 FROM {schema}.events), 0)
            >= epoch.epoch + pg_snapshot_xmax(pg_current_snapshot())::text::bigint
    END
    FROM {schema}.epoch, pg_control_system() AS server
$$;

-- The last event below a bound, whose ever it is: its place, which is no secret, and nothing of it. To a role that
-- is shown some tenants the table would yield it only after all that came later and is not shown. SQL and not
-- PL/pgSQL: planned for the table as it is, by sessions that settings of ours do not reach as well.
CREATE FUNCTION {schema}.last_below(bound bigint) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(max(gid), 0) FROM {schema}.events WHERE gid < bound
$$;

-- Raising locks appends out, if only for a moment: not for everybody.
REVOKE EXECUTE ON FUNCTION {schema}.raise_epoch(), {schema}.epoch_is_behind() FROM PUBLIC;
