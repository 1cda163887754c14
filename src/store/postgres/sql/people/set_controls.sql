-- set_controls_1: changes pauses and limits of a queue, if they still have the revision that the caller has read.
--
-- arguments  revision: null where there were none; names that have none any more; those that changed
-- reply      whether they were changed; if not, the caller reads again
create or replace function punctual.set_controls_1(q int, old_revision bigint, gone text[], names text[], controls text[])
returns boolean language plpgsql as $$
declare
  is_ours boolean;
begin
  insert into punctual.control_revision values (q, -1) on conflict do nothing;
  is_ours := found;
  perform 1 from punctual.control_revision r where r.queue = q for update;
  if not is_ours and old_revision is distinct from (select r.revision from punctual.control_revision r where r.queue = q) then
    return false;
  end if;
  delete from punctual.control c where c.queue = q and c.topic = any (gone);
  insert into punctual.control as c select q, u.name, u.control::jsonb from unnest(names, controls) as u(name, control)
    on conflict (queue, topic) do update set control = excluded.control;
  update punctual.control_revision r set revision = coalesce(old_revision, 0) + 1 where r.queue = q;
  return true;
end
$$;
