-- record_1: adds to the figures of the current minute. The first 200 topics of a minute are kept by name, the rest under
-- ''. lateness: for each topic an object from bucket to count. Lets figures go that are older than 48 hours.
-- cost       a row for each topic; recorders of one queue wait for each other
create or replace function punctual.record_1(
  q int, at bigint, topics text[], completed bigint[], failed bigint[], dead bigint[], skipped bigint[], lateness text[]
) returns void language plpgsql as $$
#variable_conflict use_column
declare
  t bigint := punctual.now_1(at);
  minute bigint := t - t % 60000000;
  name text;
begin
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock(hashtext('punctual.record'), q);
  for n in 1..cardinality(topics) loop
    name := topics[n];
    if not exists (select 1 from punctual.figure f where f.queue = q and f.minute_at = minute and f.topic = name)
      and (select count(*) from punctual.figure f where f.queue = q and f.minute_at = minute and f.topic <> '') >= 200
    then name := ''; end if;
    insert into punctual.figure as f values
      (q, minute, name, completed[n], failed[n], dead[n], skipped[n], lateness[n]::jsonb)
      on conflict (queue, minute_at, topic) do update set completed = f.completed + excluded.completed,
        failed = f.failed + excluded.failed, dead = f.dead + excluded.dead, skipped = f.skipped + excluded.skipped,
        lateness = coalesce((select jsonb_object_agg(b.key, b.n) from (
          select e.key, sum(e.value::bigint) as n
            from (select * from jsonb_each_text(f.lateness) union all select * from jsonb_each_text(excluded.lateness)) e
            group by e.key) b), '{}');
  end loop;
  delete from punctual.figure f where (f.queue, f.minute_at, f.topic) in (
    select o.queue, o.minute_at, o.topic from punctual.figure o
      where o.queue = q and o.minute_at <= t - 172800000000 - 60000000 order by o.minute_at limit 1000);
end
$$;
