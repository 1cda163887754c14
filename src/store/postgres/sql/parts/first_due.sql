-- first_due_1: the earliest moment of what waits of one topic and priority.
create or replace function punctual.first_due_1(q int, name text, rank int) returns bigint language sql stable as $$
  select least((
      select m.due_at from punctual.message m where m.queue = q and m.state = 0 and m.topic = name and m.priority = rank
        order by m.due_at, m.seq limit 1), (
      select m.due_at from punctual.message m where m.queue = q and m.state = 4 and m.due_at > -9100000000000000000
        and m.topic = name and m.priority = rank order by m.due_at, m.seq limit 1))
$$;
