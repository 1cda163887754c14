-- see_1: notes that a worker claims. `new_facts` null: those known stay. A new one lets up to 100 go that were last heard
-- of more than an hour ago.
create or replace function punctual.see_1(q int, t bigint, who text, new_facts text) returns void
language plpgsql as $$
begin
  update punctual.worker set facts = coalesce(new_facts, facts), last_seen_at = t, gone_at = null
    where queue = q and owner = who;
  if found then return; end if;
  insert into punctual.worker (queue, owner, facts, first_seen_at, last_seen_at)
    values (q, who, coalesce(new_facts, ''), t, t) on conflict do nothing;
  delete from punctual.worker w where w.queue = q and w.owner = any (array(
    select s.owner from punctual.worker s
      where s.queue = q and greatest(s.last_seen_at, coalesce(s.gone_at, 0)) < t - 3600000000
      limit 100 for update skip locked));
end
$$;
