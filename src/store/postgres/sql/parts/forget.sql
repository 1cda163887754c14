-- forget_1: lets remembered ids go whose time is over: those named, and up to 100 others.
-- cost       one look where none is over
create or replace function punctual.forget_1(q int, t bigint, ids text[]) returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off as $$
begin
  if not exists (select 1 from punctual.message m where m.queue = q and m.state = 3 and m.until <= t) then return; end if;
  delete from punctual.message m where m.ctid = any (array(
    select x.ctid from punctual.message x where x.queue = q and x.id = any (ids) and x.state = 3 and x.until <= t
      order by x.id for update));
  delete from punctual.message m where m.ctid = any (array(
    select x.ctid from punctual.message x where x.queue = q and x.state = 3 and x.until <= t
      order by x.until limit 100 for update skip locked));
end
$$;
