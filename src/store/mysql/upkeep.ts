/**
 * What a store on MySQL does after it wrote (`sql/upkeep`): it adds up the counts, and lets go what is kept no longer:
 * remembered ids, workers that are gone, old figures.
 */
import type { Clock } from '../../clock.ts'
import { SqlUpkeep, foldAll } from '../sql/upkeep.ts'
import { NOW, readClock, type QueuePlace } from './sql/clock.ts'
import { joined, sql, textOf } from './sql/statement.ts'
import type { Rows, Steps, Transactions } from './transactions.ts'
import { deleteRows } from './verbs/write/locked-row.ts'
import { forgetWorkers } from './verbs/claim/workers.ts'

const FOLD_ROWS = 2_000
const FORGOTTEN_MAX = 500

export function makeUpkeep(clock: Clock, calls: Transactions, where: () => Promise<QueuePlace>): SqlUpkeep {
  return new SqlUpkeep(clock, async (isClosed) => {
    await foldAll(FOLD_ROWS, (size) => calls.run((steps) => fold(steps, size)), isClosed)
    const place = await where()
    if (!isClosed()) await calls.run((steps) => forget(steps, place))
  })
}

/**
 * Adds up to so many changes to the totals; answers how many. Others who do the same at the same time take other rows, and
 * add to the totals in the same order.
 */
export async function fold(steps: Steps, size: number): Promise<number> {
  const [rows = []] = await steps.send(
    sql`select number, queue, topic, waiting, running, dead from punctual_delta force index (primary)
      order by number limit ${size} for update skip locked`,
  )
  if (rows.length === 0) return 0
  await steps.commit(
    sql`insert into punctual_total (queue, topic, waiting, running, dead) values ${joined(sums(rows), ', ')}
      on duplicate key update waiting = waiting + values(waiting), running = running + values(running),
        dead = dead + values(dead)`,
    sql`delete d from punctual_delta as d force index (primary)
      where d.number in (${rows.map((row) => Number(row['number']))})`,
    ...emptied(rows),
  )
  return rows.length
}

type Sum = { readonly queue: number; readonly topic: string; waiting: number; running: number; dead: number }

/** By queue and topic, and for the queue as a whole ('') without topics of our own. */
function sums(rows: Rows): ReturnType<typeof sql>[] {
  const all = new Map<string, Sum>()
  for (const row of rows) {
    const [queue, topic] = [Number(row['queue']), textOf(row['topic'])]
    for (const name of topic > '\u0002' ? [topic, ''] : [topic]) {
      const key = `${queue}\n${name}`
      const sum = all.get(key) ?? { queue, topic: name, waiting: 0, running: 0, dead: 0 }
      sum.waiting += Number(row['waiting'])
      sum.running += Number(row['running'])
      sum.dead += Number(row['dead'])
      all.set(key, sum)
    }
  }
  return [...all]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([, { queue, topic, waiting, running, dead }]) =>
        sql`(${queue}, ${topic}, ${waiting}, ${running}, ${dead})`,
    )
}

/** Topics without messages are forgotten. */
function emptied(rows: Rows): ReturnType<typeof sql>[] {
  const names = new Map(rows.map((row) => [`${String(row['queue'])}\n${textOf(row['topic'])}`, row]))
  return [...names.values()]
    .toSorted(
      (a, b) => Number(a['queue']) - Number(b['queue']) || (textOf(a['topic']) < textOf(b['topic']) ? -1 : 1),
    )
    .map(
      (
        row,
      ) => sql`delete from punctual_total where queue = ${Number(row['queue'])} and topic = ${textOf(row['topic'])}
        and waiting = 0 and running = 0 and dead = 0`,
    )
}

async function forget(steps: Steps, { queue, at }: QueuePlace): Promise<void> {
  const [, , rows = []] = await steps.send(
    ...readClock(at),
    sql`select seq from punctual_message force index (punctual_message_until)
      where queue = ${queue} and state = 3 and until <= ${NOW} order by until limit ${FORGOTTEN_MAX} for update skip locked`,
  )
  await steps.commit(
    ...(rows.length === 0 ? [] : [deleteRows(rows.map((row) => Number(row['seq'])))]),
    forgetWorkers(queue),
  )
}
