-- keyed_topics_1: which of these topics have keys. Takes the locks of those that may be handed something (limits), in an order that all
-- callers keep.
create or replace function punctual.keyed_topics_1(q int, topics text[], limits int[]) returns text[] language plpgsql
set enable_seqscan = off set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  found_topics text[];
  number int;
begin
  found_topics := array(select u.topic from unnest(topics) as u(topic) where
    exists (select 1 from punctual.turn r where r.queue = q and r.topic = u.topic)
    or exists (select 1 from punctual.note n where n.queue = q and n.topic = u.topic));
  for number in
    select distinct hashtext(q || ' ' || u.topic) from unnest(topics, limits) as u(topic, room)
      where u.room > 0 and u.topic = any (found_topics) order by 1
  loop
    perform pg_advisory_xact_lock(hashtext('punctual.turn'), number);
  end loop;
  return found_topics;
end
$$;
