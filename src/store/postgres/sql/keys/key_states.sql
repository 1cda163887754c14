-- key_states_1: how keys of a topic stand: those that are named, or the next ones after a name.
--
-- reply      for each, by priority (0 to 2): dues (its first message), served (its turn); up to when its rate is used; the message
--            that holds it if it is serial; its own limit. waiting and running are counted up to 1,000.
-- cost       about ten looks for each, and its messages up to 1,000
create or replace function punctual.key_states_1(q int, at bigint, name text, named text[], after text, size int)
returns table (
  now_at bigint, key text, waiting int, running int, dues bigint[], served bigint[], used_until bigint, held_id text, held_rank int,
  held_at bigint, has_limit boolean, weight int, concurrency int, interval_ms float8, burst int
) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
  one text := after;
  next_key text;
begin
  now_at := punctual.now_1(at);
  for n in 1..coalesce(cardinality(named), size) loop
    if named is not null then
      one := named[n];
    else
      select least((
          select m.key from punctual.message m where m.queue = q and m.topic = name and m.state = 4 and m.key > one
            order by m.key, m.priority, m.due_at, m.seq limit 1), (
          select m.key from punctual.message m where m.queue = q and m.topic = name and m.state = 1 and m.key > one
            order by m.key limit 1), (
          select k.key from punctual.key_limit k where k.queue = q and k.topic = name and k.key > one order by k.key limit 1))
        into next_key;
      select least(next_key, (
          select r.key from punctual.turn r where r.queue = q and r.topic = name and r.key > one
            and (next_key is null or r.key < next_key) and r.priority = 3 and r.served_at > now_at
            order by r.key, r.priority limit 1)) into one;
      exit when one is null;
    end if;
    key := one;
    select count(*) into waiting from (
      select 1 from punctual.message m where m.queue = q and m.topic = name and m.key = one and m.state = 4 limit 1000) x;
    select count(*) into running from (
      select 1 from punctual.message m where m.queue = q and m.topic = name and m.key = one and m.state = 1 limit 1000) x;
    dues := array(
      select (select m.due_at from punctual.message m where m.queue = q and m.topic = name and m.key = one and m.state = 4
          and m.priority = rank.p order by m.due_at, m.seq limit 1) from generate_series(0, 2) as rank(p));
    served := array(
      select (select r.served_at from punctual.turn r where r.queue = q and r.topic = name and r.key = one and r.priority = rank.p)
        from generate_series(0, 2) as rank(p));
    select r.served_at into used_until from punctual.turn r where r.queue = q and r.topic = name and r.key = one
      and r.priority = 3;
    select m.id, m.priority, m.due_at into held_id, held_rank, held_at from punctual.message m
      where m.queue = q and m.topic = name and m.key = one and m.state = 4 and m.is_holding order by m.due_at, m.seq limit 1;
    select true, k.weight, k.concurrency, k.interval_ms, k.burst into has_limit, weight, concurrency, interval_ms, burst
      from punctual.key_limit k where k.queue = q and k.topic = name and k.key = one;
    return next;
  end loop;
end
$$;
