-- set_controls_1: changes pauses and limits of a queue, if they still have the revision that the caller has read.
--
-- arguments  revision: null where there were none; names that have none any more; those that changed;
--            the limit of one key, if its topic is named: [weight, concurrency, ms between two, burst], or null to take it back
-- reply      whether they were changed; if not, the caller reads again
create or replace function punctual.set_controls_1(q int, old_revision bigint, gone text[], names text[], controls text[],
  key_topic text default null, its_key text default null, key_limit float8[] default null)
returns boolean language plpgsql as $$
declare
  is_ours boolean;
  changed text[];
begin
  -- Alone: see free_keys_1.
  perform pg_advisory_xact_lock(hashtext('punctual.limits'), q);
  insert into punctual.control_revision values (q, -1) on conflict do nothing;
  is_ours := found;
  perform 1 from punctual.control_revision r where r.queue = q for update;
  if not is_ours and old_revision is distinct from (select r.revision from punctual.control_revision r where r.queue = q) then
    return false;
  end if;
  -- What keys are allowed changes: those that it holds back are looked at anew.
  changed := array(
    select coalesce(u.name, c.topic) from unnest(names, controls) as u(name, control)
      full join (select * from punctual.control x where x.queue = q and x.topic = any (gone || names)) c on c.topic = u.name
      where u.control::jsonb->'limit'->'perKey' is distinct from c.control->'limit'->'perKey');
  insert into punctual.note select q, x.topic, '', -2, 0, nextval('punctual.seq'), 0 from unnest(changed) as x(topic)
    where exists (select 1 from punctual.turn r where r.queue = q and r.topic = x.topic and r.held is not null);
  if key_topic is not null then
    delete from punctual.key_limit k where k.queue = q and k.topic = key_topic and k.key = its_key;
    insert into punctual.key_limit select q, key_topic, its_key, key_limit[1], key_limit[2], key_limit[3], key_limit[4]
      where key_limit is not null;
    insert into punctual.note values (q, key_topic, its_key, -1, 0, 0, 0);
  end if;
  delete from punctual.control c where c.queue = q and c.topic = any (gone);
  insert into punctual.control as c select q, u.name, u.control::jsonb from unnest(names, controls) as u(name, control)
    on conflict (queue, topic) do update set control = excluded.control;
  update punctual.control_revision r set revision = coalesce(old_revision, 0) + 1 where r.queue = q;
  return true;
end
$$;
