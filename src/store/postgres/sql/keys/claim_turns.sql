-- claim_turns_1: leases what is due of one topic and priority in which messages have keys, in the order of turns, together with
-- those that have none, whose turn is their moment. The caller has the lock of the topic, and has folded its notes.
--
-- arguments  until_at: what is due by then; wanted: at most so many; may_exceed: the first one may be larger than bytes_max;
--            all_*: what each key is allowed; has_own: some have limits of their own
-- reply      the places of the leases, in order; bytes: of their bodies; is_over: there was no room for another one
-- promises   P7, P16, P17
-- (limit 1 keeps the server from joining by a walk what is found by a key.)
-- cost       for each key three looks and a row; for a message as in claim_due
--
-- It goes in rounds. Each takes keys in the order of the line, with as many messages as the weight of the key, and more where the
-- line shows all that is due and room is left. A place in the line may be too early, as that of a key whose first message was
-- cancelled: it is never too late. So where the line goes on, nothing is handed out that stands behind its end.
--
-- What somebody else's open transaction has locked is passed over; its key is looked at again soon.
create or replace function punctual.claim_turns_1(
  q int, t bigint, name text, rank smallint, floor_at bigint, until_at bigint, wanted int, bytes_max bigint, may_exceed boolean,
  who text, lease bigint, new_token bigint, all_concurrency int, all_interval_ms float8, all_burst int, has_own boolean
) returns table (places tid[], bytes bigint, is_over boolean) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
  stamp bigint := t + 1;
  left_over int := wanted;
  l record;
  got tid[];
begin
  places := '{}';
  bytes := 0;
  is_over := false;
  for round in 1..5 loop
    with line as materialized (
      select r.ctid as place, r.key, r.served_at, r.used, r.next_at, r.seq from punctual.turn r
        where r.queue = q and r.topic = name and r.priority = rank and r.next_at <= greatest(until_at, stamp)
        order by r.next_at, r.seq limit left_over
    ), termed as materialized (
      select x.*, row_number() over (order by x.next_at, x.seq) as o, coalesce(k.weight, 1) as weight,
          case when k.is_own then k.concurrency else all_concurrency end as concurrency,
          case when k.is_own then k.interval_ms else all_interval_ms end * 1000 as step,
          case when k.is_own then k.burst else all_burst end as burst
        from line x left join lateral (
          select y.*, y.concurrency is not null or y.interval_ms is not null as is_own from punctual.key_limit y
            where has_own and y.queue = q and y.topic = name and y.key = x.key limit 1) k on true
    ), metered as materialized (
      -- As Meter in core/controls.
      select x.*, case when f.served_at > t + x.step * (x.burst + 0.5) + 1000000 then t
          else greatest(t, least(coalesce(f.served_at, t), t + x.step * (x.burst + 0.5))) end as filled_at
        from termed x left join lateral (
          select y.served_at from punctual.turn y where x.step is not null and y.queue = q and y.topic = name and y.key = x.key
            and y.priority = 3 limit 1) f on true
    ), roomy as materialized (
      select x.*, h.place as holder, h.priority as holder_rank, h.due_at as holder_at,
          greatest(1, case when count(*) over () < left_over then greatest(1, left_over / sum(x.weight) over ()) else 1 end
            * x.weight - x.used) as quota,
          x.concurrency - (select count(*) from (
            select 1 from punctual.message s where x.concurrency is not null and s.queue = q and s.topic = name and s.key = x.key
              and s.state = 1 limit x.concurrency) c) as slots,
          case when x.step is not null then greatest(0, floor((t - x.filled_at) / x.step + x.burst - 0.5) + 1) end as starts
        from metered x left join lateral (
          select m.ctid as place, m.priority, m.due_at from punctual.message m
            where x.concurrency = 1 and m.queue = q and m.topic = name and m.key = x.key and m.state = 4 and m.is_holding
            order by m.due_at, m.seq limit 1) h on true
    ), heads as materialized (
      select x.o, x.seq as tie, x.weight, x.served_at, x.weight - x.used as due_of_turn, m.place, m.due_at, m.size,
          row_number() over (partition by x.o order by m.due_at, m.seq) as n
        from (select y.*, greatest(0, least(y.quota, y.slots, y.starts))::bigint as room from roomy y) x left join lateral (
          select * from (select m.ctid as place, m.due_at, m.seq, octet_length(m.body) as size from punctual.message m
            where x.holder is null and m.queue = q and m.topic = name and m.key = x.key and m.priority = rank and m.state = 4
              and m.due_at <= until_at
            order by m.due_at, m.seq limit x.room for update skip locked) free
          union all
          select * from (select m.ctid, m.due_at, m.seq, octet_length(m.body) from punctual.message m
            where x.room > 0 and m.ctid = x.holder and m.priority = rank and m.state = 4 and m.due_at <= until_at
            for update skip locked) held) m on true
    ), ranked as materialized (
      select c.*, row_number() over w as n_all, sum(c.size) over w as size_all from (
          select h.o, h.place, h.size, h.tie, h.n, (h.n - 1) / h.weight as lap,
              greatest(h.due_at, case when h.n <= h.due_of_turn then h.served_at else stamp end)
                + case when h.place is null then null else 0 end as turn
            from heads h
          union all
          select null, m.place, m.size, m.seq, 1, 0, m.due_at from (
            select m.ctid as place, octet_length(m.body) as size, m.seq, m.due_at from punctual.message m
              where m.queue = q and m.state = 0 and m.topic = name and m.priority = rank and m.due_at >= floor_at
                and m.due_at <= until_at
              order by m.due_at, m.seq limit left_over for update skip locked) m) c
        window w as (order by c.turn, c.lap, c.tie, c.n)
    ), chosen as materialized (
      select x.*, x.turn <= (select case when count(*) < left_over then 9223372036854775807 else max(z.next_at) end from line z)
          and x.n_all <= left_over as is_next, x.size_all <= bytes_max - bytes or x.n_all = 1 and may_exceed as fits from ranked x
    )
    select array_agg(x.place order by x.o) as turns, array_agg(x.key order by x.o) as keys,
        array_agg(x.served_at order by x.o) as served, array_agg(x.used order by x.o) as used,
        array_agg(x.weight order by x.o) as weights, array_agg(x.seq order by x.o) as ties,
        array_agg(x.slots order by x.o) as slots, array_agg(x.starts order by x.o) as starts,
        array_agg(x.quota order by x.o) as quotas, array_agg(x.step order by x.o) as steps,
        array_agg(x.burst order by x.o) as bursts, array_agg(x.filled_at order by x.o) as filled,
        array_agg(x.holder_rank order by x.o) as holder_ranks, array_agg(x.holder_at order by x.o) as holder_ats, count(*) as n,
        (select array_agg(g.n order by g.o) from (
          select c.o, count(*) filter (where c.is_next and c.fits) as n from chosen c where c.o is not null group by c.o) g) as given,
        (select array_agg(g.n order by g.o) from (
          select c.o, count(c.place) as n from chosen c where c.o is not null group by c.o) g) as found,
        (select array_agg(c.place order by c.n_all) from chosen c where c.is_next and c.fits) as picked,
        (select coalesce(sum(c.size), 0) from chosen c where c.is_next and c.fits) as size,
        (select coalesce(bool_or(not c.fits), false) from chosen c where c.is_next) as is_over
      into l from roomy x;
    if l.picked is not null then
      with leased as (
        update punctual.message m set state = 1, until = t + lease, leased_at = t, token = new_token, owner = who,
            is_holding = null, attempt = least(m.attempt, 2147483646) + 1
          from unnest(l.picked) with ordinality as k(place, o) where m.ctid = k.place and m.state in (0, 4)
          returning m.ctid as place, k.o
      )
      select coalesce(array_agg(x.place order by x.o), '{}') into got from leased x;
      places := places || got;
      left_over := left_over - cardinality(got);
      bytes := bytes + l.size;
      may_exceed := false;
    end if;
    is_over := l.is_over;
    if l.n > 0 then perform punctual.turn_keys_1(q, t, name, rank, until_at, l.turns, l.keys, l.served, l.used, l.weights, l.ties, l.slots,
      l.starts, l.quotas, l.steps, l.bursts, l.filled, l.holder_ranks, l.holder_ats, l.given, l.found); end if;
    exit when is_over or left_over <= 0;
    exit when l.n < left_over + coalesce(cardinality(l.picked), 0) and not exists (
      select 1 from punctual.turn r where r.queue = q and r.topic = name and r.priority = rank and r.next_at <= greatest(until_at, stamp));
  end loop;
  return next;
end
$$;
