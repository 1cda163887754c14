-- joined_complete_1: the fenced ack of one message inside a transaction of a user's own, mostly that of its handler: done with
-- that transaction's commit, together with the messages that it carries.
--
-- entry      { id, token, kind: 0 | 7, delay, error, reason, carried: [as in joined_put_1] }, the first six as in settle_1
-- reply      the word of settle_with_1, in a list
-- promises   P4, P15. From here to its end that transaction has the message locked: claims, extensions, settlements and
--            takeovers pass it over.
--
-- Somebody who extends the lease just now is waited for: that is a matter of a millisecond.
create or replace function punctual.joined_complete_1(q int, channel text, entry text) returns text language plpgsql as $$
declare
  e json := entry::json;
  answer text;
begin
  perform 1 from punctual.message m where m.queue = q and m.id = e->>'id' and m.token = (e->>'token')::bigint for update;
  if not found then return '["lost"]'; end if;
  select s.answers[1] into answer from (
    select coalesce(array_agg(x->>'id' order by o), '{}') as ids, coalesce(array_agg(x->>'topic' order by o), '{}') as topics,
        coalesce(array_agg((x->>'priority')::smallint order by o), '{}') as priorities,
        coalesce(array_agg((x->>'delay')::bigint order by o), '{}') as delays,
        coalesce(array_agg((x->>'moment')::bigint order by o), '{}') as moments,
        coalesce(array_agg(x->>'meta' order by o), '{}') as metas, coalesce(array_agg(x->>'body' order by o), '{}') as bodies,
        coalesce(array_agg(x->>'tags' order by o), '{}') as tag_lists,
        coalesce(array_agg((x->>'latest')::bigint order by o), '{}') as latests,
        coalesce(array_agg((x->>'mode')::smallint order by o), '{}') as modes,
        coalesce(array_agg(x->>'key' order by o), '{}') as keys
      from json_array_elements(e->'carried') with ordinality as u(x, o)) c,
    lateral punctual.settle_with_1(q, null, array[e->>'id'], array[(e->>'token')::bigint], array[(e->>'kind')::smallint],
      array[(e->>'delay')::bigint], array[e->>'error'], array[e->>'reason'], '{}', '{}', '{}',
      array_fill(1, array[cardinality(c.ids)]), c.ids, c.topics, c.priorities, c.delays, c.moments, c.metas, c.bodies,
      c.tag_lists, c.latests, c.modes, array[true], true, channel, c.keys) s;
  return json_build_array(answer)::text;
end
$$;
