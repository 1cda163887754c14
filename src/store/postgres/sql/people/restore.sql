-- restore_1: places messages as another store showed them.
--
-- arguments  one entry of each array is one message, its columns as the table of messages has them. states: 0, 2 or 3. An entry
--            of tag_lists is the tags of a message, each in a line, or null
-- reply      answers: 'restored', or 'taken' where the id stands for something already; ring as in put_1
-- promises   P2, P5, P7 (seq is drawn in the order given), P8
-- cost       as put_1
create or replace function punctual.restore_1(
  q int, at bigint, ids text[], topics text[], priorities smallint[], states smallint[], dues bigint[], first_dues bigint[],
  produced bigint[], untils bigint[], attempts int[], lapses int[], errors text[], reasons text[], metas text[], bodies text[],
  tag_lists text[], keys text[] default '{}'
) returns table (answers text[], ring text[], ring_at bigint) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
  t bigint := punctual.now_1(at);
begin
  perform set_config('lock_timeout', '1000', true);
  perform punctual.forget_1(q, t, ids);
  with e as materialized (
    select nextval('punctual.seq') as seq, u.* from (
      select * from unnest(ids, topics, priorities, states, dues, first_dues, produced, untils, attempts, lapses, errors,
          reasons, metas, bodies, tag_lists, keys) with ordinality
        as x(id, topic, priority, state, due_at, first_due_at, produced_at, until, attempt, lapses, error, reason, meta, body,
          tags, key, o) order by x.o) u
  ), placed as (
    insert into punctual.message (seq, due_at, produced_at, first_due_at, until, queue, attempt, priority, state, lapses,
        topic, id, meta, body, error, reason, tags, key)
      select e.seq, e.due_at, e.produced_at, e.first_due_at, e.until, q, e.attempt, e.priority,
          case when e.state = 0 and e.key is not null then 4 else e.state end,
          least(e.lapses, 32767), e.topic, e.id, e.meta, e.body, e.error, e.reason, string_to_array(e.tags, E'\n'), e.key
        from e order by e.id, e.o
      on conflict (queue, id) do nothing returning id, seq, topic, priority, state, due_at, key
  ), noted as (
    insert into punctual.note select q, p.topic, p.key, p.priority, p.due_at, p.seq, t from placed p where p.state = 4
  ), counted as (
    insert into punctual.delta select q, p.topic, count(*) filter (where p.state in (0, 4)), 0, count(*) filter (where p.state = 2)
      from placed p where p.state <> 3 group by p.topic
  )
  select (select array_agg(case when p.id is null then 'taken' else 'restored' end order by e.o)
      from e left join placed p on p.id = e.id and p.seq = e.seq),
    (select array_agg(distinct p.topic) from placed p where p.state in (0, 4)),
    (select min(p.due_at) from placed p where p.state in (0, 4))
    into answers, ring, ring_at;
  return next;
end
$$;
