/** Two calls on the same messages at the same moment: one after the other, whichever is first, and nothing in between. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Store } from '../../../src/store/contract/store.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { LEASE_MS, ack, claimDue, message, release } from '../../../src/testing/conformance/stand.ts'
import { settle } from '../settle.ts'
import { PostgresDatabase } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

const ROUNDS = Number(process.env['PUNCTUAL_RACE_ROUNDS'] ?? 40)
const ids = Array.from({ length: 30 }, (_, i) => `m${i}`)

let server: PostgresDatabase
let a: Store
let b: Store
beforeAll(async () => {
  server = await PostgresDatabase.make()
  const queue = freshQueue()
  ;[a, b] = [storeAt(server.url, queue), storeAt(server.url, queue)]
  await Promise.all([a.open(), b.open()])
})
afterAll(async () => {
  await a?.close()
  await b?.close()
})

it('P4: what was settled is settled, though its lease was extended at the same moment', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    await a.put(ids.map((id) => message(id)))
    const leases = await claimDue(a, 100)
    expect(leases).toHaveLength(ids.length)
    const [, answers] = await Promise.all([
      b.extend(leases, LEASE_MS),
      settle(a, leases.map(ack)),
      b.extend(leases, LEASE_MS),
    ])
    expect(answers).toEqual(leases.map(() => 'settled'))
    expect((await takeCensus(a)).total, 'gone').toBe(0)
  }
})

it('P8: what was cancelled is gone, though it was moved, replaced or handed out at the same moment', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    await a.put(ids.map((id) => message(id)))
    const [, removed, , leases] = await Promise.all([
      b.reschedule(ids.map((id) => ({ id, when: { delayMs: 0 } }))),
      a.remove(ids, 'waiting'),
      b.reschedule(ids.map((id) => ({ id, when: { delayMs: 0 } }))),
      claimDue(b, 10),
    ])
    const { places } = await takeCensus(a)
    for (const [i, id] of ids.entries())
      expect(places.get(id) ?? 'gone', `${id}: ${removed[i]}`).toBe(
        removed[i] === 'running' ? 'running' : 'gone',
      )
    expect(removed.filter((answer) => answer === 'running')).toHaveLength(leases.length)
    await b.settle(leases.map(ack))
  }
})

it('P8: released, moved and replaced at once: each is in one place, and the counts agree', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    await a.put(ids.map((id) => message(id)))
    const leases = await claimDue(a, 15)
    await Promise.all([
      settle(a, leases.map(release)),
      b.put(ids.map((id) => message(id, { ifExists: 'replace', topic: 'other' }))),
      a.reschedule(ids.map((id) => ({ id, when: { delayMs: 3_600_000 } }))),
      b.extend(leases, LEASE_MS),
    ])
    expect((await takeCensus(a)).total).toBe(ids.length)
    await a.remove(ids, 'waiting')
    expect((await takeCensus(a)).total).toBe(0)
  }
})
