-- place_1: one new message whose id may be taken. put uses it where the quick way cannot do.
--
-- mode     0 leave an existing one alone, 1 replace it, one that runs by a successor, 2 replace it in any case. old_body: if given, only if
--          one is there that has this body
-- new_key  its key, or null; entered_at: when it begins to wait, if not at t
-- latest   if given, due at most so long after the moment at which the waiting one that it replaces was produced
-- reply    'stored', 'duplicate', 'replaced' or 'succeeds'
-- promises P5; a remembered id counts as taken, and as free for a replacement. An id that another open transaction is inserting is waited for.
-- cost     one row and its index entries; for a replacement two
create or replace function punctual.place_1(
  q int, t bigint, number bigint, new_id text, new_topic text, rank smallint, due bigint, new_meta text, new_body text,
  new_tags text[], latest bigint, mode smallint, old_body text, new_key text default null, entered_at bigint default null
) returns text language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  old record;
  answer text := 'stored';
  made bigint := t;
begin
  if old_body is not null then
    perform 1 from punctual.message m where m.queue = q and m.id = new_id and m.body = old_body and m.state <> 3
      for update;
    if not found then return 'duplicate'; end if;
  end if;
  loop
    insert into punctual.message (seq, due_at, produced_at, queue, priority, topic, id, meta, body, tags, key, state)
      values (number, least(due, made + latest), made, q, rank, new_topic, new_id, new_meta, new_body, new_tags, new_key,
        case when new_key is null then 0 else 4 end) on conflict (queue, id) do nothing;
    if found then
      if new_key is not null then
        insert into punctual.note values (q, new_topic, new_key, rank, least(due, made + latest), number, coalesce(entered_at, t));
      end if;
      insert into punctual.delta values (q, new_topic, 1, 0, 0);
      return answer;
    end if;
    if mode = 0 then return 'duplicate'; end if;
    select m.state, m.topic, m.key, m.produced_at, m.successor into old from punctual.message m where m.queue = q and m.id = new_id for update;
    if not found then continue; end if; -- It left meanwhile.
    if punctual.sound_1(old.successor) then
      insert into punctual.delta values (q, old.successor->>'topic', -1, 0, 0);
    end if;
    if old.state = 1 and mode = 1 then
      if latest is not null and punctual.sound_1(old.successor) then made := (old.successor->>'produced_at')::bigint; end if;
      update punctual.message m set successor = jsonb_build_object('topic', new_topic, 'priority', rank,
          'due_at', least(due, made + latest), 'produced_at', made, 'meta', new_meta, 'body', new_body,
          'tags', coalesce(to_jsonb(new_tags), '[]'))
          || case when new_key is null then '{}' else jsonb_build_object('key', new_key) end
        where m.queue = q and m.id = new_id;
      insert into punctual.delta values (q, new_topic, 1, 0, 0);
      return 'succeeds';
    end if;
    if latest is not null and old.state in (0, 4) then made := old.produced_at; end if;
    delete from punctual.message m where m.queue = q and m.id = new_id;
    continue when old.state = 3; -- Forgotten, and stored anew.
    insert into punctual.delta
      values (q, old.topic, -(old.state in (0, 4))::int, -(old.state = 1)::int, -(old.state = 2)::int);
    if old.key is not null and old.state in (1, 4) then
      insert into punctual.note values (q, old.topic, old.key, -1, 0, 0, 0);
    end if;
    answer := 'replaced';
  end loop;
end
$$;
