-- next_waiting_1: the first topic after a name, or at it, in which something waits.
create or replace function punctual.next_waiting_1(q int, name text, is_at boolean) returns text language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan set jit = off as $$
  select least((
      select x.topic from punctual.message x where is_at and x.queue = q and x.state = 0 and x.topic = name limit 1), (
      select x.topic from punctual.message x where is_at and x.queue = q and x.state = 4 and x.due_at > -9100000000000000000
        and x.topic = name limit 1), (
      select x.topic from punctual.message x where x.queue = q and x.state = 0 and x.topic > name
        order by x.topic, x.priority, x.due_at, x.seq limit 1), (
      select x.topic from punctual.message x where x.queue = q and x.state = 4 and x.due_at > -9100000000000000000
        and x.topic > name order by x.topic, x.priority, x.due_at, x.seq limit 1))
$$;
