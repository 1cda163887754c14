// Two floors, by a hand-written client: calls of one turn of the event loop are one statement, the 50th of a turn is sent at
// once; statements as functions; a lease that a worker's death lets lapse; a notification, after the commit, when a new head
// arrives; claims that do not wait for the disk.
//
//   raw-postgres         the least work in PostgreSQL that could do the job: one table with one index by moment. No ids of
//                        the user's, topics, priorities, retries, counts, fence, or order among equals
//   raw-postgres-layout  what a message with an id, a topic, a priority, attempts and a fence cannot do without: a unique
//                        index of ids, an index of what waits by topic, priority, moment and order, an index of leases
//
// What punctual adds is what the difference costs.
import pg from 'pg'
import { urlFor } from '../postgres-server.mjs'

const [BATCH, EARLY] = [500, 50]

const BARE = `
create table if not exists raw_message (
  due_at bigint not null, until bigint, id bigint primary key generated always as identity, body text not null
) with (autovacuum_vacuum_cost_delay = 0);
create index if not exists raw_due on raw_message (due_at) where until is null;
create or replace function raw_now() returns bigint language sql volatile as
  $$ select (extract(epoch from clock_timestamp()) * 1000)::bigint $$;
create or replace function raw_put(moments bigint[], bodies text[]) returns boolean language plpgsql
set enable_seqscan = off as $$
declare head bigint;
begin
  select due_at into head from raw_message where until is null order by due_at limit 1;
  insert into raw_message (due_at, body) select * from unnest(moments, bodies);
  return head is null or (select min(m) from unnest(moments) m) < head;
end $$;
create or replace function raw_claim(floor bigint, size int, lead bigint)
returns table (id bigint, body text, wait bigint) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare t bigint := raw_now();
begin
  perform set_config('synchronous_commit', 'off', true);
  return query update raw_message m set until = t + 30000 where m.ctid = any (array(
      select x.ctid from raw_message x where x.until is null and x.due_at >= floor and x.due_at <= t + lead
        order by x.due_at limit size for update skip locked)) returning m.id, m.body, m.due_at - t;
  return query select null::bigint, null::text,
    (select x.due_at - t from raw_message x where x.until is null and x.due_at >= floor order by x.due_at limit 1);
end $$;
create or replace function raw_ack(ids bigint[]) returns void language sql as
  $$ delete from raw_message where id = any (ids) $$;`

const LAYOUT = `
create table if not exists raw_message (
  seq bigint generated always as identity, due_at bigint not null, until bigint, token bigint, queue int not null,
  attempt int not null default 0, priority smallint not null, state smallint not null default 0,
  topic text collate "C" not null, id text collate "C" not null, body text not null
) with (fillfactor = 90, autovacuum_vacuum_cost_delay = 0);
create unique index if not exists raw_id on raw_message (queue, id);
create index if not exists raw_due on raw_message (queue, topic, priority, due_at, seq) where state = 0;
create index if not exists raw_until on raw_message (queue, until) where state = 1;
create or replace function raw_now() returns bigint language sql volatile as
  $$ select (extract(epoch from clock_timestamp()) * 1000)::bigint $$;
create or replace function raw_put(moments bigint[], bodies text[], ids text[]) returns boolean language plpgsql
set enable_seqscan = off set plan_cache_mode = force_generic_plan set jit = off as $$
declare head bigint; t bigint := raw_now();
begin
  select due_at into head from raw_message where queue = 1 and topic = 't' and priority = 1 and state = 0
    order by due_at, seq limit 1;
  insert into raw_message (due_at, queue, priority, topic, id, body)
    select u.at, 1, 1, 't', u.id, u.body from unnest(moments, bodies, ids) as u(at, body, id) on conflict (queue, id) do nothing;
  return head is null or (select min(m) from unnest(moments) m) < head;
end $$;
create or replace function raw_claim(floor bigint, size int, lead bigint, fence bigint)
returns table (id text, body text, wait bigint) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare t bigint := raw_now();
begin
  perform set_config('synchronous_commit', 'off', true);
  return query update raw_message m set state = 1, until = t + 30000, token = fence, attempt = m.attempt + 1
    where m.ctid = any (array(select x.ctid from raw_message x where x.queue = 1 and x.topic = 't' and x.priority = 1
        and x.state = 0 and x.due_at >= floor and x.due_at <= t + lead
        order by x.due_at, x.seq limit size for update skip locked)) returning m.id, m.body, m.due_at - t;
  return query select null::text, null::text, (select x.due_at - t from raw_message x where x.queue = 1 and x.topic = 't'
    and x.priority = 1 and x.state = 0 and x.due_at >= floor order by x.due_at, x.seq limit 1);
end $$;
create or replace function raw_ack(ids text[], fence bigint) returns void language sql as
  $$ delete from raw_message where queue = 1 and id = any (ids) and token = fence $$;`

const FLOORS = {
  'raw-postgres': {
    schema: BARE,
    put: ({ moments, bodies }) => ({ text: 'select raw_put($1, $2) as is_head', values: [moments, bodies] }),
    claim: (floor) => ({ text: 'select * from raw_claim($1, $2, $3)', values: [floor, BATCH, LEAD_MS] }),
    ack: (ids) => ({ text: 'select raw_ack($1)', values: [ids] }),
  },
  'raw-postgres-layout': {
    schema: LAYOUT,
    put: ({ moments, bodies }) => ({
      text: 'select raw_put($1, $2, $3) as is_head',
      values: [moments, bodies, bodies.map(() => randomId())],
    }),
    claim: (floor, fence) => ({
      text: 'select * from raw_claim($1, $2, $3, $4)',
      values: [floor, BATCH, LEAD_MS, fence],
    }),
    ack: (ids, fence) => ({ text: 'select raw_ack($1, $2)', values: [ids, fence] }),
  },
}

/** As long as punctual's own, and in order of time as those are. */
let last = 0
const randomId = () => {
  last += 1
  return `${Date.now().toString(36)}-${last.toString(36).padStart(8, '0')}-${process.pid.toString(36)}`
}

async function connect(context) {
  const client = new pg.Client({ connectionString: urlFor(context), pipeline: true })
  client.on('error', () => {})
  await client.connect()
  return client
}

async function prepare(client, schema) {
  await client.query('select pg_advisory_lock(1)')
  await client.query(schema)
  await client.query('select pg_advisory_unlock(1)')
}

const push = (batch, message) => {
  batch.moments.push(message.dueAt || Date.now())
  batch.bodies.push(JSON.stringify(message))
}

async function openProducer(context, statements) {
  const client = await connect(context)
  await prepare(client, statements.schema)
  let ringing
  const ring = () => {
    ringing ??= client
      .query({ name: 'ring', text: "select pg_notify('raw', '')" })
      .finally(() => (ringing = undefined))
  }
  const flush = async (batch) => {
    const { rows } = await client.query({ name: 'put', ...statements.put(batch) })
    if (rows[0].is_head) ring()
  }
  let turn
  const one = (message) => {
    if (turn === undefined) {
      const mine = (turn = { moments: [], bodies: [] })
      mine.done = new Promise((resolve, reject) => (mine.send = () => flush(mine).then(resolve, reject)))
      process.nextTick(() => {
        if (turn !== mine) return
        turn = undefined
        mine.send()
      })
    }
    const batch = turn
    push(batch, message)
    if (batch.bodies.length === EARLY) {
      turn = undefined
      batch.send()
    }
    return batch.done
  }
  const many = (messages) => {
    const sent = []
    for (let at = 0; at < messages.length; at += BATCH) {
      const batch = { moments: [], bodies: [] }
      for (const message of messages.slice(at, at + BATCH)) push(batch, message)
      sent.push(flush(batch))
    }
    return Promise.all(sent)
  }
  return { bulk: 1_000, one, many, close: () => client.end() }
}

const LEAD_MS = 10

async function openWorker(context, handle, statements) {
  const [claims, acks, ears] = await Promise.all([connect(context), connect(context), connect(context)])
  await prepare(acks, statements.schema)
  const state = { isOpen: true, isReading: false, isWoken: false, floor: 0 }
  let timer
  const read = async () => {
    if (state.isReading) {
      state.isWoken = true
      return
    }
    state.isReading = true
    clearTimeout(timer)
    for (;;) {
      state.isWoken = false
      const fence = Math.floor(Math.random() * 2 ** 50)
      const { rows } = await claims.query({ name: 'claim', ...statements.claim(state.floor, fence) })
      if (!state.isOpen) return
      const { wait } = rows.pop()
      const waitMs = wait === null ? 60_000 : Number(wait) - LEAD_MS
      state.floor = Date.now() + Math.min(0, wait === null ? 0 : Number(wait)) - 2_000
      if (rows.length > 0) void run(rows, fence)
      if (waitMs <= 0 || state.isWoken) continue
      state.isReading = false
      timer = setTimeout(() => void read(), Math.min(2_500, Math.ceil(waitMs)))
      return
    }
  }
  const run = async (rows, fence) => {
    const startedAt = performance.now()
    await Promise.all(
      rows.map(({ body, wait: ahead }) => {
        const message = JSON.parse(body)
        const left = Number(ahead) - (performance.now() - startedAt)
        return left > 0
          ? new Promise((resolve) => setTimeout(() => resolve(handle(message)), Math.ceil(left) + 1))
          : handle(message)
      }),
    )
    const ids = rows.map(({ id }) => id)
    await acks.query({ name: 'ack', ...statements.ack(ids, fence) }).catch(() => {})
  }
  ears.on('notification', () => {
    state.floor = 0
    void read()
  })
  await ears.query('listen raw')
  void read()
  return {
    async close() {
      state.isOpen = false
      clearTimeout(timer)
      await Promise.all([claims.end(), acks.end(), ears.end()])
    },
  }
}

export const contestants = Object.fromEntries(
  Object.entries(FLOORS).map(([name, statements]) => [
    name,
    {
      name,
      server: 'postgres',
      note: 'a floor',
      openProducer: (context) => openProducer(context, statements),
      openWorker: (context, handle) => openWorker(context, handle, statements),
    },
  ]),
)
