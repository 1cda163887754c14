-- inspect_ids_1: messages by id, in the order of the ids; those that are not there are left out. A remembered id is shown
-- while it is.
create or replace function punctual.inspect_ids_1(q int, at bigint, ids text[]) returns setof punctual.message
language sql volatile set enable_seqscan = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
  select m.* from unnest(ids) with ordinality as u(id, o) join punctual.message m on m.queue = q and m.id = u.id
    where m.state <> 3 or m.until > punctual.now_1(at) order by u.o
$$;
