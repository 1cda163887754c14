-- settle_with_1: settle_1 for calls in which a settlement carries new messages: one after the other, each whole or not at all.
--
-- arguments  as settle_1; then the messages as in put_1, and of which settlement each is, ascending
-- reply      as settle_1; besides 'refused' for one that carries a replacement of a message that another worker runs
-- promises   P15: what a settlement carries is stored if and only if it is settled. The message itself leaves first, so that
--            one of them may take its id.
-- cost       a few statements for each settlement
create or replace function punctual.settle_with_1(
  q int, at bigint, ids text[], tokens bigint[], kinds smallint[], delays bigint[], errors text[], reasons text[],
  moments bigint[], metas text[], bodies text[], parents int[], new_ids text[], new_topics text[],
  new_priorities smallint[], new_delays bigint[], new_moments bigint[], new_metas text[], new_bodies text[],
  new_tag_lists text[], new_modes smallint[]
) returns table (answers text[], ring text[], ring_at bigint, giver text) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
  t bigint := punctual.now_1(at);
  first int := 1;
  last int;
  done record;
begin
  answers := '{}';
  ring := '{}';
  for n in 1..cardinality(ids) loop
    last := first - 1;
    while last < cardinality(parents) and parents[last + 1] = n loop last := last + 1; end loop;
    perform 1 from punctual.message m where m.queue = q and m.id = ids[n] and m.token = tokens[n] for update skip locked;
    if found and exists (
      select 1 from unnest(new_ids[first:last], new_modes[first:last]) as u(id, mode)
        join punctual.message m on m.queue = q and m.id = u.id and m.state = 1 where u.mode = 1 and u.id <> ids[n])
    then
      answers := answers || 'refused'::text;
    else
      select s.answers, s.ring, s.ring_at into done from punctual.settle_1(q, t, ids[n:n], tokens[n:n], kinds[n:n],
        delays[n:n], errors[n:n], reasons[n:n], moments[n:n], metas[n:n], bodies[n:n]) s;
      answers := answers || done.answers;
      ring := ring || done.ring;
      ring_at := least(ring_at, done.ring_at);
      if done.answers[1] = 'settled' and last >= first then
        select p.ring, p.ring_at into done from punctual.put_1(q, t, new_ids[first:last], new_topics[first:last],
          new_priorities[first:last], new_delays[first:last], new_moments[first:last], new_metas[first:last],
          new_bodies[first:last], new_tag_lists[first:last], new_modes[first:last], '{}', false, false, null) p;
        ring := ring || done.ring;
        ring_at := least(ring_at, done.ring_at);
      end if;
    end if;
    first := last + 1;
  end loop;
  return next;
end
$$;
