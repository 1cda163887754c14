-- is_serial_1: whether one message of this key may run at a time.
create or replace function punctual.is_serial_1(q int, name text, its_key text) returns boolean language sql stable as $$
  select coalesce((
    select case when k.concurrency is not null or k.interval_ms is not null then k.concurrency = 1
        else c.control->'limit'->'perKey'->>'concurrency' = '1' end
      from punctual.control c left join punctual.key_limit k on k.queue = q and k.topic = name and k.key = its_key
      where c.queue = q and c.topic = name), false)
$$;
