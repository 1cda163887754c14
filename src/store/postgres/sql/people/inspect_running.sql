-- inspect_running_1: one page of what runs, in the order in which leases end.
--
-- arguments  place: until and seq of the last message of the page before; null at the beginning
-- reply      as inspect_waiting_1
create or replace function punctual.inspect_running_1(
  q int, in_topic text, due_from bigint, due_until bigint, old_at bigint, part text, size int, place text[], in_key text default null
) returns table (message punctual.message, scanned int, next_place text[]) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  m punctual.message;
  left_over int := size;
  bytes bigint := 0;
begin
  scanned := 0;
  for m in
    select x.* from punctual.message x where x.queue = q and x.state = 1
      and (x.until, x.seq) > (coalesce(place[1]::bigint, -1), coalesce(place[2]::bigint, -1)) order by x.until, x.seq
      limit 2000
  loop
    scanned := scanned + 1;
    if punctual.fits_1(m, in_topic, due_from, due_until, old_at, part, in_key) then
      message := m;
      return next;
      left_over := left_over - 1;
      bytes := bytes + octet_length(m.body);
    end if;
    if left_over <= 0 or scanned >= 2000 or bytes >= 16777216 then
      next_place := array[m.until::text, m.seq::text];
      exit;
    end if;
  end loop;
  message := null;
  return next;
end
$$;
