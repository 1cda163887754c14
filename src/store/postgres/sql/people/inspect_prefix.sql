-- inspect_prefix_1: one page of the messages whose id begins with a text, by id, of one state: 0 waiting and due in
-- [from_at, until_at), 1 running, 2 dead.
--
-- arguments  place: the last id of the page before; null at the beginning
-- reply      as inspect_waiting_1
create or replace function punctual.inspect_prefix_1(
  q int, wanted smallint, from_at bigint, until_at bigint, in_topic text, prefix text, old_at bigint, part text, size int, place text[], in_key text default null
) returns table (message punctual.message, scanned int, next_place text[]) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  m punctual.message;
  left_over int := size;
  bytes bigint := 0;
begin
  scanned := 0;
  for m in
    select x.* from punctual.message x where x.queue = q and x.id >= coalesce(place[1], prefix) order by x.id limit 2001
  loop
    continue when m.id = place[1];
    exit when not starts_with(m.id, prefix);
    scanned := scanned + 1;
    if (m.state = wanted or wanted = 0 and m.state = 4) and punctual.fits_1(m, in_topic, from_at, until_at, old_at, part, in_key) then
      message := m;
      return next;
      left_over := left_over - 1;
      bytes := bytes + octet_length(m.body);
    end if;
    if left_over <= 0 or scanned >= 2000 or bytes >= 16777216 then
      next_place := array[m.id];
      exit;
    end if;
  end loop;
  message := null;
  return next;
end
$$;
