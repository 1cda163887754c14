-- remove_1: takes messages away that wait (wanted 0) or are dead (wanted 2). Both free a remembered id; only among the dead is
-- that a removal.
--
-- reply      a word for each: 'removed', 'running', 'cancelling' (is_running_too) or 'missing'; the second mention of an id finds nothing
-- promises   P8. One that an open transaction has locked is waited for, in a transaction of ours for a second.
-- cost       one row each
-- First the rows are locked, then, in a statement of its own, changed: one statement sees the rows as they were when it
-- began, and would miss those that changed while it waited for their locks. One that came from running to waiting between the
-- looks, or the other way, was in neither: then all is looked at again.
create or replace function punctual.remove_1(q int, at bigint, ids text[], wanted smallint, is_joined boolean, is_running_too boolean) returns text[]
language plpgsql set enable_seqscan = off set enable_bitmapscan = off
set enable_nestloop = off set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  t bigint := punctual.now_1(at);
  answers text[];
  locked record;
  marked text[];
  running text[] := '{}';
  is_missed boolean;
begin
  if not is_joined then perform set_config('lock_timeout', '1000', true); end if;
  loop
    select array_agg(l.place) as places, array_agg(l.id) as ids, array_agg(l.state) as states, array_agg(l.topic) as topics,
        array_agg(l.is_removal) as removals,
        array_agg(l.topic) filter (where l.is_holding) as freed, array_agg(l.key) filter (where l.is_holding) as freed_keys
      into locked from (
        select m.ctid as place, m.id, case m.state when 4 then 0 else m.state end as state, m.topic, m.key, m.is_holding,
            m.state <> 3 or wanted = 2 and m.until > t as is_removal
          from punctual.message m where m.queue = q and m.id = any (ids)
            and (m.state in (wanted, 3) or wanted = 0 and m.state = 4)
          order by m.id for update) l;
    exit when cardinality(locked.ids) = cardinality(ids);
    marked := array(select m.id from punctual.message m where m.queue = q and m.id = any (ids) and m.state = 1
      and (is_running_too or m.successor is not null) order by m.id for update);
    select coalesce(array_agg(m.id) filter (where m.state = 1), '{}'),
        coalesce(bool_or(case when m.state = wanted or wanted = 0 and m.state = 4 then m.id <> all (coalesce(locked.ids, '{}'))
          when m.state = 1 then is_running_too and m.id <> all (marked) end), false)
      into running, is_missed from punctual.message m where m.queue = q and m.id = any (ids);
    exit when not is_missed;
  end loop;
  -- What runs stays, or is marked; its successor goes.
  if cardinality(marked) > 0 then
    insert into punctual.delta select q, m.successor->>'topic', -1, 0, 0 from punctual.message m
      where m.queue = q and m.id = any (marked) and punctual.sound_1(m.successor);
    update punctual.message m set successor = null, is_cancelling = is_running_too or m.is_cancelling
      where m.queue = q and m.id = any (marked);
  end if;
  -- A message that held its key lets others go on.
  if locked.freed is not null then
    perform punctual.free_keys_1(q, locked.freed, locked.freed_keys, true);
    perform punctual.ring_1(punctual.channel_1(n.name), t, '', locked.freed) from punctual.queue n where n.queue = q;
  end if;
  with free as materialized (
    select * from unnest(locked.places, locked.ids, locked.states, locked.topics, locked.removals)
      as f(place, id, state, topic, is_removal)
  ), gone as (
    delete from punctual.message m where m.ctid = any (array(select f.place from free f))
  ), counted as (
    insert into punctual.delta select q, f.topic, -(count(*) filter (where f.state = 0)), 0,
      -(count(*) filter (where f.state = 2)) from free f where f.state < 3 group by f.topic
  ), u as materialized (
    select x.id, x.o, row_number() over (partition by x.id order by x.o) as mention
      from unnest(ids) with ordinality as x(id, o)
  )
  select array_agg(case
      when f.id is not null then case when u.mention = 1 and f.is_removal then 'removed' else 'missing' end
      when u.id = any (running) then case when is_running_too then 'cancelling' else 'running' end
      else 'missing' end order by u.o)
    into answers from u left join free f on f.id = u.id;
  return answers;
end
$$;
