-- claim_lapsed_2: takes over leases of others that ended without an answer.
--
-- reply      a row for each lease, those that ended first first; last a row without id: now, next_at (when the next lease
--            of another ends; null: none), is_own_lapsed
-- promises   P3, P4 (a new token), P8. Leases of the asker's own are left out: its keeper extends them.
-- cost       a walk over the leases that have ended; for each one taken, one row and one index entry
--
-- A lease that a handler completes in a transaction of its own is locked by that transaction, and skipped.
create or replace function punctual.claim_lapsed_2(
  q int, at bigint, who text, limit_all int, bytes_max bigint, lease bigint, new_token bigint
) returns table (
  id text, topic text, priority smallint, due_at bigint, first_due_at bigint, attempt int, lapses smallint, meta text,
  body text, key text, now_at bigint, next_at bigint, is_own_lapsed boolean
) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
  t bigint := punctual.now_1(at);
  picked tid[];
  upcoming bigint;
begin
  perform set_config('synchronous_commit', 'off', true);
  -- The first one whatever its size, then as many as fit.
  select array_agg(y.place order by y.o) into picked from (
    select x.ctid as place, x.o, x.o = 1 or sum(x.size) over (order by x.o) <= bytes_max as fits from (
      select l.ctid, l.size, row_number() over () as o from (
        select m.ctid, octet_length(m.body) as size from punctual.message m
          where m.queue = q and m.state = 1 and m.until <= t and m.owner <> who
          order by m.until, m.seq limit limit_all for update skip locked) l) x) y
    where y.fits;
  if cardinality(picked) > 0 then
    return query with taken as (
      update punctual.message m set until = t + lease, leased_at = t, token = new_token, owner = who,
          is_taken = true
        from unnest(picked) with ordinality as k(place, o)
        where m.ctid = k.place and m.state = 1 and m.until <= t and m.owner <> who
        returning m.id, m.topic, m.priority, m.due_at, m.first_due_at, m.attempt, m.lapses, m.meta, m.body, m.key, k.o
    )
    select l.id, l.topic, l.priority, l.due_at, l.first_due_at, l.attempt, l.lapses, l.meta, l.body, l.key, null::bigint,
      null::bigint, null::boolean from taken l order by l.o;
  end if;
  select m.until into upcoming from punctual.message m
    where m.queue = q and m.state = 1 and m.owner <> who order by m.until, m.seq limit 1;
  -- Locked by an open transaction: worth asking again soon, not at once.
  if upcoming <= t and coalesce(cardinality(picked), 0) = 0 then upcoming := t + 1000000; end if;
  return query select null::text, null::text, null::smallint, null::bigint, null::bigint, null::int, null::smallint,
    null::text, null::text, null::text, t, upcoming, exists (
      select 1 from punctual.message m where m.queue = q and m.state = 1 and m.until <= t and m.owner = who);
end
$$;
