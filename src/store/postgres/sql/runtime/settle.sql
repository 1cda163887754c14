-- settle_1: what becomes of messages after their attempts.
--
-- arguments  kinds: 0 ack, 1 retry, 2 retry of a lapse, 3 lapse, 4 release, 5 dead, 6 again, 7 ack that is remembered, 8 again with
--            its lapses kept. delays: of retries and of again, which may have a moment instead, and another content; of 7
--            how long, with the result as error and how it ended as reason. Arrays that no entry needs may be empty.
-- reply      answers: null if one of them has a successor or is to be cancelled: the caller asks settle_with_1. Else 'settled', 'lost', or 'locked' for one that an open transaction has locked. ring: topics of which a
--            sleeper must hear, the earliest moment, and who released them if that is all that came back.
-- promises   P4 (acts only under the token), P6, P7 (release and lapse go back to their place), P8
-- cost       an ack deletes a row; the others write one and two index entries
--
-- Joins are by hash (nested loops are off): the planner takes every array for ten entries, and a loop over a thousand in a
-- thousand costs a second. Rows are then found by their places.
--
-- First the rows are locked, then, in a statement of its own, changed: one statement sees the rows as they were when it
-- began, and would miss those that changed while it waited for their locks.
--
-- Most calls are acks that all still hold. Callers name ids in order, so that two arrays that are equal say so, and little is
-- left to do.
--
-- There is no "state = 1" here: with it the planner may walk all leases for every entry. The token is proof enough: only
-- a running message has one.
create or replace function punctual.settle_1(
  q int, at bigint, ids text[], tokens bigint[], kinds smallint[], delays bigint[], errors text[], reasons text[],
  moments bigint[], metas text[], bodies text[], is_one boolean
) returns table (answers text[], ring text[], ring_at bigint, giver text) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
  t bigint := punctual.now_1(at);
  locked record;
  -- What ends at a limit of concurrency lets another one start, and no worker knows yet that it waits. So does a key.
  freed text[] := '{}';
  frees boolean := exists (select 1 from punctual.control c where c.queue = q and c.control->'limit' ? 'concurrency');
begin
  if 7 = any (kinds) then perform punctual.forget_1(q, t, '{}'); end if;
  select array_agg(l.place) as places, array_agg(l.id) as ids, array_agg(l.token) as tokens, array_agg(l.topic) as topics,
      array_agg(l.owner) as owners, array_agg(l.due_at) as dues, bool_or(l.is_marked) as has_marked,
      array_agg(l.key) as keys, array_agg(l.priority) as ranks, array_agg(l.seq) as seqs, bool_or(l.key is not null) as has_keys
    into locked from (
      select m.ctid as place, m.id, m.token, m.topic, m.owner, m.due_at, m.key, m.priority, m.seq,
          m.is_cancelling is true or m.successor is not null as is_marked from punctual.message m
        where m.queue = q and m.id = any (ids) order by m.id for update skip locked) l;
  if locked.has_marked and not is_one then
    return next;
    return;
  end if;
  -- settle_with_1 does it itself.
  if locked.has_keys and not is_one then freed := punctual.free_keys_1(q, locked.topics, locked.keys, false); end if;
  if not frees and 0 = all (kinds) and locked.ids = ids and locked.tokens = tokens then
    delete from punctual.message m where m.ctid = any (locked.places);
    insert into punctual.delta select q, x.topic, 0, -count(*), 0 from unnest(locked.topics) as x(topic) group by x.topic;
    answers := array_fill('settled'::text, array[cardinality(ids)]);
    if cardinality(freed) > 0 then
      ring := freed;
      ring_at := t;
    end if;
    return next;
    return;
  end if;
  with held as materialized (
    select * from unnest(locked.places, locked.ids, locked.tokens, locked.topics, locked.owners, locked.dues, locked.keys,
        locked.ranks, locked.seqs)
      as h(place, id, token, topic, owner, due_at, key, priority, seq)
  ), e as materialized (
    select distinct on (u.id) u.id, u.o, u.kind, u.error, u.reason, h.place, h.topic, h.owner,
        case when u.kind in (1, 2, 6, 8) then coalesce(u.moment, t + u.delay) else h.due_at end as due_at, u.meta, u.body, u.delay,
        h.key, h.priority, h.seq,
        case when h.key is not null and u.kind in (1, 2, 3) and punctual.is_serial_1(q, h.topic, h.key) then true end as is_holding
      from unnest(ids, tokens, kinds, delays, errors, reasons, moments, metas, bodies) with ordinality
        as u(id, token, kind, delay, error, reason, moment, meta, body, o)
      join held h on h.id = u.id and h.token = u.token order by u.id, u.o
  ), gone as (
    delete from punctual.message m where m.ctid = any (array(select e.place from e where e.kind = 0))
  ), back as (
    update punctual.message m set
      state = case when e.kind = 5 then 2 when e.kind = 7 then 3 when m.key is not null then 4 else 0 end,
      is_holding = e.is_holding,
      seq = case e.kind when 5 then nextval('punctual.seq') else m.seq end,
      until = case e.kind when 5 then t when 7 then t + e.delay end,
      leased_at = null,
      is_taken = null,
      is_cancelling = null,
      successor = null,
      token = null,
      owner = null,
      due_at = e.due_at,
      first_due_at = case when e.kind in (1, 2) then coalesce(m.first_due_at, m.due_at)
        when e.kind not in (6, 8) then m.first_due_at end,
      attempt = case when e.kind in (4, 6, 8) then greatest(m.attempt, 1) - 1 else m.attempt end,
      lapses = case when e.kind in (2, 3) then least(m.lapses + 1, 32767) when e.kind in (1, 6) then 0
        else m.lapses end,
      error = case when e.kind in (4, 6, 8) then m.error else nullif(e.error, '') end,
      reason = case when e.kind in (5, 7) then nullif(e.reason, '') end,
      meta = case e.kind when 7 then '' else coalesce(e.meta, m.meta) end,
      body = case e.kind when 7 then '' else coalesce(e.body, m.body) end,
      tags = case when e.kind <> 7 then m.tags end
    from e where m.ctid = any (array(select x.place from e x where x.kind <> 0)) and e.place = m.ctid
  ), counted as (
    insert into punctual.delta select q, e.topic, count(*) filter (where e.kind not in (0, 5, 7)), -count(*),
      count(*) filter (where e.kind = 5) from e group by e.topic
  ), noted as (
    insert into punctual.note select q, f.topic, f.key, f.priority, f.first[1], f.first[2], t from (
      select e.topic, e.key, e.priority, min(array[e.due_at, e.seq]) as first from e
        where e.key is not null and e.kind not in (0, 5, 7) group by e.topic, e.key, e.priority) f
  ), firsts as (
    select e.topic, min(e.due_at) as due_at from e
      where frees or e.kind not in (0, 5, 7) or e.topic = any (freed) group by e.topic
  )
  select
    (select array_agg(case
        when e.o is not null then 'settled'
        when exists (select 1 from e as twin where twin.id = u.id) then 'lost'
        when exists (select 1 from punctual.message m where m.queue = q and m.id = u.id and m.token = u.token) then 'locked'
        else 'lost' end order by u.o)
      from unnest(ids, tokens) with ordinality as u(id, token, o) left join e on e.o = u.o),
    (select array_agg(f.topic) from firsts f where frees or f.topic = any (freed) or not exists (
      select 1 from generate_series(0, 2) as rank(p), lateral (
        select 1 from punctual.message m where m.queue = q and m.state = 0 and m.topic = f.topic and m.priority = rank.p
          and m.due_at >= t + 1000000 and m.due_at <= f.due_at limit 1) known)),
    (select min(f.due_at) from firsts f),
    (select case when not frees and not exists (select 1 from e x where x.kind in (0, 5, 7) and x.topic = any (freed))
        and count(distinct e.owner) = 1 and bool_and(e.kind = 4) then min(e.owner) end
      from e where e.kind not in (0, 5, 7))
    into answers, ring, ring_at, giver;
  return next;
end
$$;
