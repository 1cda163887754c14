-- Keys. Only claims write `turn`; everybody else appends to `note`, so that no put, not even one inside a user's open
-- transaction, locks what another one of that key needs. Claims of one topic that has keys take turns on a lock of that topic.
--
-- message   state 4 is "waiting, with a key": in no index of those without, and nothing to functions that know no keys.
--           is_holding: of a retry, or of what lapsed, while its key was serial
-- turn      of each key and priority that was looked at, where it stands; one row goes with the last message that waits there.
--           served_at, used  as in core/keys
--           due_at           of its first message, or before it
--           next_at          its place in the line; null: out of it, until a note says to look again
--           seq              decides ties in the line
--           held             what is allowed to the key holds it back, since so many numbers of `seq`; else null
--           Priority 3 is no priority: there served_at and next_at say up to when the key's rate is used
-- note      "look at this key", from a moment on. priority -1: what held it back may be over; -2: what keys of this topic are
--           allowed has changed, and seq says since when
-- key_limit what single keys are allowed in place of all, and their weight

alter table punctual.message add column if not exists key text collate "C", add column if not exists is_holding boolean;

create index if not exists message_key on punctual.message (queue, topic, key, priority, due_at, seq) where state = 4;
-- For people. Its condition must be said to use it: else the server may take it for the one above.
create index if not exists message_keyed on punctual.message (queue, topic, priority, due_at, seq)
  where state = 4 and due_at > -9100000000000000000;
create index if not exists message_holding on punctual.message (queue, topic, key, due_at, seq) where state = 4 and is_holding;
create index if not exists message_key_runs on punctual.message (queue, topic, key) where state = 1 and key is not null;

create table if not exists punctual.turn (
  queue int not null, topic text collate "C" not null, key text collate "C" not null, priority smallint not null,
  served_at bigint not null, used int not null, due_at bigint not null, seq bigint not null, next_at bigint, held bigint,
  primary key (queue, topic, key, priority)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
create index if not exists turn_line on punctual.turn (queue, topic, priority, next_at, seq) where next_at is not null;
create index if not exists turn_held on punctual.turn (queue, topic, held) where held is not null;

create table if not exists punctual.note (
  queue int not null, topic text collate "C" not null, key text collate "C" not null, priority smallint not null,
  at bigint not null, seq bigint not null, noted_at bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
create index if not exists note_at on punctual.note (queue, topic, at);

create table if not exists punctual.key_limit (
  queue int not null, topic text collate "C" not null, key text collate "C" not null,
  weight int, concurrency int, interval_ms float8, burst int, primary key (queue, topic, key)
);

-- These have a further argument now, which processes of the version before leave out.
drop function if exists punctual.put_1(int, bigint, text[], text[], smallint[], bigint[], bigint[], text[], text[], text[], bigint[], smallint[], text[], boolean, boolean, text);
drop function if exists punctual.place_1(int, bigint, bigint, text, text, smallint, bigint, text, text, text[], bigint, smallint, text);
drop function if exists punctual.settle_with_1(int, bigint, text[], bigint[], smallint[], bigint[], text[], text[], bigint[], text[], text[], int[], text[], text[], smallint[], bigint[], bigint[], text[], text[], text[], bigint[], smallint[], boolean[], boolean, text);
drop function if exists punctual.restore_1(int, bigint, text[], text[], smallint[], smallint[], bigint[], bigint[], bigint[], bigint[], int[], int[], text[], text[], text[], text[], text[]);
drop function if exists punctual.set_controls_1(int, bigint, text[], text[], text[]);
drop function if exists punctual.fits_1(punctual.message, text, bigint, bigint, bigint, text);
drop function if exists punctual.inspect_waiting_1(int, bigint, bigint, text, bigint, text, int, text[]);
drop function if exists punctual.inspect_running_1(int, text, bigint, bigint, bigint, text, int, text[]);
drop function if exists punctual.inspect_dead_1(int, text, bigint, bigint, bigint, text, int, text[]);
drop function if exists punctual.inspect_prefix_1(int, smallint, bigint, bigint, text, text, bigint, text, int, text[]);
drop function if exists punctual.inspect_tag_1(int, text, smallint, bigint, bigint, text, text, bigint, text, int, text[]);
