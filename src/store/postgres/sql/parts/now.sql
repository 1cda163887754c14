-- now_1: the store's clock. `at` is the clock of a test; null is the server's. Not now(), which is the beginning of the
-- transaction.
create or replace function punctual.now_1(at bigint) returns bigint language sql volatile as $$
  select coalesce(at, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
$$;
