-- revive_1: dead messages wait again: due now, behind those that wait, as if they had never run.
--
-- reply      answers: 'revived' or 'missing'; the second mention of an id finds nothing; ring as in put_1
-- cost       one row and two index entries each
-- First the rows are locked, then, in a statement of its own, changed: one statement sees the rows as they were when it
-- began, and would miss those that changed while it waited for their locks.
create or replace function punctual.revive_1(q int, at bigint, ids text[])
returns table (answers text[], ring text[], ring_at bigint) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
  t bigint := punctual.now_1(at);
  locked record;
begin
  perform set_config('lock_timeout', '1000', true);
  select array_agg(l.place) as places, array_agg(l.id) as ids, array_agg(l.topic) as topics, array_agg(l.key) as keys,
      array_agg(l.priority) as ranks into locked from (
    select m.ctid as place, m.id, m.topic, m.key, m.priority from punctual.message m where m.queue = q and m.id = any (ids) and m.state = 2
      order by m.id for update) l;
  with free as materialized (
    select * from unnest(locked.places, locked.ids, locked.topics, locked.keys, locked.ranks) as f(place, id, topic, key, priority)
  ), u as materialized (
    select x.id, x.o, row_number() over (partition by x.id order by x.o) as mention
      from unnest(ids) with ordinality as x(id, o)
  ), e as materialized (
    select f.id, f.place, f.topic, f.key, f.priority, u.o, nextval('punctual.seq') as seq from u join free f on f.id = u.id
      where u.mention = 1 order by u.o
  ), risen as (
    update punctual.message m set state = case when m.key is null then 0 else 4 end, seq = e.seq, due_at = t, first_due_at = null, until = null, attempt = 0,
      lapses = 0, error = null, reason = null from e
      where m.ctid = any (array(select x.place from e x)) and e.place = m.ctid
  ), counted as (
    insert into punctual.delta select q, e.topic, count(*), 0, -count(*) from e group by e.topic
  ), noted as (
    insert into punctual.note select q, e.topic, e.key, e.priority, t, min(e.seq), t from e where e.key is not null
      group by e.topic, e.key, e.priority
  )
  select (select array_agg(case when e.id is null then 'missing' else 'revived' end order by u.o)
      from u left join e on e.o = u.o),
    (select array_agg(distinct e.topic) from e), t
    into answers, ring, ring_at;
  return next;
end
$$;
