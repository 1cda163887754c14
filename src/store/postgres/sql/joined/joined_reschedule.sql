-- joined_reschedule_1: reschedule_1 inside a transaction of a user's own. moves: [{ id, delay | moment }, …]; reply: a list.
create or replace function punctual.joined_reschedule_1(q int, channel text, moves text) returns text language sql as $$
  select array_to_json(r.answers)::text from (
    select array_agg(x->>'id' order by o) as ids, array_agg((x->>'delay')::bigint order by o) as delays,
        array_agg((x->>'moment')::bigint order by o) as moments
      from json_array_elements(moves::json) with ordinality as u(x, o)) e,
    lateral punctual.reschedule_1(q, null, e.ids, e.delays, e.moments, true, channel) r
$$;
