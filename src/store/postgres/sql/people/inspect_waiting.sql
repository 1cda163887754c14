-- inspect_waiting_1: one page of what waits and is due in [from_at, until_at), by topic, priority, moment and seq.
--
-- arguments  place: topic, priority, due_at and seq of the last message of the page before; null at the beginning
-- reply      the messages; last a row without one: scanned, and the next place if there may be more
--            in_key: of that key only, by its index where the topic is named, else by looking at all
-- promises   P10: looks at 2,000 messages and topics and at 16 MiB of bodies
create or replace function punctual.inspect_waiting_1(
  q int, from_at bigint, until_at bigint, in_topic text, old_at bigint, part text, size int, place text[], in_key text default null
) returns table (message punctual.message, scanned int, next_place text[]) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  m punctual.message;
  name text := coalesce(place[1], in_topic, E'\x02');
  after_due bigint;
  after_seq bigint;
  left_over int := size;
  bytes bigint := 0;
begin
  scanned := 0;
  name := punctual.next_waiting_1(q, name, true);
  while name is not null and (in_topic is null or name = in_topic) loop
    scanned := scanned + 1;
    for rank in 0..2 loop
      continue when name = place[1] and rank < place[2]::int;
      after_due := case when name = place[1] and rank = place[2]::int then place[3]::bigint else from_at - 1 end;
      after_seq := case when name = place[1] and rank = place[2]::int then place[4]::bigint else 9223372036854775807 end;
      for m in
        select (y.m).* from (
          (select x as m, x.due_at, x.seq from punctual.message x where in_key is null and x.queue = q and x.state = 0
            and x.topic = name and x.priority = rank and (x.due_at, x.seq) > (after_due, after_seq) and x.due_at >= from_at
            and x.due_at < until_at order by x.due_at, x.seq limit 2000)
          union all
          (select x, x.due_at, x.seq from punctual.message x where (in_key is null or in_topic is null) and x.queue = q
            and x.state = 4 and x.due_at > -9100000000000000000 and x.topic = name and x.priority = rank
            and (x.due_at, x.seq) > (after_due, after_seq) and x.due_at >= from_at
            and x.due_at < until_at order by x.due_at, x.seq limit 2000)
          union all
          (select x, x.due_at, x.seq from punctual.message x where in_topic is not null and x.key = in_key and x.queue = q
            and x.state = 4 and x.topic = name and x.priority = rank and (x.due_at, x.seq) > (after_due, after_seq)
            and x.due_at >= from_at and x.due_at < until_at order by x.due_at, x.seq limit 2000)
          ) y order by y.due_at, y.seq limit 2000
      loop
        scanned := scanned + 1;
        if punctual.fits_1(m, name, null, null, old_at, part, in_key) then
          message := m;
          return next;
          left_over := left_over - 1;
          bytes := bytes + octet_length(m.body);
        end if;
        if left_over <= 0 or scanned >= 2000 or bytes >= 16777216 then
          message := null;
          next_place := array[name, rank::text, m.due_at::text, m.seq::text];
          return next;
          return;
        end if;
      end loop;
    end loop;
    if scanned >= 2000 then
      message := null;
      next_place := array[name, '3', '0', '0'];
      return next;
      return;
    end if;
    name := punctual.next_waiting_1(q, name, false);
  end loop;
  message := null;
  return next;
end
$$;
