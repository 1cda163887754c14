-- joined_remove_1: remove_1, of messages that wait, inside a transaction of a user's own. ids and reply: lists.
create or replace function punctual.joined_remove_1(q int, ids text) returns text language sql as $$
  select array_to_json(punctual.remove_1(q, null, array(select json_array_elements_text(ids::json)), 0::smallint, true, false))::text
$$;
