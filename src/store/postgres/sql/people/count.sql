-- count_1: how many are where. Topics of our own, which begin with a control character, do not count.
--
-- reply      waiting, running, dead: the totals and what is not folded yet. ready: how many of those that wait are due,
--            counted in the index up to 50,000 and in up to 300 topics; is_exact says whether that was enough. first_at: the
--            earliest moment of what waits.
-- cost       grows with topics up to 300 and with what is ready up to 50,000, not with messages
create or replace function punctual.count_1(q int, at bigint)
returns table (waiting bigint, running bigint, dead bigint, ready bigint, is_exact boolean, first_at bigint)
language plpgsql stable set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
  t bigint := punctual.now_1(at);
  name text;
  looked int := 0;
  n bigint;
  head bigint;
begin
  select coalesce(sum(s.waiting), 0), coalesce(sum(s.running), 0), coalesce(sum(s.dead), 0) into waiting, running, dead
    from (select x.waiting, x.running, x.dead from punctual.total x where x.queue = q and x.topic = ''
      union all select d.waiting, d.running, d.dead from punctual.delta d where d.queue = q and d.topic > E'\x02') s;
  ready := 0;
  is_exact := true;
  for name in select c.topic from punctual.topics_1(q, '', 301) c loop
    looked := looked + 1;
    if looked > 300 then is_exact := false; exit; end if;
    for rank in 0..2 loop
      head := punctual.first_due_1(q, name, rank);
      continue when head is null;
      first_at := least(first_at, head);
      continue when head > t;
      select count(*) into n from (
        (select 1 from punctual.message m where m.queue = q and m.state = 0 and m.topic = name and m.priority = rank
          and m.due_at <= t limit 50000 - ready)
        union all
        (select 1 from punctual.message m where m.queue = q and m.state = 4 and m.due_at > -9100000000000000000
          and m.topic = name and m.priority = rank and m.due_at <= t limit 50000 - ready)) x;
      ready := ready + n;
    end loop;
  end loop;
  if ready >= 50000 then is_exact := false; end if;
  return next;
end
$$;
