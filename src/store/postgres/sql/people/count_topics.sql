-- count_topics_1: counts by topic: of those named, or of the next `size` after a name; with the first moment of what waits.
-- A topic without messages may appear with zeros.
-- cost       for a topic one row, its deltas and three looks
create or replace function punctual.count_topics_1(q int, named text[], after text, size int)
returns table (topic text, waiting bigint, running bigint, dead bigint, first_at bigint) language sql stable as $$
  select c.topic, c.waiting, c.running, c.dead, (
      select min(punctual.first_due_1(q, c.topic, rank.p)) from generate_series(0, 2) as rank(p))
    from (
      select * from punctual.topics_1(q, after, size) where named is null
      union all
      select s.topic, sum(s.waiting)::bigint, sum(s.running)::bigint, sum(s.dead)::bigint from (
          select x.topic, x.waiting, x.running, x.dead from punctual.total x where x.queue = q and x.topic = any (named)
          union all
          select d.topic, d.waiting, d.running, d.dead from punctual.delta d where d.queue = q and d.topic = any (named)
        ) s where named is not null group by s.topic
    ) c order by c.topic
$$;
