-- figures_1: what record_1 added, by minute and topic, after a place; at most `size` rows.
create or replace function punctual.figures_1(
  q int, at bigint, from_at bigint, until_at bigint, in_topic text, after_minute bigint, after_topic text, size int
) returns table (minute_at bigint, topic text, completed bigint, failed bigint, dead bigint, skipped bigint, lateness jsonb)
language sql stable as $$
  select f.minute_at, f.topic, f.completed, f.failed, f.dead, f.skipped, f.lateness from punctual.figure f
    where f.queue = q and f.minute_at >= from_at and f.minute_at < until_at
      and f.minute_at > punctual.now_1(at) - 172800000000 - 60000000
      and (f.minute_at, f.topic) > (after_minute, after_topic) and (in_topic is null or f.topic = in_topic)
    order by f.minute_at, f.topic limit size
$$;
