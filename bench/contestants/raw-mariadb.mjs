// The floor on MariaDB, by a hand-written client: what a message with an id, a topic, a priority, attempts and a fence cannot
// do without. Calls of one turn of the event loop are one statement, the 50th of a turn is sent at once; a claim is a
// locking select, an update by keys and a commit; an ack a delete by keys. A worker that waits asks every 5 ms: nothing wakes
// it. No counts, tags, retries, or limits.
import { connectTo } from '../mysql-server.mjs'

const [BATCH, EARLY, LEAD_MS, LOOK_MS] = [500, 50, 10, 5]

const TABLE = `create table if not exists raw_message (
  seq bigint not null auto_increment primary key, queue int not null, state tinyint not null default 0,
  priority tinyint not null, attempt int not null default 0, due_at bigint not null, until bigint, token bigint,
  topic varbinary(255) not null, id varbinary(255) not null, body mediumtext not null,
  unique key raw_id (queue, id), key raw_due (queue, state, topic, priority, due_at), key raw_until (queue, state, until)
) engine = InnoDB default charset = utf8mb4`
const NOW = "floor(timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) / 1000)"

async function connect({ port }) {
  const connection = await connectTo(port)
  connection.on('error', () => {})
  await connection.query(`set session transaction isolation level read committed; ${TABLE}`)
  return connection
}

/** As long as punctual's own, and in order of time as those are. */
let last = 0
const randomId = () => {
  last += 1
  return `${Date.now().toString(36)}-${last.toString(36).padStart(8, '0')}-${process.pid.toString(36)}`
}

async function openProducer(context) {
  const connection = await connect(context)
  const flush = (messages) =>
    connection.query(
      `insert into raw_message (queue, priority, topic, due_at, id, body) values ${messages.map(() => "(1, 1, 't', ?, ?, ?)").join(', ')}`,
      messages.flatMap((message) => [message.dueAt || Date.now(), randomId(), JSON.stringify(message)]),
    )
  let turn
  const one = (message) => {
    if (turn === undefined) {
      const mine = (turn = { messages: [] })
      mine.done = new Promise(
        (resolve, reject) => (mine.send = () => flush(mine.messages).then(resolve, reject)),
      )
      process.nextTick(() => {
        if (turn !== mine) return
        turn = undefined
        mine.send()
      })
    }
    const batch = turn
    batch.messages.push(message)
    if (batch.messages.length === EARLY) {
      turn = undefined
      batch.send()
    }
    return batch.done
  }
  const many = (messages) => {
    const sent = []
    for (let at = 0; at < messages.length; at += BATCH) sent.push(flush(messages.slice(at, at + BATCH)))
    return Promise.all(sent)
  }
  return { bulk: 1_000, one, many, close: () => connection.end() }
}

async function openWorker(context, handle) {
  const [claims, acks] = await Promise.all([connect(context), connect(context)])
  const state = { isOpen: true }
  const claim = async () => {
    const token = Math.floor(Math.random() * 2 ** 50)
    const [, rows] = await claims.query(
      `start transaction; select seq, body, due_at - ${NOW} as wait from raw_message force index (raw_due)
        where queue = 1 and state = 0 and topic = 't' and priority = 1 and due_at <= ${NOW} + ${LEAD_MS}
        order by due_at, seq limit ${BATCH} for update skip locked`,
    )
    const seqs = rows.map(({ seq }) => seq)
    const lease = `update raw_message force index (primary) set state = 1, until = ${NOW} + 30000, token = ${token},
      attempt = attempt + 1 where seq in (${seqs.join(',')});`
    await claims.query(`${seqs.length === 0 ? '' : lease} commit`)
    return { rows, seqs, token }
  }
  const run = async ({ rows, seqs, token }) => {
    const startedAt = performance.now()
    await Promise.all(
      rows.map(({ body, wait }) => {
        const message = JSON.parse(body)
        const left = Number(wait) - (performance.now() - startedAt)
        return left > 0
          ? new Promise((resolve) => setTimeout(() => resolve(handle(message)), Math.ceil(left) + 1))
          : handle(message)
      }),
    )
    const gone = `delete m from raw_message as m force index (primary) where m.seq in (${seqs.join(',')}) and m.token = ${token}`
    await acks.query(gone).catch(() => {})
  }
  const loop = (async () => {
    while (state.isOpen) {
      const claimed = await claim().catch(() => ({ rows: [] }))
      if (claimed.rows.length > 0) void run(claimed)
      else await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  })()
  return {
    async close() {
      state.isOpen = false
      await loop
      await Promise.all([claims.end(), acks.end()])
    },
  }
}

export const contestants = {
  'raw-mariadb': { name: 'raw-mariadb', server: 'mysql', note: 'a floor', openProducer, openWorker },
}
