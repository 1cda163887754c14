-- joined_put_1: put_1 inside a transaction of a user's own. One text goes in and one comes out, because that is what every
-- client library can send. The wake-up goes out with the user's commit, and not at all with a rollback.
--
-- entries    [{ id, topic, priority, delay | moment, meta, body, tags, mode, key }, …]
-- reply      the words of put_1 as a list
create or replace function punctual.joined_put_1(q int, channel text, entries text) returns text language plpgsql as $$
declare
  reply record;
  e record;
begin
  select array_agg(x->>'id' order by o) as ids, array_agg(x->>'topic' order by o) as topics,
      array_agg((x->>'priority')::smallint order by o) as priorities, array_agg((x->>'delay')::bigint order by o) as delays,
      array_agg((x->>'moment')::bigint order by o) as moments, array_agg(x->>'meta' order by o) as metas,
      array_agg(x->>'body' order by o) as bodies, array_agg(x->>'tags' order by o) as tag_lists,
      array_agg((x->>'latest')::bigint order by o) as latests,
      array_agg((x->>'mode')::smallint order by o) as modes,
      case when bool_or(x->>'key' is not null) then array_agg(x->>'key' order by o) else '{}' end as keys,
      bool_and(x->>'mode' = '0') and count(distinct x->>'id') = count(*) as is_plain
    into e from json_array_elements(entries::json) with ordinality as u(x, o);
  select * into reply from punctual.put_1(q, null, e.ids, e.topics, e.priorities, e.delays, e.moments, e.metas, e.bodies,
    e.tag_lists, e.latests, e.modes, '{}', e.is_plain, true, channel,
    e.keys);
  return array_to_json(reply.answers)::text;
end
$$;
