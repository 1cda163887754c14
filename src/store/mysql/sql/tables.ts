/**
 * The layout. Times are microseconds since the epoch, by the server's clock. Names are bytes (varbinary), because collations
 * fold case and trailing blanks: `A`, `a` and `a ` are three ids.
 *
 * One row is one message. What a column means in each state:
 *
 *   state          0 waiting (4: with a   1 running               2 dead                  3 done, its id is remembered
 *                  key)
 *   seq            place among equals     the same                in the order of deaths  as it was
 *   due_at         its moment             the same                the same                the same
 *   first_due_at   the moment set by produce, reschedule or revive, if a retry has moved due_at since; else null
 *   until          null                   end of the lease        when it died            when the id is free again
 *   token, owner   null                   of the lease            null                    null
 *   leased_at      null                   when it was handed out  null                    null
 *   is_taken       null                   1: from another         null                    null
 *   is_cancelling  null                   1: to be cancelled      null                    null
 *   successor      null                   what replaces it (JSON) null                    null
 *   error, reason  of the last failure    the same                why it died             its result, and how it ended
 *   tags           each in a line, or null
 *   its_key        its key, or null
 *   is_holding     1: a retry, or what    null                    null                    null
 *                  lapsed, while its key
 *                  was serial
 *
 * There are no partial indexes here, so each index holds every message, and there are only three: by id, by moment, and
 * by end of the lease. Tags have a table of their own, as most messages have none; a successor's tags lead to the message
 * that it waits for.
 *
 * Statements that create are repeatable: each of them commits by itself, and a migration that was cut off begins again.
 */
const OPTIONS = 'engine = InnoDB, row_format = dynamic, default charset = utf8mb4, collate = utf8mb4_bin'

const FIRST = [
  `create table if not exists punctual_queue (
  queue int not null auto_increment primary key,
  name varbinary(255) not null,
  unique key punctual_queue_name (name)
) ${OPTIONS}`,

  `create table if not exists punctual_message (
  seq bigint not null auto_increment primary key,
  queue int not null,
  state tinyint not null default 0,
  priority tinyint not null,
  lapses smallint not null default 0,
  attempt int not null default 0,
  due_at bigint not null,
  produced_at bigint not null,
  first_due_at bigint,
  until bigint,
  leased_at bigint,
  token bigint,
  is_taken tinyint,
  is_cancelling tinyint,
  topic varbinary(255) not null,
  id varbinary(255) not null,
  owner varbinary(255),
  meta mediumtext,
  body mediumtext,
  error mediumtext,
  reason mediumtext,
  tags text,
  successor longtext,
  unique key punctual_message_id (queue, id),
  key punctual_message_due (queue, state, topic, priority, due_at),
  key punctual_message_until (queue, state, until)
) ${OPTIONS}`,

  `create table if not exists punctual_tag (
  queue int not null, tag varbinary(255) not null, id varbinary(255) not null, primary key (queue, tag, id)
) ${OPTIONS}`,

  // How many are where. Every change appends a row to delta, so that no row is contended; upkeep adds them up. A count is
  // the sum of both. Topic '' of total is the whole queue, but for topics of our own.
  `create table if not exists punctual_delta (
  number bigint not null auto_increment primary key,
  queue int not null, topic varbinary(255) not null, waiting int not null, running int not null, dead int not null,
  key punctual_delta_topic (queue, topic)
) ${OPTIONS}`,
  `create table if not exists punctual_total (
  queue int not null, topic varbinary(255) not null,
  waiting bigint not null, running bigint not null, dead bigint not null, primary key (queue, topic)
) ${OPTIONS}`,

  // Pauses and limits, by topic; '' is the whole queue. The revision of a queue changes with each of them, and whenever
  // something is handed out under a limit: a claim that worked out what the limits leave is good only for what it read.
  `create table if not exists punctual_control (
  queue int not null, topic varbinary(255) not null, control text not null, primary key (queue, topic)
) ${OPTIONS}`,
  `create table if not exists punctual_revision (queue int not null primary key, revision bigint not null) ${OPTIONS}`,

  // The last wake-up of each queue, numbered: who goes to sleep says which one it knows.
  `create table if not exists punctual_bell (
  queue int not null primary key, number bigint not null, ring mediumtext not null
) ${OPTIONS}`,

  `create table if not exists punctual_worker (
  queue int not null, owner varbinary(255) not null, facts mediumtext not null,
  first_seen_at bigint not null, last_seen_at bigint not null, gone_at bigint, primary key (queue, owner)
) ${OPTIONS}`,
  `create table if not exists punctual_figure (
  queue int not null, minute_at bigint not null, topic varbinary(255) not null, completed bigint not null,
  failed bigint not null, dead bigint not null, skipped bigint not null, lateness text not null,
  primary key (queue, minute_at, topic)
) ${OPTIONS}`,
]

/**
 * Keys. Only claims write `punctual_turn`; all others append to `punctual_note`, so that no put, not even one inside a user's
 * open transaction, locks what another one of that key needs. Messages without a key have no row in these tables, and
 * processes that know no keys do not see what is in state 4.
 *
 *   keyed      one row for each message with a key that waits or runs: in what order those of a key stand.
 *              state: 1 runs, 4 waits, 5 waits and holds its key
 *   turn       of each key and priority that was looked at, where it stands; one row goes with the last message that waits
 *              there
 *              served_at, used  as in core/keys
 *              due_at           of its first message, or before it
 *              next_at          its place in the line; null: out of it, until a note says to look again
 *              seq              decides ties in the line
 *              held             what is allowed to the key holds it back, since so many numbers of the topic; else null
 *              Priority 3 is no priority: there served_at and next_at say up to when the key's rate is used. Key '' is no key:
 *              on its row claims of the topic take turns, and its seq is the last number of the topic
 *   note       "look at this key", from a moment on. priority -1: what held it back may be over; -2: what keys of this topic
 *              are allowed has changed, and seq says since which number
 *   key_limit  what single keys are allowed in place of all, and their weight
 */
const KEYS = [
  'alter table punctual_message add column its_key varbinary(255), add column is_holding tinyint',
  `create table if not exists punctual_keyed (
  seq bigint not null primary key,
  queue int not null, topic varbinary(255) not null, its_key varbinary(255) not null,
  state tinyint not null, priority tinyint not null, due_at bigint not null,
  key punctual_keyed_line (queue, topic, its_key, state, priority, due_at)
) ${OPTIONS}`,
  `create table if not exists punctual_turn (
  queue int not null, topic varbinary(255) not null, its_key varbinary(255) not null, priority tinyint not null,
  served_at bigint not null, used int not null, due_at bigint not null, seq bigint not null, next_at bigint, held bigint,
  primary key (queue, topic, its_key, priority),
  key punctual_turn_line (queue, topic, priority, next_at, seq),
  key punctual_turn_held (queue, topic, held)
) ${OPTIONS}`,
  `create table if not exists punctual_note (
  number bigint not null auto_increment primary key,
  queue int not null, topic varbinary(255) not null, its_key varbinary(255) not null, priority tinyint not null,
  from_at bigint not null, seq bigint not null, noted_at bigint not null,
  key punctual_note_at (queue, topic, from_at)
) ${OPTIONS}`,
  `create table if not exists punctual_key_limit (
  queue int not null, topic varbinary(255) not null, its_key varbinary(255) not null,
  weight int, concurrency int, interval_ms double, burst int, primary key (queue, topic, its_key)
) ${OPTIONS}`,
]

export const MIGRATION_TABLE = `create table if not exists punctual_migration (
  version int not null primary key, oldest int not null, applied_at timestamp not null default current_timestamp
) ${OPTIONS}`

/** One entry for each version of the layout. */
export const TABLES: readonly (readonly string[])[] = [FIRST, KEYS]
