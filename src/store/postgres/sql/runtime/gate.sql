-- gate_1: what a claim must know where pauses and limits are: all of them, their revision, and how many run of each wanted topic.
-- The caller works out what is left (`shared/gates`), and claims with that revision.
--
-- reply      now, the revision (null: nothing is paused or limited), names and controls, running for each of `topics`
create or replace function punctual.gate_1(q int, at bigint, topics text[])
returns table (now_at bigint, revision bigint, names text[], controls text[], running bigint[]) language plpgsql as $$
#variable_conflict use_column
begin
  now_at := punctual.now_1(at);
  -- Controls without a revision were not written by us; no claim would ever be good.
  if exists (select 1 from punctual.control c where c.queue = q) then
    insert into punctual.control_revision values (q, 1) on conflict do nothing;
  end if;
  select r.revision, (select array_agg(c.topic order by c.topic) from punctual.control c where c.queue = q),
      (select array_agg(c.control::text order by c.topic) from punctual.control c where c.queue = q),
      array(select coalesce((select sum(s.running) from (
          select x.running from punctual.total x where x.queue = q and x.topic = w.topic
          union all select d.running from punctual.delta d where d.queue = q and d.topic = w.topic) s), 0)::bigint
        from unnest(topics) with ordinality as w(topic, o) order by w.o)
    into revision, names, controls, running from punctual.control_revision r where r.queue = q;
  return next;
end
$$;
