-- queue_1: the number of a queue, which it gets with its first use. Does not wait: the insert of another open
-- transaction is found when that transaction ends, and this call is repeated until then by the unique index itself.
create or replace function punctual.queue_1(queue_name text) returns int language plpgsql as $$
declare
  number int;
begin
  loop
    select queue into number from punctual.queue where name = queue_name;
    if found then return number; end if;
    insert into punctual.queue (name) values (queue_name) on conflict (name) do nothing;
  end loop;
end
$$;
