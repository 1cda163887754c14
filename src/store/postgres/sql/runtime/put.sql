-- put_1: stores new messages.
--
-- arguments  one entry of each array is one message; a moment is either a delay or `moments`; modes and old_bodies as
--            in place_1. tag_lists: the tags of a message, each in a line, or null. keys as given. Arrays that no entry needs may be empty.
--            is_plain: every mode is 0 and no id comes twice. is_joined: inside a transaction of the caller's own, so the
--            wake-up goes out with its commit, and locks are waited for as long as that transaction waits for any.
-- reply      answers: a word for each, in order. topics of which a sleeper must hear, and the earliest new moment.
-- promises   P2, P5, P7 (seq is drawn in the order given, whatever the order of ids), P8
-- cost       three index entries for a message; for a topic, three looks for a message that wakes its sleepers anyway
--
-- Rows are inserted in the order of ids, so that two batches cannot wait for each other. A sleeper reads again at the
-- moment of the first message that it knows. So one that waits already, is due in a second or more, and not after the
-- new one, makes a wake-up needless; a second, because the sleeper may read it between our look and our commit.
create or replace function punctual.put_1(
  q int, at bigint, ids text[], topics text[], priorities smallint[], delays bigint[], moments bigint[], metas text[],
  bodies text[], tag_lists text[], latests bigint[], modes smallint[], old_bodies text[], is_plain boolean, is_joined boolean, channel text,
  keys text[] default '{}'
) returns table (answers text[], ring text[], ring_at bigint) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
  t bigint := punctual.now_1(at);
  numbers bigint[];
  entry record;
  word text;
begin
  if not is_joined then perform set_config('lock_timeout', '1000', true); end if;
  perform punctual.forget_1(q, t, ids);
  if is_plain then
    with e as materialized (
      select nextval('punctual.seq') as seq, u.id, u.topic, u.priority, coalesce(u.moment, t + u.delay) as due_at, u.meta,
        u.body, string_to_array(u.tags, E'\n') as tags, u.key, u.o
      from (select * from unnest(ids, topics, priorities, delays, moments, metas, bodies, tag_lists, keys) with ordinality
        as x(id, topic, priority, delay, moment, meta, body, tags, key, o) order by x.o) u
    ), placed as (
      insert into punctual.message (seq, due_at, produced_at, queue, priority, topic, id, meta, body, tags, key, state)
        select e.seq, e.due_at, t, q, e.priority, e.topic, e.id, e.meta, e.body, e.tags, e.key,
            case when e.key is null then 0 else 4 end from e order by e.id
        on conflict (queue, id) do nothing returning id, topic, priority, due_at, key, seq
    ), noted as (
      insert into punctual.note select q, f.topic, f.key, f.priority, f.first[1], f.first[2], t from (
        select p.topic, p.key, p.priority, min(array[p.due_at, p.seq]) as first from placed p
          where cardinality(keys) > 0 and p.key is not null group by p.topic, p.key, p.priority) f
    ), firsts as (
      select placed.topic, min(placed.due_at) as due_at, count(*) as n from placed group by placed.topic
    ), counted as (
      insert into punctual.delta select q, firsts.topic, firsts.n, 0, 0 from firsts
    )
    select (select array_agg(case when p.id is null then 'duplicate' else 'stored' end order by e.o)
        from e left join placed p on p.id = e.id), r.topics, r.due_at
      into answers, ring, ring_at
      from (select array_agg(f.topic) as topics, min(f.due_at) as due_at from firsts f
        where is_joined or not exists (
          select 1 from generate_series(0, 2) as rank(p), lateral (
            select 1 from punctual.message m where m.queue = q and m.state = 0 and m.topic = f.topic and m.priority = rank.p
              and m.due_at >= t + 1000000 and m.due_at <= f.due_at limit 1) known)) r;
  else
    numbers := array(select nextval('punctual.seq') from generate_series(1, cardinality(ids)));
    answers := array_fill(''::text, array[cardinality(ids)]);
    ring := '{}';
    for entry in
      select u.id, u.o, coalesce(u.moment, t + u.delay) as due_at
        from unnest(ids, delays, moments) with ordinality as u(id, delay, moment, o) order by u.id, u.o
    loop
      word := punctual.place_1(q, t, numbers[entry.o], entry.id, topics[entry.o], priorities[entry.o], entry.due_at,
        metas[entry.o], bodies[entry.o], string_to_array(tag_lists[entry.o], E'\n'), latests[entry.o], modes[entry.o], old_bodies[entry.o],
        keys[entry.o]);
      answers[entry.o] := word;
      if word in ('stored', 'replaced') then
        if not (topics[entry.o] = any (ring)) then ring := ring || topics[entry.o]; end if;
        ring_at := least(ring_at, entry.due_at);
      end if;
    end loop;
  end if;
  if is_joined and cardinality(ring) > 0 then perform punctual.ring_1(channel, ring_at, '', ring); end if;
  return next;
end
$$;
