-- extend_1: leases then end `lease` from now, if they still are whose token it is.
--
-- reply      for each 'extended', 'cancelling' (extended, and to be cancelled) or 'lost'; with a question mark behind it, if it was
--            not touched although it has lapsed
-- promises   P4. A lapsed lease that was not taken over is extended too. One that an open transaction has locked (a handler
--            completes its message there) is not touched: the lock protects it. Its holder hears that it is held.
-- cost       one row and one index entry each; the commit does not wait for the disk, as in claim_due_1
-- First the rows are locked, then, in a statement of its own, changed: one statement sees the rows as they were when it
-- began, and would miss those that changed while it waited for their locks.
create or replace function punctual.extend_1(q int, at bigint, ids text[], tokens bigint[], lease bigint)
returns text[] language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  t bigint := punctual.now_1(at);
  held record;
begin
  perform set_config('synchronous_commit', 'off', true);
  select array_agg(l.place) as places, array_agg(l.id) as ids, array_agg(l.token) as tokens into held from (
    select m.ctid as place, m.id, m.token from punctual.message m where m.queue = q and m.id = any (ids)
      order by m.id for update skip locked) l;
  update punctual.message m set until = t + lease where m.ctid = any (array(
    select h.place from unnest(held.places, held.ids, held.tokens) as h(place, id, token)
      join unnest(ids, tokens) as u(id, token) on u.id = h.id and u.token = h.token));
  return array(
    select coalesce((select case when m.is_cancelling then 'cancelling' else 'extended' end || case when m.until <= t then '?' else '' end
        from punctual.message m where m.queue = q and m.id = u.id and m.token = u.token), 'lost')
      from unnest(ids, tokens) with ordinality as u(id, token, o) order by u.o);
end
$$;
