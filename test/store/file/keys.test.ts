/** Keys in files: what they cost those that have none, how much a claim looks at, and who is kept from what. */
import path from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { connect, type SqlConnection } from '../../../src/store/file/database/driver.ts'
import type { Finding, Lease } from '../../../src/store/contract/store.ts'
import { checkup } from '../../../src/store/file/doctor/checkup.ts'
import { Database } from '../../../src/store/file/database/database.ts'
import { flood, keyed, own, perKey } from '../../../src/testing/conformance/key-stand.ts'
import { ack, claimDue, idsOf, message, release, retry } from '../../../src/testing/conformance/stand.ts'
import { openStore, temporaryDirectory, type TemporaryDirectory } from './bench.ts'
import { EngineHere, liveUnkeyed, statementsOf } from './engine-here.ts'
import { endAll, start } from './programs.ts'

let place: TemporaryDirectory
beforeEach(async () => void (place = await temporaryDirectory()))
afterEach(() => place.remove())
afterAll(endAll)

function engineHere(): EngineHere {
  const engine = new EngineHere(place.directory)
  onTestFinished(() => engine.close())
  return engine
}

function openFile(): SqlConnection {
  const db = connect(path.join(place.directory, 'queue.db'))
  onTestFinished(() => db.close())
  return db
}

function rowsOf(db: SqlConnection, table: string): number {
  return (db.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n
}

const KEY_TABLES = ['place', 'turn', 'used_rate', 'keyed_topic', 'key_limit']

function countKeyRows(): Record<string, number> {
  const db = openFile()
  return Object.fromEntries(KEY_TABLES.map((table) => [table, rowsOf(db, table)]))
}

const NO_ROWS = Object.fromEntries(KEY_TABLES.map((table) => [table, 0]))

describe('P18: what has no key', () => {
  test('is stored and settled with as many statements and bytes as before there were keys', () => {
    const engine = engineHere()
    const asked = statementsOf(() => liveUnkeyed(engine))
    // Measured with the version before keys, by the same life.
    expect(asked.length).toBe(268)
    const db = openFile()
    const columns = db.prepare("SELECT name FROM pragma_table_info('message')").all()
    expect(columns.map((row) => (row as { name: string }).name).join(' ')).toBe(
      'seq queue topic priority state due_at first_due_at produced_at until leased_at is_taken_over lease owner attempt lapses death checksum id meta error reason body tags mark',
    )
    const used = db.prepare(
      "SELECT sum(payload) AS n FROM dbstat WHERE name LIKE 'message%' OR name IN ('body', 'tag', 'topic', 'queue')",
    )
    expect(used.get()).toMatchObject({ n: 6344 })
    expect(countKeyRows()).toEqual(NO_ROWS)
    expect(db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all()).toEqual([])
  })
})

describe('P18: the work of a call', () => {
  test('what stands behind a key that is held back costs a claim nothing, and a claim looks up what it brings', () => {
    const engine = engineHere()
    engine.call('control', perKey({ concurrency: 1 }))
    engine.put(flood('k', 10))
    engine.now += 1
    expect(idsOf(engine.claim(1).leases)).toEqual(['k-0'])
    const costs = [10, 1_000, 10_000].map((count) => {
      for (let at = 0; at < count; at += 1_000)
        engine.put(
          flood('k', Math.min(1_000, count - at)).map((one) => ({ ...one, id: `${count}-${at}-${one.id}` })),
        )
      engine.now += 1
      const asked = statementsOf(() => {
        expect(engine.claim(100)).toMatchObject({ leases: [], next: { state: 'NO_TASK' } })
        engine.put([keyed(`free-${count}`, `free-${count}`)])
        expect(idsOf(engine.claim(100).leases)).toEqual([`free-${count}`])
      })
      return [asked.length, asked.reduce((sum, { rows }) => sum + rows, 0)]
    })
    expect(costs[1]).toEqual(costs[0])
    expect(costs[2]).toEqual(costs[0])
  })

  test('no statement of a life with keys walks a table or sorts one', () => {
    const engine = engineHere()
    const asked = statementsOf(() => liveKeyed(engine))
    const db = openFile()
    const plans = [...new Set(asked.map(({ sql }) => sql))]
      .filter((sql) => /^\s*(?:SELECT|UPDATE|DELETE|INSERT)/.test(sql))
      .flatMap((sql) => {
        const steps = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]
        return steps.map(({ detail }) => ({ sql, detail }))
      })
    const ofKeys = /place|turn|used_rate|keyed_topic|key_limit/
    const walks = /^SCAN (?!json_each|CONSTANT ROW|\(|\d)/
    const bad = plans.filter(
      ({ sql, detail }) =>
        ofKeys.test(sql) &&
        (walks.test(detail) || (detail.includes('B-TREE FOR ORDER') && !sql.includes('UNION'))),
    )
    expect(bad).toEqual([])
    expect(plans.filter(({ detail }) => detail.includes('turn_line')).length).toBeGreaterThanOrEqual(3)
  })

  test('after a limit was taken back, claims go over the keys that it held in several steps, and say so', () => {
    const engine = engineHere()
    engine.call('control', perKey({ concurrency: 1 }))
    const names = Array.from({ length: 1_200 }, (_, i) => `k${String(i).padStart(4, '0')}`)
    for (const half of [0, 1])
      engine.put(names.slice(600 * half, 600 * half + 600).flatMap((name) => [keyed(`${name}-0`, name)]))
    engine.now += 1
    for (let taken = 0; taken < 1_200;) taken += engine.claim(600).leases.length
    for (const half of [0, 1])
      engine.put(names.slice(600 * half, 600 * half + 600).map((name) => keyed(`${name}-1`, name)))
    expect(engine.claim(1)).toMatchObject({ leases: [], next: { state: 'NO_TASK' } })
    engine.call('control', perKey(undefined))
    const asked = statementsOf(() =>
      expect(engine.claim(1)).toMatchObject({ leases: [{ id: 'k0000-1' }], next: { state: 'EXPIRED' } }),
    )
    expect(asked.length).toBeLessThan(500 * 20)
    for (let taken = 1; taken < 1_200;) taken += engine.claim(600).leases.length
    expect(engine.claim(1)).toMatchObject({ leases: [], next: { state: 'NO_TASK' } })
  })
})

test('P18: when nothing of a key is there any more, nothing is left of it; rates go with the next claim', () => {
  const engine = engineHere()
  engine.call('control', perKey({ concurrency: 2, rate: { intervalMs: 100, burst: 2 } }))
  engine.call('control', own('a', { weight: 3 }))
  engine.put([...flood('a', 5), ...flood('b', 5)])
  for (let done = 0; done < 10; engine.now += 100) {
    const { leases } = engine.claim()
    engine.settle(leases, ack)
    done += leases.length
  }
  engine.call('control', own('a', null))
  engine.call('control', perKey(undefined))
  expect(countKeyRows()).toMatchObject({ place: 0, turn: 0, used_rate: 2 })
  engine.now += 1_000
  engine.claim()
  expect(countKeyRows()).toEqual(NO_ROWS)
  const db = openFile()
  expect([rowsOf(db, 'topic'), rowsOf(db, 'control')]).toEqual([0, 0])
})

describe('a process of the version before, which has had the file open', () => {
  test('cannot take a message out of its key, nor take over one that runs; those without a key it works on', () => {
    const engine = engineHere()
    engine.put([...flood('k', 3), message('plain')])
    engine.now += 1
    const { leases } = engine.claim(2)
    expect(leases.some(({ key }) => key === 'k')).toBe(true)
    const old = openFile()
    const refused = /update punctual/
    const run = (sql: string): unknown => old.prepare(sql).run()
    // As its claims of what lapsed, its settlements, its revive and its replacing put.
    const taking = `UPDATE message SET state = 1, until = 9, leased_at = 9, owner = 7, lease = lease + 1, is_taken_over = 1, attempt = attempt + 0`
    expect(() => run(`${taking} WHERE state = 1 AND mark & 4`)).toThrow(refused)
    expect(() => run('UPDATE message SET state = 0, until = 0, owner = 0 WHERE mark & 4')).toThrow(refused)
    expect(() => run("DELETE FROM message WHERE id = 'k-2'")).toThrow(refused)
    const due =
      'SELECT id FROM message INDEXED BY message_due WHERE state = 0 AND topic = 1 AND priority = 1 AND due_at <= 9e15'
    expect(old.prepare(due).all()).toEqual([])
    engine.put([message('other')])
    expect(old.prepare(due).all()).toMatchObject([{ id: 'other' }])
    run(`${taking} WHERE id = 'other'`)
    run("UPDATE message SET state = 0, until = 0, owner = 0 WHERE id = 'other'")
    run("DELETE FROM message WHERE id = 'other'")
  })

  test('P18: a store that has had no key refuses it nothing', () => {
    const engine = engineHere()
    engine.put([message('plain')])
    expect(openFile().prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all()).toEqual([])
  })
})

describe('the doctor', () => {
  const damages: readonly (readonly [string, RegExp])[] = [
    ['DELETE FROM place WHERE seq = 2', /has lost its key/],
    ["UPDATE place SET key = 'other' WHERE seq = 2", /does not match its checksum/],
    ['UPDATE place SET due_at = due_at + 1 WHERE seq = 2', /place of message 2 is not its own/],
    ['UPDATE place SET state = 2 WHERE seq = 2', /place of message 2 is not its own/],
    ['DELETE FROM turn', /has no turn/],
    ['UPDATE turn SET next_at = next_at + 1', /is not that of its first message/],
    ['UPDATE turn SET seq = 3', /is not that of its first message/],
    ['UPDATE turn SET next_at = NULL', /is held back by nothing/],
    ['DELETE FROM keyed_topic', /is of a topic that is said to have none/],
    ['INSERT INTO keyed_topic (topic, stamp) VALUES (77, 1)', /is said to have keys, and has none/],
    [
      "INSERT INTO key_limit (queue, topic, key, weight) VALUES (1, 'x', 'k', 2)",
      /one that its topic does not know of/,
    ],
    ['UPDATE topic SET waiting = waiting + 1', /counts of topic .* are off/],
    ['DROP TRIGGER keys_leave', /tables are not as punctual made them/],
  ]

  test.each(damages)('names what is damaged: %s', (damage, finding) => {
    const engine = engineHere()
    engine.put([message('plain'), ...flood('k', 3), ...flood('l', 1)])
    expect(problems()).toEqual([])
    openFile().exec(damage)
    expect(problems().some(({ what }) => finding.test(what))).toBe(true)
  })

  test('finds a store in order in which keys are held, rest, wait for a retry, and have died', () => {
    const engine = engineHere()
    liveKeyed(engine)
    expect(problems()).toEqual([])
  })
})

describe('several processes', () => {
  test('P9: the next message of a serial key wakes a sleeper of another process, when the one before ends here', async () => {
    const store = await openStore(place.directory)
    await store.control(perKey({ concurrency: 1 }))
    await store.put(flood('k', 2))
    const [lease] = (await claimDue(store, 1)) as [Lease]
    const listener = start('listen.mjs', { directory: place.directory })
    await listener.said('listening')
    expect(listener.lines).not.toContain('woken')
    await store.settle([ack(lease)])
    await listener.said('woken')
    await listener.kill()
    await store.close()
  })

  test('P17: one that is killed with a message of a serial key: its next starts when that one was taken over and ended', async () => {
    const store = await openStore(place.directory)
    await store.control(perKey({ concurrency: 1 }))
    await store.put(flood('k', 2))
    const holder = start('claim.mjs', { directory: place.directory, leaseMs: 3_600_000 })
    expect(await holder.said('claimed')).toBe('claimed k-0')
    expect(await claimDue(store, 5)).toEqual([])
    await holder.kill()
    expect(await claimDue(store, 5)).toEqual([])
    const lapsed = await store.claim({ from: 'lapsed', owner: 'here', limit: 5, leaseMs: 30_000 })
    expect(lapsed.leases).toMatchObject([{ id: 'k-0', key: 'k', attempt: 1 }])
    expect(await claimDue(store, 5)).toEqual([])
    await store.settle(lapsed.leases.map((lease) => ({ ...lease, kind: 'lapse' as const, error: 'killed' })))
    const again = await claimDue(store, 5)
    expect(again).toMatchObject([{ id: 'k-0', attempt: 2 }])
    await store.settle(again.map(ack))
    expect(idsOf(await claimDue(store, 5))).toEqual(['k-1'])
    await store.close()
  })
})

function problems(): Finding[] {
  const db = Database.open(place.directory, 'off')
  if (db === undefined) throw new Error('the file is locked')
  try {
    const view = { db, queue: 1, queueName: 'orders', now: Date.UTC(2030, 0, 1) }
    return checkup(view, { sync: 'full' }).filter(
      ({ level, what }) => level === 'problem' && what.startsWith('damaged'),
    )
  } finally {
    db.close()
  }
}

/** Of everything that keys can go through, something is left. */
function liveKeyed(engine: EngineHere): void {
  engine.put([
    ...flood('a', 4),
    ...flood('b', 4),
    message('plain'),
    keyed('late', 'a', { when: { delayMs: 60_000 } }),
  ])
  engine.now += 1
  engine.settle(engine.claim(3).leases, ack)
  engine.call('control', perKey({ concurrency: 1, rate: { intervalMs: 1_000, burst: 1 } }))
  engine.call('control', own('c', { weight: 2, concurrency: 2 }))
  engine.put([...flood('c', 5), ...flood('d', 2), ...flood('e', 2), keyed('tagged', 'f', { tags: ['x'] })])
  engine.now += 1
  const { leases } = engine.claim()
  const of = (key: string): Lease[] => leases.filter((lease) => lease.key === key)
  engine.settle(of('a'), (lease) => retry(lease, 5_000))
  engine.settle(of('c').slice(0, 1), (lease) => ({ ...lease, kind: 'dead', reason: 'enough', error: 'x' }))
  engine.settle(of('d'), release)
  engine.settle(of('e'), (lease) => ({ ...lease, kind: 'lapse', error: 'x' }))
  engine.put([keyed(of('b')[0]?.id ?? 'b-9', 'g', { ifExists: 'replace' })])
  engine.call('reschedule', [{ id: 'late', when: { delayMs: 5 } }])
  engine.call('remove', ['d-1'], 'waiting')
  engine.call('revive', ['c-0', 'c-1'])
  engine.now += 40_000
  engine.call('claim', { from: 'lapsed', owner: 'other', limit: 3, leaseMs: 30_000 })
  engine.call('keys', { topic: 'order.close', limit: 10 })
  engine.call('inspect', { state: 'ready', topic: 'order.close', key: 'c', limit: 10 })
  engine.call('inspect', { state: 'delayed', limit: 10 })
  engine.call('count')
  engine.call('countTopics', { limit: 10 })
  engine.claim()
}
