/** A server that says no: each refusal is an error that says what to do, and changes nothing. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { UnavailableError, UsageError } from '../../../src/core/errors.ts'
import { ErrorReply } from '../../../src/store/redis/link/parser.ts'
import { toPunctualError } from '../../../src/store/redis/link/refusals.ts'
import type { Lease, Store } from '../../../src/store/contract/store.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import {
  ack,
  ackThen,
  again,
  claimDue,
  claimLapsed,
  message,
} from '../../../src/testing/conformance/stand.ts'
import { dump } from './dump.ts'
import { RedisServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'
import { until } from './until.ts'

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

const HASTY = { callTimeout: '2s', connectTimeout: '1s' } as const

async function withStore(queue: string, url: string, body: (store: Store) => Promise<void>): Promise<void> {
  const store = storeAt(url, queue, HASTY)
  try {
    await body(store)
  } finally {
    await store.close()
  }
}

async function limit(bytes: string): Promise<void> {
  await server.admin(['CONFIG', 'SET', 'maxmemory', bytes])
}

describe('OOM', () => {
  test('P8: a full server hands out work that stands behind the messages of others', async () => {
    await withStore(freshQueue(), server.url, async (store) => {
      const others = Array.from({ length: 150 }, (_, i) => message(`other-${i}`, { topic: 'other' }))
      await store.put([...others, message('mine')])
      await limit('1')
      try {
        expect((await claimDue(store)).map(({ id }) => id)).toEqual(['mine'])
      } finally {
        await limit('0')
      }
    })
  })

  test('P15: a full server refuses the settlements that carry messages, and no other', async () => {
    await withStore(freshQueue(), server.url, async (store) => {
      await store.put([message('plain'), message('carries'), message('snoozes')])
      const [plain, carries, snoozes] = await claimDue(store)
      if (plain === undefined || carries === undefined || snoozes === undefined)
        throw new Error('three are due')
      const settlements = [ack(plain), ackThen(carries, [message('child')]), again(snoozes, { delayMs: 0 })]
      await limit('1')
      try {
        expect(await store.settle(settlements)).toEqual(['settled', 'refused', 'settled'])
      } finally {
        await limit('0')
      }
      const { places } = await takeCensus(store)
      expect([...places]).toEqual([
        ['snoozes', 'ready'],
        ['carries', 'running'],
      ])
      expect(await store.settle([ackThen(carries, [message('child')])])).toEqual(['settled'])
      expect((await takeCensus(store)).places.get('child')).toBe('ready')
    })
  })

  test('P2: a full server stores nothing of a batch, and lets work be finished', async () => {
    const queue = freshQueue()
    await withStore(queue, server.url, async (store) => {
      await store.put([message('a'), message('b', { ifExists: 'replace' })])
      const before = await dump(server.url, queue)
      await limit('1')
      try {
        for (const ifExists of ['keep', 'replace'] as const) {
          const refused = store.put([message('b', { ifExists }), message('c', { ifExists })])
          await expect(refused).rejects.toMatchObject({ code: 'STORE_FULL', name: 'UnavailableError' })
        }
        expect(await dump(server.url, queue)).toEqual(before)
        const leases = await claimDue(store)
        const taken: Lease[] = []
        expect(leases).toHaveLength(2)
        await expect(store.extend(leases, 1)).resolves.toEqual(['extended', 'extended'])
        await until('the leases lapsed and were taken over', async () => {
          taken.push(...(await claimLapsed(store)))
          return taken.length === 2
        })
        await expect(store.settle(taken.map(ack))).resolves.toEqual(['settled', 'settled'])
      } finally {
        await limit('0')
      }
      await expect(store.put([message('c')])).resolves.toEqual(['stored'])
    })
  })
})

describe('READONLY', () => {
  test('a replica is named as such, and after its promotion calls work', async () => {
    const replica = await RedisServer.start({ config: ['--replicaof', '127.0.0.1', String(server.port)] })
    try {
      await until('the replica is in step', async () =>
        String(await replica.admin(['INFO', 'replication'])).includes('master_link_status:up'),
      )
      await withStore(freshQueue(), replica.url, async (store) => {
        await store.open()
        const refused = store.put([message('a')])
        await expect(refused).rejects.toBeInstanceOf(UnavailableError)
        await expect(refused).rejects.toThrow(/read-only replica/)
        await replica.admin(['REPLICAOF', 'NO', 'ONE'])
        await until('calls work', async () => (await store.put([message('a')])).length === 1)
      })
    } finally {
      await replica.stop()
    }
  })
})

describe('foreign keys', () => {
  test('open refuses a queue whose keys hold something else, and names the key', async () => {
    const queue = freshQueue()
    await server.admin(['SET', `punctual:2:{${queue}}:heads`, 'mine'])
    await withStore(queue, server.url, async (store) => {
      const refused = store.open()
      await expect(refused).rejects.toBeInstanceOf(UsageError)
      await expect(refused).rejects.toThrow(/heads/)
    })
  })

  test('open refuses messages that an older layout stored, and says what to do', async () => {
    const queue = freshQueue()
    await server.admin(['HSET', `punctual:{${queue}}:payload`, 'a', 'of before'])
    await withStore(queue, server.url, async (store) => {
      const refused = store.open()
      await expect(refused).rejects.toMatchObject({ code: 'STORE_TOO_OLD', name: 'UsageError' })
      await expect(refused).rejects.toThrow(/older version.*work them off/)
      await server.admin(['DEL', `punctual:{${queue}}:payload`])
      await store.open()
    })
  })

  test('WRONGTYPE in a call is for the user to mend', async () => {
    const queue = freshQueue()
    await withStore(queue, server.url, async (store) => {
      await store.open()
      await server.admin(['SET', `punctual:2:{${queue}}:payload`, 'mine'])
      await expect(store.put([message('a')])).rejects.toMatchObject({
        code: 'STORE_REFUSED',
        name: 'UsageError',
      })
    })
  })
})

describe('the words of Redis', () => {
  const CASES: readonly [text: string, code: string, name: string][] = [
    ['LOADING Redis is loading the dataset in memory', 'STORE_UNAVAILABLE', 'UnavailableError'],
    ['MASTERDOWN Link with MASTER is down', 'STORE_UNAVAILABLE', 'UnavailableError'],
    ['CLUSTERDOWN The cluster is down', 'STORE_UNAVAILABLE', 'UnavailableError'],
    ['BUSY Redis is busy running a script.', 'STORE_UNAVAILABLE', 'UnavailableError'],
    ['MISCONF Redis is configured to save RDB snapshots', 'STORE_FULL', 'UnavailableError'],
    ['NOAUTH Authentication required.', 'STORE_REFUSED', 'UsageError'],
    ['WRONGPASS invalid username-password pair', 'STORE_REFUSED', 'UsageError'],
    ['NOPERM this user has no permissions', 'STORE_REFUSED', 'UsageError'],
    ['ERR DB index is out of range', 'STORE_REFUSED', 'UsageError'],
    // As Redis 6.2 reports an error of a command inside a script.
    [
      "ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed when used memory > 'maxmemory'.",
      'STORE_FULL',
      'UnavailableError',
    ],
    ['ERR user_script:12: attempt to index a nil value', 'INVARIANT', 'InvariantError'],
    ['NOQUORUM 1 usable Sentinels', 'STORE_UNAVAILABLE', 'UnavailableError'],
    ['a refusal without a word of Redis', 'STORE_REFUSED', 'UsageError'],
  ]
  test.each(CASES)('%s', (text, code, name) => {
    const error = toPunctualError(new ErrorReply(text), 'redis://host:6379')
    expect(error).toMatchObject({ code, name })
    expect(error.message).toContain('redis://host:6379')
    expect(error.cause).toBeInstanceOf(Error)
  })

  test('are looked for in replies only: what a socket says is an outage, whatever its words', () => {
    for (const text of ['connect ECONNREFUSED 127.0.0.1:1', 'NOAUTH Authentication required.']) {
      expect(toPunctualError(new Error(text), 'redis://host:6379')).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringContaining(text) as string,
      })
    }
  })

  test('a name with several addresses: the error says what each of them said', () => {
    const causes = [new Error('connect ECONNREFUSED ::1:1'), new Error('connect ECONNREFUSED 127.0.0.1:1')]
    const error = toPunctualError(new AggregateError(causes), 'redis://localhost:1')
    for (const cause of causes) expect(error.message).toContain(cause.message)
  })
})
