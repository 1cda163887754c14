-- inspect_dead_1: one page of what is dead, by topic and in the order of deaths.
--
-- arguments  place: the last seq when the walk began, topic and seq of the last message of the page before; null at the
--            beginning. The walk ends at those that died before it began, so that reviving page by page comes to an end.
-- reply      as inspect_waiting_1
create or replace function punctual.inspect_dead_1(
  q int, in_topic text, due_from bigint, due_until bigint, old_at bigint, part text, size int, place text[], in_key text default null
) returns table (message punctual.message, scanned int, next_place text[]) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  m punctual.message;
  last_seq bigint := coalesce(place[1]::bigint, (select s.last_value from punctual.seq s));
  name text := coalesce(place[2], in_topic, E'\x02');
  left_over int := size;
  bytes bigint := 0;
begin
  scanned := 0;
  select x.topic into name from punctual.message x where x.queue = q and x.state = 2 and x.topic >= name
    order by x.topic, x.seq limit 1;
  while name is not null and (in_topic is null or name = in_topic) loop
    scanned := scanned + 1;
    for m in
      select x.* from punctual.message x where x.queue = q and x.state = 2 and x.topic = name
        and x.seq > case when name = place[2] then place[3]::bigint else 0 end and x.seq <= last_seq
        order by x.seq limit 2000
    loop
      scanned := scanned + 1;
      if punctual.fits_1(m, name, due_from, due_until, old_at, part, in_key) then
        message := m;
        return next;
        left_over := left_over - 1;
        bytes := bytes + octet_length(m.body);
      end if;
      if left_over <= 0 or scanned >= 2000 or bytes >= 16777216 then
        message := null;
        next_place := array[last_seq::text, name, m.seq::text];
        return next;
        return;
      end if;
    end loop;
    if scanned >= 2000 then
      message := null;
      next_place := array[last_seq::text, name, '9223372036854775807'];
      return next;
      return;
    end if;
    select x.topic into name from punctual.message x where x.queue = q and x.state = 2 and x.topic > name
      order by x.topic, x.seq limit 1;
  end loop;
  message := null;
  return next;
end
$$;
