-- free_keys_1: notes that messages of these keys have ended, for topics in which that lets others of the key start.
--
-- reply      those topics
-- is_joined  inside a transaction of a user's own. It may last long, so it takes no lock, and notes what may be needless.
--
-- Whether the topic is one of those is asked under a lock that is shared with all others who ask. Who changes that
-- (set_controls_1) has it alone: else a claim that obeys the new limits may see this message run, while we do not see the limits,
-- and nothing would be noted.
create or replace function punctual.free_keys_1(q int, topics text[], keys text[], is_joined boolean) returns text[]
language plpgsql set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  freed text[];
begin
  if not is_joined then perform pg_advisory_xact_lock_shared(hashtext('punctual.limits'), q); end if;
  freed := array(select distinct u.topic from unnest(topics, keys) as u(topic, key) where u.key is not null and (is_joined or exists (
    select 1 from punctual.control c where c.queue = q and c.topic = u.topic
      and (c.control->'limit' ? 'perKey' or c.control ? 'hasKeyLimits'))));
  insert into punctual.note select distinct q, u.topic, u.key, -1, 0, 0, 0 from unnest(topics, keys) as u(topic, key)
    where u.key is not null and u.topic = any (freed);
  return freed;
end
$$;
