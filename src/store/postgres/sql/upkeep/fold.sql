-- fold_1: adds up to `size` rows of delta to the totals. One at a time: who comes second has nothing to do.
--
-- reply      how many rows were folded; -1: somebody else does it
-- cost       a row of total for each topic, and one for the queue; topics without messages are forgotten
create or replace function punctual.fold_1(size int) returns int language plpgsql as $$
declare
  folded int;
begin
  if not pg_try_advisory_xact_lock(hashtext('punctual.fold'), 'punctual.delta'::regclass::oid::bigint::int) then
    return -1;
  end if;
  perform set_config('synchronous_commit', 'off', true);
  with gone as (
    delete from punctual.delta d where d.ctid = any (array(select x.ctid from punctual.delta x limit size for update skip locked))
      returning d.queue, d.topic, d.waiting, d.running, d.dead
  ), sums as (
    select g.queue, case when part.whole then '' else g.topic end as topic, sum(g.waiting) as waiting,
        sum(g.running) as running, sum(g.dead) as dead
      from gone g, (values (false), (true)) as part(whole) where not part.whole or g.topic > E'\x02' group by 1, 2
  ), added as (
    insert into punctual.total as t select * from sums order by queue, topic on conflict (queue, topic) do update set
      waiting = t.waiting + excluded.waiting, running = t.running + excluded.running, dead = t.dead + excluded.dead
  )
  select count(*) into folded from gone;
  delete from punctual.total t where t.topic <> '' and t.waiting = 0 and t.running = 0 and t.dead = 0;
  return folded;
end
$$;
