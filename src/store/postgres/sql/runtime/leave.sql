-- leave_1: the owner stops and will claim no more.
create or replace function punctual.leave_1(q int, at bigint, who text) returns void language sql as $$
  update punctual.worker set gone_at = punctual.now_1(at) where queue = q and owner = who and gone_at is null
$$;
