/**
 * What lies in `queue.db`. Its version is SQLite's `user_version`: migration n takes version n to n + 1, so a new feature
 * adds a step at the end and never changes one that was released.
 *
 *   queue     its totals. Row 0 is the store itself: `sequence` is the last number given to a message
 *   topic     how many messages are where, and when the first of those that wait is due. Exists while it has messages
 *   owner     who claims: one started queue, with the process that it runs in
 *   message   seq is the produce order. Token of a lease: seq and `lease`, which counts up and never returns
 *             first_due_at: null until a retry moves due_at. until: when the lease ends, or when it died. leased_at: when
 *             the last lease began. is_taken_over: from a worker that did not answer
 *             death: a number from the sequence, so that a walk over dead messages knows which died after it began
 *             tags: a JSON list, null for most
 *             One that is done and remembered (state 3) keeps its row: until says how long, reason how it ended, body what its
 *             handler returned, meta the name of its topic, whose number is no longer its own
 *             mark: of one that runs; SUCCEEDED: another takes its place when it ends. CANCELLING: it is to be cancelled.
 *             Always: KEYED: it has a key. One that waits with a key is in state 4, and so in no index of those without
 *   successor what takes the place of a message that runs, by its id. It counts as one that waits in its topic
 *   tag       which messages have a tag, by id. Only messages with tags are in it, and what has such a successor
 *   body      bodies above BODY_INLINE_MAX (message.body is then null): each change of a message rewrites its row
 *   figure    what ended, by topic and minute
 *   control   pauses and limits, by topic; '' is the whole queue
 *   place     of each message with a key: whose it is, and where it stands among those of its key. state: 0 waits, 1 runs,
 *             2 is dead, 3 is done and remembered. is_holding: a retry, or what lapsed, while its key was serial
 *   turn      of each key and priority, while something of the key waits or runs: served_at, used as in core/keys; seq, due_at: its first
 *             message, 0 where none waits; next_at: its place in the line, null while its key may be handed nothing
 *   used_rate up to when the rate of a key is used. opens_at: when the key, which waits for that, may go on
 *   keyed_topic exists while a turn or a used rate of its topic does. stamp: of the last service. sweep: what keys are allowed
 *             has changed, and those up to this one have heard of it
 *   key_limit what single keys are allowed in place of all, and their weight
 *   messages  a view for people with `sqlite3`; the engine does not use it
 *
 * The indexes are partial, so a message is in the index of its state only.
 */

/** "punc". Tells our files from those of other programs. */
export const APPLICATION_ID = 0x70756e63
/** Measured: up to here a row of its own saves nothing, at 2,000 it saves a quarter of the work of a whole life. */
export const BODY_INLINE_MAX = 1000

export const WAITING = 0
export const RUNNING = 1
export const DEAD = 2
/** Done; the id is still taken. Neither topic nor queue count it. */
export const REMEMBERED = 3
/** Marks of a message that runs. */
export const SUCCEEDED = 1
export const CANCELLING = 2

/** Of every message that has a key. */
export const KEYED = 4
/** A message that waits and has a key. */
export const IN_TURN = 4

/** Those that are counted. */
export type StateNumber = typeof WAITING | typeof RUNNING | typeof DEAD

export const MIGRATIONS: readonly string[] = [
  `
CREATE TABLE queue (
  queue INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, sequence INT NOT NULL DEFAULT 0,
  waiting INT NOT NULL DEFAULT 0, running INT NOT NULL DEFAULT 0, dead INT NOT NULL DEFAULT 0);
INSERT INTO queue (queue, name) VALUES (0, '');
CREATE TABLE topic (
  topic INTEGER PRIMARY KEY, queue INT NOT NULL, name TEXT NOT NULL,
  waiting INT NOT NULL, running INT NOT NULL, dead INT NOT NULL, next_at INT, UNIQUE (queue, name));
CREATE TABLE owner (
  owner INTEGER PRIMARY KEY, queue INT NOT NULL, name TEXT NOT NULL, process TEXT NOT NULL, facts TEXT NOT NULL,
  first_seen_at INT NOT NULL, last_seen_at INT NOT NULL, gone_at INT, UNIQUE (queue, name));
CREATE TABLE message (
  seq INTEGER PRIMARY KEY, queue INT NOT NULL, topic INT NOT NULL, priority INT NOT NULL, state INT NOT NULL DEFAULT 0,
  due_at INT NOT NULL, first_due_at INT, produced_at INT NOT NULL, until INT NOT NULL DEFAULT 0,
  leased_at INT NOT NULL DEFAULT 0, is_taken_over INT NOT NULL DEFAULT 0,
  lease INT NOT NULL DEFAULT 0, owner INT NOT NULL DEFAULT 0, attempt INT NOT NULL DEFAULT 0,
  lapses INT NOT NULL DEFAULT 0, death INT, checksum INT NOT NULL, id TEXT NOT NULL, meta TEXT NOT NULL,
  error TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '', body TEXT);
CREATE TABLE body (seq INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE figure (
  queue INT NOT NULL, minute_at INT NOT NULL, topic TEXT NOT NULL, completed INT NOT NULL, failed INT NOT NULL,
  dead INT NOT NULL, skipped INT NOT NULL, lateness TEXT NOT NULL, PRIMARY KEY (queue, minute_at, topic)) WITHOUT ROWID;
CREATE UNIQUE INDEX message_id ON message (queue, id);
CREATE INDEX message_due ON message (topic, priority, due_at) WHERE state = 0;
CREATE INDEX message_running ON message (queue, owner, until) WHERE state = 1;
CREATE INDEX message_dead ON message (topic, death) WHERE state = 2;
CREATE VIEW messages AS
  SELECT queue.name AS queue, topic.name AS topic, id,
    CASE state WHEN 0 THEN 'waiting' WHEN 1 THEN 'running' ELSE 'dead' END AS state,
    CASE priority WHEN 0 THEN 'high' WHEN 1 THEN 'normal' ELSE 'low' END AS priority,
    strftime('%Y-%m-%dT%H:%M:%fZ', due_at / 1000.0, 'unixepoch') AS due,
    strftime('%Y-%m-%dT%H:%M:%fZ', produced_at / 1000.0, 'unixepoch') AS produced,
    attempt, error, reason, owner.name AS owner, coalesce(message.body, body.body) AS body
  FROM message JOIN queue USING (queue) JOIN topic USING (topic) LEFT JOIN body USING (seq)
    LEFT JOIN owner ON owner.owner = message.owner AND state = 1;
`,
  `
ALTER TABLE message ADD COLUMN tags TEXT;
ALTER TABLE message ADD COLUMN mark INT NOT NULL DEFAULT 0;
CREATE TABLE successor (
  queue INT NOT NULL, id TEXT NOT NULL, topic TEXT NOT NULL, priority INT NOT NULL, due_at INT NOT NULL,
  produced_at INT NOT NULL, checksum INT NOT NULL, tags TEXT, meta TEXT NOT NULL, body TEXT NOT NULL, UNIQUE (queue, id));
CREATE TABLE tag (
  queue INT NOT NULL, tag TEXT NOT NULL, id TEXT NOT NULL, seq INT NOT NULL, PRIMARY KEY (queue, tag, id)) WITHOUT ROWID;
CREATE INDEX message_remembered ON message (queue, until) WHERE state = 3;
`,
  `
CREATE TABLE control (
  queue INT NOT NULL, topic TEXT NOT NULL, control TEXT NOT NULL, PRIMARY KEY (queue, topic)) WITHOUT ROWID;
`,
  `
ALTER TABLE successor ADD COLUMN key TEXT;
CREATE TABLE place (
  seq INTEGER PRIMARY KEY, topic INT NOT NULL, key TEXT NOT NULL, priority INT NOT NULL, due_at INT NOT NULL,
  state INT NOT NULL, is_holding INT NOT NULL DEFAULT 0);
CREATE TABLE turn (
  topic INT NOT NULL, key TEXT NOT NULL, priority INT NOT NULL, served_at REAL NOT NULL, used INT NOT NULL,
  seq INT NOT NULL, due_at INT NOT NULL, next_at REAL, PRIMARY KEY (topic, key, priority)) WITHOUT ROWID;
CREATE TABLE used_rate (
  topic INT NOT NULL, key TEXT NOT NULL, filled_at REAL NOT NULL, opens_at INT, PRIMARY KEY (topic, key)) WITHOUT ROWID;
CREATE TABLE keyed_topic (topic INTEGER PRIMARY KEY, stamp REAL NOT NULL, sweep TEXT);
CREATE TABLE key_limit (
  queue INT NOT NULL, topic TEXT NOT NULL, key TEXT NOT NULL, weight INT, concurrency INT, interval_ms REAL, burst INT,
  PRIMARY KEY (queue, topic, key)) WITHOUT ROWID;
CREATE INDEX place_line ON place (topic, key, priority, due_at) WHERE state = 0;
CREATE INDEX place_due ON place (topic, priority, due_at) WHERE state = 0;
CREATE INDEX place_holding ON place (topic, key, due_at) WHERE is_holding = 1;
CREATE INDEX place_running ON place (topic, key) WHERE state = 1;
CREATE INDEX turn_line ON turn (topic, priority, next_at, seq) WHERE next_at IS NOT NULL;
CREATE INDEX turn_held ON turn (topic, key) WHERE next_at IS NULL;
CREATE INDEX used_rate_opens ON used_rate (topic, opens_at) WHERE opens_at IS NOT NULL;
CREATE INDEX used_rate_over ON used_rate (topic, filled_at) WHERE opens_at IS NULL;
DROP VIEW messages;
CREATE VIEW messages AS
  SELECT queue.name AS queue, topic.name AS topic, id,
    CASE message.state WHEN 0 THEN 'waiting' WHEN 4 THEN 'waiting' WHEN 1 THEN 'running' ELSE 'dead' END AS state,
    CASE message.priority WHEN 0 THEN 'high' WHEN 1 THEN 'normal' ELSE 'low' END AS priority,
    strftime('%Y-%m-%dT%H:%M:%fZ', message.due_at / 1000.0, 'unixepoch') AS due,
    strftime('%Y-%m-%dT%H:%M:%fZ', produced_at / 1000.0, 'unixepoch') AS produced,
    attempt, error, reason, owner.name AS owner, coalesce(message.body, body.body) AS body, place.key
  FROM message JOIN queue USING (queue) JOIN topic USING (topic) LEFT JOIN body USING (seq) LEFT JOIN place USING (seq)
    LEFT JOIN owner ON owner.owner = message.owner AND message.state = 1;
`,
]

const TOO_OLD =
  'this store has messages with keys, which this version of punctual does not know: update punctual'

/**
 * Made with the first key of a store: a process of a version before, which has the file open since then, is refused what it
 * would do wrong to a message with a key. Our own statements never do that: one that waits again is in state 4, one that is
 * taken over is marked 2, and its place goes first.
 */
export const FENCE = `
CREATE TRIGGER IF NOT EXISTS keys_change BEFORE UPDATE OF state ON message
  WHEN OLD.mark & ${KEYED} AND (NEW.state = 0 OR OLD.state = 1 AND NEW.state = 1 AND NEW.is_taken_over = 1)
  BEGIN SELECT RAISE(ABORT, '${TOO_OLD}'); END;
CREATE TRIGGER IF NOT EXISTS keys_leave BEFORE DELETE ON message
  WHEN OLD.mark & ${KEYED} AND EXISTS (SELECT 1 FROM place WHERE place.seq = OLD.seq)
  BEGIN SELECT RAISE(ABORT, '${TOO_OLD}'); END;
`

export const FORMAT_VERSION = MIGRATIONS.length
