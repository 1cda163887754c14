-- workers_1: who claims, last seen first, at most 1,000; those that are gone stay for an hour.
create or replace function punctual.workers_1(q int, at bigint)
returns table (now_at bigint, owner text, facts text, first_seen_at bigint, last_seen_at bigint, gone_at bigint)
language sql volatile as $$
  select n.t, w.owner, w.facts, w.first_seen_at, w.last_seen_at, w.gone_at
    from (select punctual.now_1(at) as t offset 0) n left join lateral (
      select * from punctual.worker x where x.queue = q
        and (x.gone_at is null and x.last_seen_at > n.t - 3600000000 or x.gone_at > n.t - 3600000000)
        order by x.last_seen_at desc, x.first_seen_at desc, x.owner desc limit 1000) w on true
    order by w.last_seen_at desc, w.first_seen_at desc, w.owner desc
$$;
