/** `punctual import pg-boss --cancel`, killed when its jobs are stored here and not yet cancelled there. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { sendPgBoss, workPgBoss } from '../packages/migrating/write.mjs'
import { Punctual } from '../../src/index.ts'
import { makePlace } from '../cli/punctual.ts'
import { PostgresServer, queryAt } from '../store/postgres/server.ts'
import { until } from '../store/redis/until.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start({ settings: ['fsync = off'] })
})
afterAll(() => server?.stop())

function words(url: string, ...more: readonly string[]): string[] {
  return ['import', 'pg-boss', '--postgres', url, ...more]
}

describe.each([10, 12] as const)('killed between storing and cancelling, pg-boss %i', (version) => {
  it('P2: what its workers have done meanwhile is told, and stays here until somebody cancels it', async () => {
    await server.query(`create database boss_${version}`)
    const url = server.url.replace(/postgres$/, `boss_${version}`)
    const queue = new Punctual({ store: url, logger: false })
    onTestFinished(async () => void (await queue.stop()))
    const producers = new AbortController()
    const sent = sendPgBoss(version, url, producers.signal, { delayS: 0 })
    // None while the schema is being made.
    const there = (): Promise<unknown[]> => queryAt(url, 'select 1 from pgboss.job').catch(() => [])
    await until('jobs are there', async () => (await there()).length >= 5)
    producers.abort()
    const ids = [...(await sent)].toSorted()
    await queryAt(
      url,
      `create function public.hold() returns trigger language plpgsql as
        'begin perform pg_sleep(3600); return new; end'`,
    )
    await queryAt(
      url,
      `create trigger hold before update on pgboss.job for each row
        when (new.state = 'cancelled') execute function public.hold()`,
    )
    const place = await makePlace()
    const running = place.start(words(url, '--cancel', '--store', url))
    await until('a page is stored here', async () => (await queue.stats()).counts.ready > 0)
    running.signal('SIGKILL')
    await running.ended
    await queryAt(
      url,
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'punctual:import'`,
    )
    await queryAt(url, 'drop trigger hold on pgboss.job')
    const workers = new AbortController()
    const worked = workPgBoss(version, url, workers.signal)
    const left = `select 1 from pgboss.job where name = 'stream' and state <> 'completed'`
    await until('pg-boss has done them', async () => (await queryAt(url, left)).length === 0)
    workers.abort()
    await worked
    const again = async (): Promise<{ doneThere: string[] }> =>
      (await place.json(words(url, '--cancel', '--store', url))) as { doneThere: string[] }
    const stored = (await again()).doneThere.toSorted()
    expect(stored.length).toBeGreaterThan(0)
    expect(stored.filter((id) => !ids.includes(id))).toEqual([])
    const told = await place.run(words(url, '--cancel', '--store', url))
    expect(told.code).toBe(1)
    expect(told.stdout).toContain(`${stored.length} messages wait here that workers there have done: `)
    expect((await queue.stats()).counts.ready).toBe(stored.length)
    for (const id of stored) await queue.cancel(id)
    expect((await again()).doneThere).toEqual([])
    expect((await place.run(words(url, '--cancel', '--store', url))).code).toBe(0)
  })
})
