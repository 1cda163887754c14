-- owned_1: one page of the leases that an owner holds, lapsed ones included; after a place in the order of their ends.
-- cost       a walk over at most 5,000 running messages of the queue
-- reply      the leases; last a row without id that says where the walk ended, if it has not come to the end
create or replace function punctual.owned_1(q int, who text, after_until bigint, after_seq bigint)
returns table (id text, token text, topic text, is_taken boolean, until bigint, seq bigint) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
  row record;
  scanned int := 0;
begin
  for row in
    select m.id, m.token, m.topic, m.is_taken, m.until, m.seq, m.owner from punctual.message m
      where m.queue = q and m.state = 1 and (m.until, m.seq) > (after_until, after_seq) order by m.until, m.seq limit 5000
  loop
    scanned := scanned + 1;
    if row.owner = who then
      return query select row.id, row.token::text, row.topic, coalesce(row.is_taken, false), row.until, row.seq;
    end if;
  end loop;
  if scanned = 5000 then return query select null::text, null::text, null::text, null::boolean, row.until, row.seq; end if;
end
$$;
