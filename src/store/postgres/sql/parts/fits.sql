-- fits_1: whether a message fits the filters of a page; null filters fit everything, but for topics of our own, which
-- begin with a control character and must be named. old_at: dead since then, or
-- produced before. No pattern: a text is taken as it is.
create or replace function punctual.fits_1(
  m punctual.message, in_topic text, due_from bigint, due_until bigint, old_at bigint, part text, its_key text default null
) returns boolean language sql immutable as $$
  select case when in_topic is null then m.topic > E'\x02' else m.topic = in_topic end and (due_from is null or m.due_at >= due_from)
    and (due_until is null or m.due_at < due_until) and (old_at is null or case m.state when 2 then m.until else m.produced_at end <= old_at)
    and (part is null or strpos(m.body, part) > 0) and (its_key is null or m.key = its_key)
$$;
