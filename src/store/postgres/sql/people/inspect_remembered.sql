-- inspect_remembered_1: one page of what is remembered of messages that are done, by the moment at which it is over, and id.
--
-- arguments  place: that moment and the id of the last one of the page before; null at the beginning
-- reply      their rows, of at most 16 MiB together, or one that is larger
create or replace function punctual.inspect_remembered_1(q int, at bigint, size int, place text[])
returns setof punctual.message language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  m punctual.message;
  bytes bigint := 0;
begin
  for m in
    select x.* from punctual.message x where x.queue = q and x.state = 3
      and x.until >= coalesce(place[1]::bigint, punctual.now_1(at) + 1)
      and (place is null or x.until > place[1]::bigint or x.id > place[2])
      order by x.until, x.id limit size
  loop
    return next m;
    bytes := bytes + octet_length(coalesce(m.error, ''));
    exit when bytes >= 16777216;
  end loop;
end
$$;
