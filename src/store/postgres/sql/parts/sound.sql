-- sound_1: whether a successor can be read. One that somebody changed by hand counts as not there, so that the message that it
-- waits for can still be settled.
create or replace function punctual.sound_1(s jsonb) returns boolean language sql immutable as $$
  select coalesce(jsonb_typeof(s->'topic') = 'string' and jsonb_typeof(s->'body') = 'string' and jsonb_typeof(s->'meta') = 'string'
    and jsonb_typeof(s->'due_at') = 'number' and jsonb_typeof(s->'produced_at') = 'number'
    and jsonb_typeof(s->'tags') = 'array' and s->>'priority' in ('0', '1', '2'), false)
$$;
