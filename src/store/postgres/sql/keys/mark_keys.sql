-- mark_keys_1: processes that know no keys and no windows must not open this schema from now on. Called once by each process that
-- puts its first message with a key or a window, never inside a transaction of a user's own.
create or replace function punctual.mark_keys_1() returns void language sql as $$
  update punctual.migration set oldest = 3 where version = 3 and oldest < 3
$$;
