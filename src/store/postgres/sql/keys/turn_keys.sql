-- turn_keys_1: where keys stand after a round of claim_turns_1: one entry of each array is one key.
--
-- arguments  the row of its turn, and what it said; slots and starts: how many the key is allowed (null: as many as it likes);
--            quotas: how many the round would have given; steps, bursts, filled: of its rate; holder_*: the message that holds
--            it; given: how many it got; free: how many of its messages were there and not locked
create or replace function punctual.turn_keys_1(
  q int, t bigint, name text, rank smallint, until_at bigint, turns tid[], keys text[], served bigint[], used int[], weights int[],
  ties bigint[], slots bigint[], starts float8[], quotas bigint[], steps float8[], bursts int[], filled float8[],
  holder_ranks smallint[], holder_ats bigint[], given bigint[], free bigint[]
) returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set enable_hashjoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  stamp bigint := t + 1;
  number bigint := nextval('punctual.seq');
begin
  insert into punctual.turn as r (queue, topic, key, priority, served_at, used, due_at, seq, next_at)
    select q, name, u.key, 3, ceil(u.filled_at + u.given * u.step), 0, 0, 0, ceil(u.filled_at + u.given * u.step)
      from unnest(keys, steps, filled, given) as u(key, step, filled_at, given) where u.given > 0 and u.step is not null
    on conflict (queue, topic, key, priority) do update set served_at = excluded.served_at, next_at = excluded.next_at;
  with seen as materialized (
    select u.*, h.due_at as head_at, h.seq as head_seq, u.given > 0 and u.used + u.given >= u.weight as is_moved,
        coalesce(u.slots <= u.given, false) as is_full, u.holder_rank is not null and u.given = 0 as is_held,
        coalesce(u.starts <= u.given, false) as is_spent,
        u.given = u.free and u.free < least(u.quota, u.slots, u.starts)
          and case when u.holder_rank is null then h.due_at else u.holder_at end <= until_at as is_locked,
        ceil((u.filled_at + (u.given - u.burst + 0.5) * u.step) / 1000) * 1000 as opens_at
      from unnest(turns, keys, served, used, weights, ties, slots, starts, quotas, steps, bursts, filled, holder_ranks,
          holder_ats, given, free)
        as u(place, key, served_at, used, weight, tie, slots, starts, quota, step, burst, filled_at, holder_rank, holder_at,
          given, free)
        left join lateral (
          select m.due_at, m.seq from punctual.message m where m.queue = q and m.topic = name and m.key = u.key
            and m.priority = rank and m.state = 4 order by m.due_at, m.seq limit 1) h on true
  ), moved as materialized (
    select s.*, case when s.is_moved then stamp else s.served_at end as served_now,
        case when s.is_moved then 0 else s.used + s.given end as used_now from seen s
  ), gone as (
    delete from punctual.turn r where r.ctid = any (array(select x.place from moved x where x.head_at is null))
  )
  update punctual.turn r set served_at = x.served_now, used = x.used_now, due_at = x.head_at,
      seq = case when x.head_at > x.served_now then x.head_seq when x.is_moved then nextval('punctual.seq') else x.tie end,
      held = case when x.is_full or x.is_held or x.is_spent then number end,
      next_at = case
        when x.is_full or x.is_held and x.holder_rank <> rank then null
        when x.is_held and not x.is_locked then greatest(x.holder_at, x.served_now, case when x.is_spent then x.opens_at end)
        when x.is_spent then greatest(x.head_at, x.served_now, x.opens_at)
        when x.is_locked then t + 20000
        else greatest(x.head_at, x.served_now) end
    from moved x where r.ctid = x.place and x.head_at is not null;
end
$$;
