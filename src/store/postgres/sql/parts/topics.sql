-- topics_1: the topics that come after a name, with their counts: totals and what is not folded yet. Topics of our own,
-- which begin with a control character, are left out.
create or replace function punctual.topics_1(q int, after text, size int)
returns table (topic text, waiting bigint, running bigint, dead bigint) language sql stable as $$
  with names as materialized (
    (select x.topic from punctual.total x where x.queue = q and x.topic > greatest(after, E'\x02') order by x.topic limit size)
    union
    (select d.topic from punctual.delta d where d.queue = q and d.topic > greatest(after, E'\x02') group by d.topic
      order by d.topic limit size)
    order by topic limit size
  )
  select s.topic, sum(s.waiting)::bigint, sum(s.running)::bigint, sum(s.dead)::bigint from (
      select x.topic, x.waiting, x.running, x.dead from punctual.total x join names on names.topic = x.topic where x.queue = q
      union all
      select d.topic, d.waiting, d.running, d.dead from punctual.delta d join names on names.topic = d.topic where d.queue = q
    ) s group by s.topic order by s.topic
$$;
