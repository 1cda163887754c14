-- claim_due_2: hands out what is due, and says when to ask again.
--
-- arguments  who asks, and facts about it (tell: note it as seen); for each wanted topic its limit and its floor: nothing
--            that waits is due before it, as far as the asker knows; 0 looks from the start. limit_all, bytes_max: over all
--            topics. new_token: 63 random bits, new for each claim.
--            Where pauses and limits are, besides: revision, which gate_1 told (else null), how far ahead each topic may be
--            handed out, which of them are limited, and how many of those in all; and for each control its meters, from
--            which moment on (in milliseconds) and how far a message moves them; for each topic what each of its keys is allowed,
--            and whether some have limits of their own.
-- reply      nothing, if there are controls and the revision is not theirs: the caller asks gate_1. Else a row for each lease, in the order of handing out; last a row without id: now, next_at (null: nothing waits),
--            heads (the first moment of each topic), took (microseconds that the look at the heads needed),
--            keyed (topics of which messages with keys are there)
-- promises   P1, P3 (a row is locked, then leased), P6 (the attempt is counted here), P7, P10
-- cost       three looks for a topic; for a message one row and two index entries; two looks for all keys where there are none
--
-- The floor: entries of messages that are gone stay in the index until a vacuum, and while a transaction is open that is
-- older. A look from the start steps over all of them; a look from the floor over none.
--
-- Claims of topics with keys take turns, each on a lock of its topic, and then hand out by claim_turns_1. What was served in
-- this claim is due again a microsecond later, which counts as now.
--
-- What somebody else's open transaction has locked is skipped. If that is all there is, it is worth asking again soon,
-- not at once: such a transaction may take its time.
--
-- Who leases a row looks again whether it waits: where a lock is none, as on a server that only says that it locks, that costs
-- another claim, and not a second start.
--
-- A commit of this function does not wait for the disk. The settlement that follows does, and makes both durable; a crash
-- of the server before it forgets the lease, and the message is handed out again.
create or replace function punctual.claim_due_2(
  q int, at bigint, who text, facts text, tell boolean, topics text[], limits int[], floors bigint[], limit_all int,
  bytes_max bigint, lease bigint, leads bigint[], new_token bigint, gate_revision bigint, limited boolean[],
  limited_all int, meters text[], rate_at float8[], rate_step float8[], over_at float8[], over_step float8[],
  key_concurrency int[], key_interval_ms float8[], key_burst int[], has_key_limits boolean[]
) returns table (
  id text, topic text, priority smallint, due_at bigint, first_due_at bigint, attempt int, lapses smallint, meta text,
  body text, key text, now_at bigint, next_at bigint, heads bigint[], took bigint, keyed text[]
) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
  t bigint := punctual.now_1(at);
  begun timestamptz := clock_timestamp();
  upcoming bigint;
  firsts bigint[] := array_fill(null::bigint, array[greatest(cardinality(topics), 1)]);
  picked tid[] := '{}';
  more tid[];
  sizes int[];
  size_all bigint;
  head record;
  wanted int;
  bytes_left bigint := bytes_max;
  is_over boolean := false;
  touched int[] := '{}';
  ranks int[] := '{}';
  is_short boolean[] := '{}';
  spent bigint;
  taken int[] := array_fill(0, array[greatest(cardinality(topics), 1)]);
  with_keys text[] := '{}';
  turns record;
  done tid[] := '{}';
begin
  perform set_config('synchronous_commit', 'off', true);
  if gate_revision is null then
    if exists (select 1 from punctual.control c where c.queue = q) then return; end if;
  else
    -- Claims under limits take turns.
    perform 1 from punctual.control_revision r where r.queue = q and r.revision = gate_revision for update;
    if not found then return; end if;
  end if;
  if tell then perform punctual.see_1(q, t, who, facts); end if;
  if exists (select 1 from punctual.turn r where r.queue = q) or exists (select 1 from punctual.note n where n.queue = q) then
    with_keys := punctual.keyed_topics_1(q, topics, limits);
    t := punctual.now_1(at);
    for n in 1..cardinality(topics) loop
      continue when limits[n] <= 0 or topics[n] <> all (with_keys);
      perform punctual.fold_notes_1(q, t, topics[n], t + leads[n]);
    end loop;
    begun := clock_timestamp();
  end if;
  for head in
    select distinct on (rank.p, w.i) w.i, rank.p, h.due_at
      from unnest(topics, floors) with ordinality as w(topic, floor, i), generate_series(0, 2) as rank(p), lateral (
        (select m.due_at from punctual.message m
          where m.queue = q and m.state = 0 and m.topic = w.topic and m.priority = rank.p and m.due_at >= w.floor
          order by m.due_at, m.seq limit 1)
        union all
        (select case when r.next_at <= t + 1 then least(r.next_at, t) else r.next_at end from punctual.turn r
          where cardinality(with_keys) > 0 and r.queue = q and r.topic = w.topic and r.priority = rank.p
            and r.next_at is not null
          order by r.next_at, r.seq limit 1)) h
      order by rank.p, w.i, h.due_at
  loop
    if spent is null then spent := (extract(epoch from clock_timestamp() - begun) * 1000000)::bigint; end if;
    wanted := least(limits[head.i], limit_all, case when limited[head.i] then limited_all end);
    if head.due_at > t + leads[head.i] or wanted <= 0 or is_over then
      firsts[head.i] := least(firsts[head.i], head.due_at);
      continue;
    end if;
    if topics[head.i] = any (with_keys) then
      select * into turns from punctual.claim_turns_1(q, t, topics[head.i], head.p::smallint, floors[head.i], t + leads[head.i],
        wanted, bytes_left, cardinality(picked) + cardinality(done) = 0, who, lease, new_token, key_concurrency[head.i],
        key_interval_ms[head.i], key_burst[head.i], coalesce(has_key_limits[head.i], false));
      done := done || turns.places;
      bytes_left := bytes_left - turns.bytes;
      is_over := turns.is_over;
      touched := touched || head.i::int;
      ranks := ranks || head.p;
      is_short := is_short || (not is_over and cardinality(turns.places) < wanted);
      wanted := cardinality(turns.places);
      limits[head.i] := limits[head.i] - wanted;
      limit_all := limit_all - wanted;
      taken[head.i] := taken[head.i] + wanted;
      if limited[head.i] then limited_all := limited_all - wanted; end if;
      continue;
    end if;
    select array_agg(x.ctid), array_agg(x.size) into more, sizes from (
      select m.ctid, octet_length(m.body) as size from punctual.message m
        where m.queue = q and m.state = 0 and m.topic = topics[head.i] and m.priority = head.p
          and m.due_at >= floors[head.i] and m.due_at <= t + leads[head.i]
        order by m.due_at, m.seq limit wanted for update skip locked) x;
    more := coalesce(more, '{}');
    touched := touched || head.i::int;
    ranks := ranks || head.p;
    is_short := is_short || (cardinality(more) < wanted);
    select coalesce(sum(s), 0) into size_all from unnest(sizes) s;
    if size_all <= bytes_left then bytes_left := bytes_left - size_all; sizes := '{}'; end if;
    for n in 1..cardinality(sizes) loop
      if sizes[n] > bytes_left and (n > 1 or cardinality(picked) + cardinality(done) > 0) then
        more := more[1:n - 1];
        is_over := true;
        is_short[cardinality(is_short)] := false;
        exit;
      end if;
      bytes_left := bytes_left - sizes[n];
    end loop;
    picked := picked || more;
    limits[head.i] := limits[head.i] - cardinality(more);
    limit_all := limit_all - cardinality(more);
    taken[head.i] := taken[head.i] + cardinality(more);
    if limited[head.i] then limited_all := limited_all - cardinality(more); end if;
  end loop;

  if cardinality(picked) + cardinality(done) > 0 then
    return query with leased as (
      update punctual.message m set state = 1, until = t + lease, leased_at = t, token = new_token, owner = who,
          attempt = least(m.attempt, 2147483646) + 1
        where m.ctid = any (picked) and m.state = 0
        returning m.id, m.topic, m.priority, m.due_at, m.first_due_at, m.attempt, m.lapses, m.meta, m.body, m.key, m.seq
    ), both_kinds as (
      select l.*, 0::bigint as o from leased l
      union all
      select m.id, m.topic, m.priority, m.due_at, m.first_due_at, m.attempt, m.lapses, m.meta, m.body, m.key, m.seq, d.o
        from unnest(done) with ordinality as d(place, o) join punctual.message m on m.ctid = d.place
    ), counted as (
      insert into punctual.delta select q, l.topic, -count(*), count(*), 0 from both_kinds l group by l.topic
    )
    select l.id, l.topic, l.priority, l.due_at, l.first_due_at, l.attempt, l.lapses, l.meta, l.body, l.key, null::bigint,
      null::bigint, null::bigint[], null::bigint, null::text[] from both_kinds l
      order by l.priority, array_position(topics, l.topic), l.o, l.due_at, l.seq;
  end if;

  if gate_revision is not null and cardinality(picked) + cardinality(done) > 0 then
    update punctual.control_revision r set revision = r.revision + 1 where r.queue = q;
    update punctual.control c set control = c.control || jsonb_strip_nulls(jsonb_build_object(
        'filledAt', x.rate_at + x.n * x.rate_step, 'overFilledAt', x.over_at + x.n * x.over_step))
      from (select m.name, m.rate_at, m.rate_step, m.over_at, m.over_step, (
            select coalesce(sum(u.n), 0) from unnest(topics, taken, limited) as u(topic, n, is_limited)
              where u.is_limited and case m.name when '' then u.topic > E'\x02' else u.topic = m.name end) as n
          from unnest(meters, rate_at, rate_step, over_at, over_step)
            as m(name, rate_at, rate_step, over_at, over_step)) x
      where c.queue = q and c.topic = x.name and x.n > 0;
  end if;

  for n in 1..cardinality(touched) loop
    select m.due_at into head from punctual.message m
      where m.queue = q and m.state = 0 and m.topic = topics[touched[n]] and m.priority = ranks[n]
        and m.due_at >= floors[touched[n]] order by m.due_at, m.seq limit 1;
    if not found then continue; end if;
    if is_short[n] and head.due_at <= t + leads[touched[n]] then head.due_at := t + leads[touched[n]] + 20000; end if;
    firsts[touched[n]] := least(firsts[touched[n]], head.due_at);
  end loop;
  for n in 1..case when cardinality(with_keys) > 0 then cardinality(topics) else 0 end loop
    continue when topics[n] <> all (with_keys);
    firsts[n] := least(firsts[n], (
        select min(case when h.next_at <= t + 1 then least(h.next_at, t) else h.next_at end)
          from generate_series(0, 2) as rank(p), lateral (
            select r.next_at from punctual.turn r where r.queue = q and r.topic = topics[n] and r.priority = rank.p
              and r.next_at is not null order by r.next_at, r.seq limit 1) h), (
        select x.at from punctual.note x where x.queue = q and x.topic = topics[n] order by x.at limit 1));
  end loop;
  select min(f) into upcoming from unnest(firsts) f;
  return query select null::text, null::text, null::smallint, null::bigint, null::bigint, null::int, null::smallint,
    null::text, null::text, null::text, t, upcoming, firsts,
    coalesce(spent, (extract(epoch from clock_timestamp() - begun) * 1000000)::bigint), with_keys;
end
$$;
