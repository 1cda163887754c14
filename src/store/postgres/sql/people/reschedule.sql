-- reschedule_1: moves messages that wait, and the successors of those that run; attempts and everything else stay. Of two moves of one id the last holds.
--
-- reply      answers: 'rescheduled', 'running' or 'missing'; ring as in put_1
-- promises   P1, P8. One that an open transaction has locked is waited for, in a transaction of ours for a second.
-- cost       one row and two index entries each
-- First the rows are locked, then, in a statement of its own, changed: one statement sees the rows as they were when it
-- began, and would miss those that changed while it waited for their locks. One that came from running to waiting between the
-- looks was in neither: then all is looked at again.
create or replace function punctual.reschedule_1(
  q int, at bigint, ids text[], delays bigint[], moments bigint[], is_joined boolean, channel text
) returns table (answers text[], ring text[], ring_at bigint) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
  t bigint := punctual.now_1(at);
  locked record;
  next_ids text[] := '{}';
  running text[] := '{}';
  is_missed boolean;
  has_freed boolean := false;
begin
  if not is_joined then perform set_config('lock_timeout', '1000', true); end if;
  loop
    select array_agg(l.place) as places, array_agg(l.id) as ids, array_agg(l.topic) as topics, array_agg(l.key) as keys,
        array_agg(l.priority) as ranks, array_agg(l.seq) as seqs, array_agg(l.topic) filter (where l.is_holding) as freed,
        array_agg(l.key) filter (where l.is_holding) as freed_keys
      into locked from (
        select m.ctid as place, m.id, m.topic, m.key, m.priority, m.seq, m.is_holding from punctual.message m
          where m.queue = q and m.id = any (ids) and m.state in (0, 4) order by m.id for update) l;
    exit when cardinality(locked.ids) = cardinality(ids);
    next_ids := array(select m.id from punctual.message m where m.queue = q and m.id = any (ids) and m.state = 1
      and punctual.sound_1(m.successor) order by m.id for update);
    select coalesce(array_agg(m.id) filter (where m.state = 1), '{}'),
        coalesce(bool_or(m.state in (0, 4) and m.id <> all (coalesce(locked.ids, '{}'))), false)
      into running, is_missed from punctual.message m where m.queue = q and m.id = any (ids);
    exit when not is_missed;
  end loop;
  if cardinality(next_ids) > 0 then
    update punctual.message m set successor = jsonb_set(m.successor, '{due_at}', to_jsonb(e.due_at)) from (
        select distinct on (u.id) u.id, coalesce(u.moment, t + u.delay) as due_at
          from unnest(ids, delays, moments) with ordinality as u(id, delay, moment, o) order by u.id, u.o desc) e
      where m.queue = q and m.id = any (next_ids) and e.id = m.id;
  end if;
  if locked.freed is not null then
    has_freed := true;
    perform punctual.free_keys_1(q, locked.freed, locked.freed_keys, true);
  end if;
  with free as materialized (
    select * from unnest(locked.places, locked.ids, locked.topics, locked.keys, locked.ranks, locked.seqs)
      as f(place, id, topic, key, priority, seq)
  ), e as materialized (
    select distinct on (u.id) u.id, f.place, f.topic, f.key, f.priority, f.seq, coalesce(u.moment, t + u.delay) as due_at
      from unnest(ids, delays, moments) with ordinality as u(id, delay, moment, o) join free f on f.id = u.id
      order by u.id, u.o desc
  ), moved as (
    update punctual.message m set due_at = e.due_at, first_due_at = null, is_holding = null from e
      where m.ctid = any (array(select x.place from e x)) and e.place = m.ctid
  ), noted as (
    insert into punctual.note select q, e.topic, e.key, e.priority, e.due_at, e.seq, t from e where e.key is not null
  )
  select (select array_agg(case
        when e.id is not null or u.id = any (next_ids) then 'rescheduled'
        when u.id = any (running) then 'running'
        else 'missing' end order by u.o)
      from unnest(ids) with ordinality as u(id, o) left join e on e.id = u.id),
    (select array_agg(distinct e.topic) from e), (select case when has_freed then least(min(e.due_at), t) else min(e.due_at) end from e)
    into answers, ring, ring_at;
  if is_joined and cardinality(ring) > 0 then perform punctual.ring_1(channel, ring_at, '', ring); end if;
  return next;
end
$$;
