/** What the doctor's look at a whole store costs: the work of its messages, however many topics and keys there are. */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Database } from '../../../src/store/file/database/database.ts'
import { verify } from '../../../src/store/file/doctor/verification.ts'
import { message } from '../../../src/testing/conformance/stand.ts'
import { temporaryDirectory, type TemporaryDirectory } from './bench.ts'
import { EngineHere, statementsOf, type Asked } from './engine-here.ts'

let place: TemporaryDirectory
beforeEach(async () => void (place = await temporaryDirectory()))
afterEach(() => place.remove())

const MESSAGES = 4_000

type Step = { readonly id: number; readonly parent: number; readonly detail: string }

/** The statements of a look at a store with so many topics and keys, and the steps of their plans. */
function lookAt(name: string, topics: number): { readonly asked: Asked[]; readonly nested: string[] } {
  const directory = path.join(place.directory, name)
  mkdirSync(directory)
  const engine = new EngineHere(directory)
  for (let at = 0; at < MESSAGES; at += 1_000)
    engine.put(
      Array.from({ length: 1_000 }, (_, i) =>
        message(`m${at + i}`, { topic: `t${i % topics}`, ...(i % 2 === 0 ? {} : { key: `k${i % topics}` }) }),
      ),
    )
  engine.close()
  const db = Database.open(directory, 'off')
  if (db === undefined) throw new Error('the file is locked')
  try {
    const view = { db, queue: 1, queueName: 'orders', now: Date.UTC(2030, 0, 1) }
    const asked = statementsOf(() =>
      expect(verify(view)).toEqual({ checked: MESSAGES, isComplete: true, problems: [] }),
    )
    const nested = asked.flatMap(({ sql }) =>
      sql.trimStart().startsWith('SELECT') ? nestedWalks(db.all<Step>(`EXPLAIN QUERY PLAN ${sql}`)) : [],
    )
    return { asked, nested }
  } finally {
    db.close()
  }
}

/** Walks over a whole table for each row of another one. */
function nestedWalks(steps: readonly Step[]): string[] {
  const isWalk = ({ detail }: Step): boolean => /^SCAN \w/.test(detail) && !/json_each|CONSTANT/.test(detail)
  const isLater = (step: Step): boolean =>
    steps.some(
      ({ parent, id, detail }) => parent === step.parent && id < step.id && /^(?:SCAN|SEARCH)/.test(detail),
    )
  const isForEach = ({ parent }: Step): boolean =>
    steps.some(({ id, detail }) => id === parent && detail.startsWith('CORRELATED'))
  return steps
    .filter((step) => isWalk(step) && (isLater(step) || isForEach(step)))
    .map(({ detail }) => detail)
}

function rowsOf({ asked }: { readonly asked: readonly Asked[] }): number {
  return asked.reduce((sum, { rows }) => sum + rows, 0)
}

test('it asks as much and reads as many rows with 500 topics as with 5, but for the rows of those topics', () => {
  const [few, many] = [lookAt('few', 5), lookAt('many', 500)]
  expect(many.asked.length - few.asked.length).toBeLessThan(10)
  expect(rowsOf(many) - rowsOf(few)).toBeLessThan(1_100)
  expect([...few.nested, ...many.nested]).toEqual([])
})

test('it reads messages so many at a time', () => {
  const { asked } = lookAt('slices', 5)
  const slices = asked.filter(({ sql }) => sql.includes('FROM message WHERE seq > ?')).map(({ rows }) => rows)
  expect(slices).toEqual([...Array.from({ length: MESSAGES / 500 }, () => 500), 0])
})
