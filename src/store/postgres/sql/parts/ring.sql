-- ring_1: tells every listener of a queue that something may be due sooner. Called after a commit, or inside a user's
-- transaction, whose commit then carries it.
--
-- payload    the earliest moment, the owner that need not hear it, and the topics, each in a line; no topics means all,
--            which also stands for more than fit into a notification
create or replace function punctual.ring_1(channel text, due_at bigint, giver text, topics text[]) returns void
language plpgsql as $$
declare
  lines text := coalesce(due_at::text, '') || E'\n' || giver;
  named text := lines || E'\n' || array_to_string(topics, E'\n');
begin
  perform pg_notify(channel, case when octet_length(named) < 7900 then named else lines end);
end
$$;
