-- fold_notes_1: brings what was noted of the keys of a topic, and is due, into their line; up to 2,000 notes. The caller has the
-- lock of the topic. Lets go of up to 1,000 rates that have recovered.
create or replace function punctual.fold_notes_1(q int, t bigint, name text, until_at bigint) returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
set jit = off as $$
declare
  n record;
  changed_at bigint;
  swept int;
begin
  delete from punctual.turn r where r.ctid = any (array(
    select x.ctid from punctual.turn x where x.queue = q and x.topic = name and x.priority = 3 and x.next_at <= t
      order by x.next_at limit 1000));
  with folded as (
    delete from punctual.note d where d.ctid = any (array(
        select x.ctid from punctual.note x where x.queue = q and x.topic = name and x.at <= until_at order by x.at limit 2000))
      returning d.key, d.priority, d.at, d.seq, d.noted_at
  )
  select array_agg(f.key) as keys, array_agg(f.priority) as priorities, array_agg(f.at) as ats, array_agg(f.seq) as seqs,
      array_agg(f.noted_at) as noted into n from folded f;
  if n.keys is null then return; end if;
  -- A key that was not there, and comes with a moment that has passed, begins as if it was served when it came.
  insert into punctual.turn as r (queue, topic, key, priority, served_at, used, due_at, seq, next_at)
    select q, name, e.key, e.priority, e.served_at, 0, e.first[1], e.first[2], greatest(e.first[1], e.served_at) from (
        select u.key, u.priority, min(array[u.at, u.seq]) as first,
            coalesce(max(u.noted_at) filter (where u.at < u.noted_at), 0) as served_at
          from unnest(n.keys, n.priorities, n.ats, n.seqs, n.noted) as u(key, priority, at, seq, noted_at)
          where u.priority >= 0 group by u.key, u.priority order by u.key, u.priority) e
    on conflict (queue, topic, key, priority) do update set due_at = excluded.due_at,
        seq = case when excluded.due_at > r.served_at then excluded.seq else r.seq end,
        next_at = case when r.held is null then greatest(r.served_at, excluded.due_at) else r.next_at end
      where excluded.due_at < r.due_at or excluded.due_at = r.due_at and excluded.seq < r.seq;
  if -1 = any (n.priorities) then
    -- Not "held is not null": the server would walk all that are held.
    update punctual.turn r set next_at = greatest(r.served_at, r.due_at), held = null
      from (select distinct u.key from unnest(n.keys, n.priorities) as u(key, priority) where u.priority = -1) e
      where r.queue = q and r.topic = name and r.key = e.key and r.priority < 3 and coalesce(r.held, -1) >= 0;
  end if;
  if -2 = any (n.priorities) then
    select max(u.seq) into changed_at from unnest(n.priorities, n.seqs) as u(priority, seq) where u.priority = -2;
    update punctual.turn r set next_at = greatest(r.served_at, r.due_at), held = null where r.ctid = any (array(
      select x.ctid from punctual.turn x where x.queue = q and x.topic = name and x.held < changed_at order by x.held limit 1000));
    get diagnostics swept = row_count;
    if swept = 1000 then insert into punctual.note values (q, name, '', -2, 0, changed_at, t); end if;
  end if;
end
$$;
