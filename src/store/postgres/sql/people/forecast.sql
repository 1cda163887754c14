-- forecast_1: how many of what waits are due in each bar between two edges.
--
-- reply      a count for each bar, and whether they are exact
-- promises   P10: counts up to 200,000 messages in the index; where more wait, it looks at a sample of about 50,000 rows of
--            the table, and multiplies
create or replace function punctual.forecast_1(q int, edges bigint[], in_topic text)
returns table (counts bigint[], is_exact boolean) language plpgsql volatile set plan_cache_mode = force_custom_plan set jit = off as $$
#variable_conflict use_column
declare
  bars int := cardinality(edges) - 1;
  waits bigint;
  rows_in_table float8;
  percent float8 := 100;
begin
  if in_topic is null then
    select coalesce(sum(s.waiting), 0) into waits from (
      select x.waiting from punctual.total x where x.queue = q and x.topic = ''
      union all select d.waiting from punctual.delta d where d.queue = q and d.topic > E'\x02') s;
  else
    select coalesce(sum(c.waiting), 0) into waits from punctual.count_topics_1(q, array[in_topic], '', 1) c;
  end if;
  is_exact := waits <= 200000;
  if is_exact then
    select array_agg(coalesce(b.n, 0) order by g.bar) into counts from generate_series(1, bars) as g(bar) left join (
      select width_bucket(m.due_at, edges) as bar, count(*) as n
        from (select c.topic from punctual.topics_1(q, '', 1000000) c where in_topic is null
            union all select in_topic where in_topic is not null) names,
          generate_series(0, 2) as rank(p), lateral (
            select m.due_at from punctual.message m where m.queue = q and m.state = 0 and m.topic = names.topic
              and m.priority = rank.p and m.due_at >= edges[1] and m.due_at < edges[bars + 1]
            union all
            select m.due_at from punctual.message m where m.queue = q and m.state = 4 and m.due_at > -9100000000000000000
              and m.topic = names.topic and m.priority = rank.p and m.due_at >= edges[1] and m.due_at < edges[bars + 1]) m
        group by 1) b on b.bar = g.bar;
  else
    select greatest(c.reltuples, waits) into rows_in_table from pg_class c where c.oid = 'punctual.message'::regclass;
    percent := least(100, 5000000 / rows_in_table);
    select array_agg(round(coalesce(b.n, 0) * 100 / percent)::bigint order by g.bar) into counts
      from generate_series(1, bars) as g(bar) left join (
        select width_bucket(m.due_at, edges) as bar, count(*) as n from punctual.message m tablesample system (percent)
          where m.queue = q and m.state in (0, 4) and case when in_topic is null then m.topic > E'\x02' else m.topic = in_topic end
            and m.due_at >= edges[1]
            and m.due_at < edges[bars + 1] group by 1) b on b.bar = g.bar;
  end if;
  return next;
end
$$;
