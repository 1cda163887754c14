-- produce: stores a message from SQL: triggers, psql, other languages. Joins the transaction that calls it; workers are woken
-- by its commit.
--
--   select punctual.produce('orders', 'order.close', '{"orderId": 42}', interval '30 minutes');
--
-- arguments  queue and topic; the payload; how long from now; an id, which makes it idempotent
-- reply      the id; also of the message that has it already
--
-- This name stays: it is for users.
create or replace function punctual.produce(
  queue text, topic text, payload json default null, delay interval default interval '0', id text default null
) returns text language plpgsql as $$
declare
  number int := punctual.queue_1(queue);
  new_id text := coalesce(id, replace(gen_random_uuid()::text, '-', ''));
begin
  if queue is null or queue = '' or octet_length(queue) > 100 or queue ~ '[[:cntrl:]{}]' or queue in ('.', '..') then
    raise exception 'queue is %; give a text of 1 to 100 bytes without control characters or braces, other than . and ..', quote_nullable(queue)
      using errcode = 'invalid_parameter_value';
  end if;
  if topic is null or topic = '' or octet_length(topic) > 200 or topic ~ '[[:cntrl:]]' or topic in ('.', '..') then
    raise exception 'topic is %; give a text of 1 to 200 bytes without control characters, other than . and ..', quote_nullable(topic)
      using errcode = 'invalid_parameter_value';
  end if;
  if new_id = '' or octet_length(new_id) > 200 or new_id ~ '[[:cntrl:]]' or new_id in ('.', '..') then
    raise exception 'id is %; give a text of 1 to 200 bytes without control characters, other than . and ..', quote_nullable(id)
      using errcode = 'invalid_parameter_value';
  end if;
  if delay is null or delay < interval '0' or delay > interval '100 years' then
    raise exception 'delay is %; give an interval from 0 to 100 years', quote_nullable(delay::text)
      using errcode = 'invalid_parameter_value';
  end if;
  perform punctual.put_1(number, null, array[new_id], array[topic], array[1]::smallint[],
    array[ceil(extract(epoch from delay) * 1000000)::bigint], array[null]::bigint[], array[''],
    array[coalesce(payload::text, '')], '{}', '{}', array[0]::smallint[], '{}', true, true, punctual.channel_1(queue));
  return new_id;
end
$$;
