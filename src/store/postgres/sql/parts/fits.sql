-- fits_1: whether a message fits the filters of a page; null filters fit everything. No pattern: a text is taken as it is.
create or replace function punctual.fits_1(
  m punctual.message, in_topic text, due_from bigint, due_until bigint, prefix text, part text
) returns boolean language sql immutable as $$
  select (in_topic is null or m.topic = in_topic) and (due_from is null or m.due_at >= due_from)
    and (due_until is null or m.due_at < due_until) and (prefix is null or starts_with(m.id, prefix))
    and (part is null or strpos(m.body, part) > 0)
$$;
