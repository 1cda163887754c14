-- The layout. Times are microseconds since the epoch, by the server's clock. Texts are compared by bytes (collate "C"):
-- the order of a list does not depend on the server's language, and no update of its C library breaks an index.
--
-- One row is one message. What a column means in each state:
--
--   state          0 waiting              1 running               2 dead                  3 done, its id is remembered
--   seq            place among equals     the same                in the order of deaths  as it was
--   due_at         its moment             the same                the same                the same
--   first_due_at   the moment set by produce, reschedule or revive, if a retry has moved due_at since; else null
--   until          null                   end of the lease        when it died            when the id is free again
--   token, owner   null                   of the lease            null                    null
--   leased_at      null                   when it was handed out  null                    null
--   is_taken       null                   true: from another      null                    null
--   is_cancelling  null                   true: to be cancelled   null                    null
--   successor      null                   what replaces it        null                    null
--   error, reason  of the last failure    the same                why it died             its result, and how it ended
--
-- Columns that most messages do not need are null, which costs nothing.

create sequence if not exists punctual.seq;

create table if not exists punctual.queue (
  queue int generated always as identity primary key,
  name text collate "C" not null unique
);

create table if not exists punctual.message (
  seq bigint not null,
  due_at bigint not null,
  produced_at bigint not null,
  first_due_at bigint,
  until bigint,
  leased_at bigint,
  token bigint,
  queue int not null,
  attempt int not null default 0,
  priority smallint not null,
  state smallint not null default 0,
  lapses smallint not null default 0,
  is_taken boolean,
  is_cancelling boolean,
  topic text collate "C" not null,
  id text collate "C" not null,
  owner text collate "C",
  meta text not null,
  body text not null,
  error text,
  reason text,
  tags text[] collate "C",
  successor jsonb
) with (
  fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);

create unique index if not exists message_id on punctual.message (queue, id);
create index if not exists message_due on punctual.message (queue, topic, priority, due_at, seq) where state = 0;
create index if not exists message_until on punctual.message (queue, until, seq) where state = 1;
create index if not exists message_dead on punctual.message (queue, topic, seq) where state = 2;
create index if not exists message_remembered on punctual.message (queue, until) where state = 3;
-- A message has up to four tags, most have none: one index for each place, which holds only messages that have a tag there.
create index if not exists message_tag_1 on punctual.message (queue, (tags[1]), id) where tags[1] is not null;
create index if not exists message_tag_2 on punctual.message (queue, (tags[2]), id) where tags[2] is not null;
create index if not exists message_tag_3 on punctual.message (queue, (tags[3]), id) where tags[3] is not null;
create index if not exists message_tag_4 on punctual.message (queue, (tags[4]), id) where tags[4] is not null;

-- The tags of a successor lead to the message that it waits for.
create index if not exists message_next_tag_1 on punctual.message (queue, (successor->'tags'->>0), id)
  where successor->'tags'->>0 is not null;
create index if not exists message_next_tag_2 on punctual.message (queue, (successor->'tags'->>1), id)
  where successor->'tags'->>1 is not null;
create index if not exists message_next_tag_3 on punctual.message (queue, (successor->'tags'->>2), id)
  where successor->'tags'->>2 is not null;
create index if not exists message_next_tag_4 on punctual.message (queue, (successor->'tags'->>3), id)
  where successor->'tags'->>3 is not null;

-- How many are where. Every change appends a row to delta, so that no row is contended; fold adds them up. A count is
-- the sum of both. Topic '' of total is the whole queue, but for topics of
-- our own.
create table if not exists punctual.delta (
  queue int not null, topic text collate "C" not null, waiting int not null, running int not null, dead int not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

create table if not exists punctual.total (
  queue int not null, topic text collate "C" not null,
  waiting bigint not null, running bigint not null, dead bigint not null, primary key (queue, topic)
) with (fillfactor = 70);

-- Pauses and limits, by topic; '' is the whole queue. The revision of a queue changes with each of them, and whenever something
-- is handed out under a limit: a claim that worked out what the limits leave is good only for the revision that it read.
create table if not exists punctual.control (
  queue int not null, topic text collate "C" not null, control jsonb not null, primary key (queue, topic)
) with (fillfactor = 50);
create table if not exists punctual.control_revision (queue int primary key, revision bigint not null) with (fillfactor = 50);

create table if not exists punctual.worker (
  queue int not null, owner text collate "C" not null, facts text not null,
  first_seen_at bigint not null, last_seen_at bigint not null, gone_at bigint, primary key (queue, owner)
) with (fillfactor = 70);

create table if not exists punctual.figure (
  queue int not null, minute_at bigint not null, topic text collate "C" not null, completed bigint not null,
  failed bigint not null, dead bigint not null, skipped bigint not null, lateness jsonb not null,
  primary key (queue, minute_at, topic)
) with (fillfactor = 70);
