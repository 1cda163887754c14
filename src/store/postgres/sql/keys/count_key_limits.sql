-- count_key_limits_1: how many keys of a topic have limits of their own, and whether this one has.
create or replace function punctual.count_key_limits_1(q int, name text, its_key text)
returns table (count int, is_there boolean) language sql stable as $$
  select count(*)::int, coalesce(bool_or(k.key = its_key), false) from punctual.key_limit k where k.queue = q and k.topic = name
$$;
