-- inspect_tag_1: one page of the messages that have a tag, by id, in every state or in one: 0 waiting and due in
-- [from_at, until_at), 1 running, 2 dead; null for all.
--
-- arguments  place: the last id of the page before; null at the beginning
-- reply      as inspect_waiting_1
-- promises   P10: the work does not grow with messages that do not have the tag
create or replace function punctual.inspect_tag_1(
  q int, tag text, wanted smallint, from_at bigint, until_at bigint, in_topic text, prefix text, old_at bigint, part text,
  size int, place text[], in_key text default null
) returns table (message punctual.message, scanned int, next_place text[]) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  m punctual.message;
  left_over int := size;
  bytes bigint := 0;
  after text := coalesce(place[1], '');
begin
  scanned := 0;
  for m in
    select y.* from (
      (select x.* from punctual.message x where x.queue = q and x.tags[1] = tag and x.id > after order by x.id limit 2000)
      union all
      (select x.* from punctual.message x where x.queue = q and x.tags[2] = tag and x.id > after order by x.id limit 2000)
      union all
      (select x.* from punctual.message x where x.queue = q and x.tags[3] = tag and x.id > after order by x.id limit 2000)
      union all
      (select x.* from punctual.message x where x.queue = q and x.tags[4] = tag and x.id > after order by x.id limit 2000)
      union all
      (select x.* from punctual.message x where x.queue = q and x.successor->'tags'->>0 = tag and x.id > after
        and tag <> all (coalesce(x.tags, '{}')) order by x.id limit 2000)
      union all
      (select x.* from punctual.message x where x.queue = q and x.successor->'tags'->>1 = tag and x.id > after
        and tag <> all (coalesce(x.tags, '{}')) order by x.id limit 2000)
      union all
      (select x.* from punctual.message x where x.queue = q and x.successor->'tags'->>2 = tag and x.id > after
        and tag <> all (coalesce(x.tags, '{}')) order by x.id limit 2000)
      union all
      (select x.* from punctual.message x where x.queue = q and x.successor->'tags'->>3 = tag and x.id > after
        and tag <> all (coalesce(x.tags, '{}')) order by x.id limit 2000)
    ) y order by y.id limit 2000
  loop
    scanned := scanned + 1;
    if (wanted is null or m.state = wanted or wanted = 0 and m.state = 4) and starts_with(m.id, coalesce(prefix, ''))
      and punctual.fits_1(m, in_topic, from_at, until_at, old_at, part, in_key)
    then
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
