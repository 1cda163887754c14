-- settle_with_1: settle_1 for calls in which a settlement carries new messages, or ends a message that has a successor or is to
-- be cancelled: one after the other, each whole or not at all.
--
-- arguments  as settle_1; then the messages as in put_1, and of which settlement each is, ascending. is_joined: inside a
--            transaction of a user's own, so that wake-ups go out with its commit
-- reply      as settle_1; besides 'succeeded' (not done, its successor took its place) and 'cancelled'
-- promises   P15: what a settlement carries is stored if and only if it is settled. The message itself leaves first, so that
--            one of them may take its id; then its successor, if it has one.
-- cost       a few statements for each settlement
create or replace function punctual.settle_with_1(
  q int, at bigint, ids text[], tokens bigint[], kinds smallint[], delays bigint[], errors text[], reasons text[],
  moments bigint[], metas text[], bodies text[], parents int[], new_ids text[], new_topics text[],
  new_priorities smallint[], new_delays bigint[], new_moments bigint[], new_metas text[], new_bodies text[],
  new_tag_lists text[], new_latests bigint[], new_modes smallint[], own_words boolean[], is_joined boolean, channel text,
  new_keys text[] default '{}'
) returns table (answers text[], ring text[], ring_at bigint, giver text) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
  t bigint := punctual.now_1(at);
  first int := 1;
  last int;
  done record;
  held record;
  is_cancelled boolean;
begin
  answers := '{}';
  ring := '{}';
  for n in 1..cardinality(ids) loop
    last := first - 1;
    while last < cardinality(parents) and parents[last + 1] = n loop last := last + 1; end loop;
    select m.topic, m.key, m.is_cancelling, m.successor into held from punctual.message m
      where m.queue = q and m.id = ids[n] and m.token = tokens[n] for update skip locked;
    -- It must not be looked at again here: somebody who gives it a successor may have it locked, and be done by then.
    if not found then
      answers := answers || case when exists (
        select 1 from punctual.message m where m.queue = q and m.id = ids[n] and m.token = tokens[n]) then 'locked' else 'lost' end;
      first := last + 1;
      continue;
    end if;
    if held.key is not null then
      ring := ring || punctual.free_keys_1(q, array[held.topic], array[held.key], is_joined);
      if cardinality(ring) > 0 then ring_at := least(ring_at, t); end if;
    end if;
    is_cancelled := held.is_cancelling is true and not own_words[n];
    if not punctual.sound_1(held.successor) then held.successor := null; end if;
    if is_cancelled or held.successor is not null then
      delete from punctual.message m where m.queue = q and m.id = ids[n];
      insert into punctual.delta values (q, held.topic, 0, -1, 0);
      ring := ring || held.topic;
      ring_at := least(ring_at, t);
      if last >= first and not is_cancelled then
        select p.ring, p.ring_at into done from punctual.put_1(q, t, new_ids[first:last], new_topics[first:last],
          new_priorities[first:last], new_delays[first:last], new_moments[first:last], new_metas[first:last],
          new_bodies[first:last], new_tag_lists[first:last], new_latests[first:last], new_modes[first:last], '{}', false,
          is_joined, channel, new_keys[first:last]) p;
        ring := ring || done.ring;
        ring_at := least(ring_at, done.ring_at);
      end if;
      if held.successor is not null then
        -- It was counted as waiting when it was stored; placing it counts it again.
        insert into punctual.delta values (q, held.successor->>'topic', -1, 0, 0);
        perform punctual.place_1(q, (held.successor->>'produced_at')::bigint, nextval('punctual.seq'), ids[n],
          held.successor->>'topic', (held.successor->>'priority')::smallint, (held.successor->>'due_at')::bigint,
          held.successor->>'meta', held.successor->>'body',
          nullif(array(select jsonb_array_elements_text(held.successor->'tags')), '{}'), null, 2::smallint, null,
          held.successor->>'key', t);
        ring := ring || (held.successor->>'topic');
        ring_at := least(ring_at, (held.successor->>'due_at')::bigint);
      end if;
      answers := answers || case when is_cancelled then 'cancelled' when kinds[n] in (0, 7) then 'settled' else 'succeeded' end;
    else
      select s.answers, s.ring, s.ring_at into done from punctual.settle_1(q, t, ids[n:n], tokens[n:n], kinds[n:n],
        delays[n:n], errors[n:n], reasons[n:n], moments[n:n], metas[n:n], bodies[n:n], true) s;
      answers := answers || done.answers;
      ring := ring || done.ring;
      ring_at := least(ring_at, done.ring_at);
      if done.answers[1] = 'settled' and last >= first then
        select p.ring, p.ring_at into done from punctual.put_1(q, t, new_ids[first:last], new_topics[first:last],
          new_priorities[first:last], new_delays[first:last], new_moments[first:last], new_metas[first:last],
          new_bodies[first:last], new_tag_lists[first:last], new_latests[first:last], new_modes[first:last], '{}', false,
          is_joined, channel, new_keys[first:last]) p;
        ring := ring || done.ring;
        ring_at := least(ring_at, done.ring_at);
      end if;
    end if;
    first := last + 1;
  end loop;
  if is_joined and cardinality(ring) > 0 then perform punctual.ring_1(channel, ring_at, '', ring); end if;
  return next;
end
$$;
