// The floor: the least work in PostgreSQL that could do the job. One table with one index by moment, statements as functions,
// calls of one turn of the event loop are one statement, the 50th of a turn is sent at once; a lease that a worker's death
// lets lapse; a notification, after the commit, when a new head arrives; claims that do not wait for the disk. No topics,
// priorities, retries, counts, duplicates or order among equals: what punctual adds is what the difference costs.
import pg from 'pg'
import { urlFor } from '../postgres-server.mjs'

const [BATCH, EARLY] = [500, 50]

const SCHEMA = `
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

async function connect(context) {
  const client = new pg.Client({ connectionString: urlFor(context), pipeline: true })
  client.on('error', () => {})
  await client.connect()
  return client
}

async function prepare(client) {
  await client.query('select pg_advisory_lock(1)')
  await client.query(SCHEMA)
  await client.query('select pg_advisory_unlock(1)')
}

const push = (batch, message) => {
  batch.moments.push(message.dueAt || Date.now())
  batch.bodies.push(JSON.stringify(message))
}

async function openProducer(context) {
  const client = await connect(context)
  await prepare(client)
  let ringing
  const ring = () => {
    ringing ??= client
      .query({ name: 'ring', text: "select pg_notify('raw', '')" })
      .finally(() => (ringing = undefined))
  }
  const flush = async ({ moments, bodies }) => {
    const { rows } = await client.query({
      name: 'put',
      text: 'select raw_put($1, $2) as is_head',
      values: [moments, bodies],
    })
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

async function openWorker(context, handle) {
  const [claims, acks, ears] = await Promise.all([connect(context), connect(context), connect(context)])
  await prepare(acks)
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
      const { rows } = await claims.query({
        name: 'claim',
        text: 'select * from raw_claim($1, $2, $3)',
        values: [state.floor, BATCH, LEAD_MS],
      })
      if (!state.isOpen) return
      const { wait } = rows.pop()
      const waitMs = wait === null ? 60_000 : Number(wait) - LEAD_MS
      state.floor = Date.now() + Math.min(0, wait === null ? 0 : Number(wait)) - 2_000
      if (rows.length > 0) void run(rows)
      if (waitMs <= 0 || state.isWoken) continue
      state.isReading = false
      timer = setTimeout(() => void read(), Math.min(2_500, Math.ceil(waitMs)))
      return
    }
  }
  const run = async (rows) => {
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
    await acks
      .query({ name: 'ack', text: 'select raw_ack($1)', values: [rows.map(({ id }) => id)] })
      .catch(() => {})
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

export const contestants = {
  'raw-postgres': { name: 'raw-postgres', server: 'postgres', note: 'the floor', openProducer, openWorker },
}
