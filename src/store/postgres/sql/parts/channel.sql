-- channel_1: where the wake-ups of a queue are heard: a name for this schema and queue in the whole database.
create or replace function punctual.channel_1(queue_name text) returns text language sql immutable as $$
  select 'punctual_' || substr(encode(sha256(convert_to('punctual' || E'\n' || queue_name, 'UTF8')), 'hex'), 1, 24)
$$;
