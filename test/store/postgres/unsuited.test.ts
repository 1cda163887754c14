/**
 * What speaks PostgreSQL's protocol and is none is refused by name before anything is stored, by a stand-in that answers as that
 * server does. What none of them can show: that a queue would work there.
 */
import { describe, expect, test } from 'vitest'
import { openingAt } from '../opening.ts'
import { PostgresDatabase } from './server.ts'
import { startStandIn, type StandInAnswer } from './stand-in.ts'

const WHO = { standby: 'f', version: '150004', pid: '4711', marks: '{}' }
/** As the catalogue numbers them: bool, int4, text[]. */
const TYPES = { standby: 16, version: 23, pid: 23, marks: 1009 }
const PLAIN = 'PostgreSQL 15.4 on x86_64-pc-linux-gnu, compiled by gcc (GCC) 11.4.0, 64-bit'
const NO_SUCH_FUNCTION = '42883'

/** What each says to `select version()`, and to the question that only a PostgreSQL answers. */
const SERVERS: Readonly<Record<string, { readonly version: string; readonly who: StandInAnswer }>> = {
  CockroachDB: {
    version: 'CockroachDB CCL v25.2.1 (x86_64-pc-linux-gnu, built 2025/06/01 00:00:00, go1.23.7)',
    who: { row: { ...WHO, version: '130000' } },
  },
  Redshift: {
    version:
      'PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2 20041017 (Red Hat 3.4.2-6.fc3), Redshift 1.0.77467',
    who: { error: NO_SUCH_FUNCTION },
  },
  YugabyteDB: {
    version:
      'PostgreSQL 15.12-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 17.0.6, 64-bit',
    who: { row: { ...WHO, version: '150012' } },
  },
  Aurora: { version: PLAIN, who: { row: { ...WHO, marks: '{"function aurora_version"}' } } },
  Citus: { version: PLAIN, who: { row: { ...WHO, marks: '{"extension citus"}' } } },
}
const NEVER = ['CockroachDB', 'Redshift']

function standIn(name: string): Promise<string> {
  const { version, who } = SERVERS[name] ?? { version: PLAIN, who: { row: WHO } }
  return startStandIn((sql) => {
    if (sql.startsWith('select version()')) return { row: { banner: version } }
    return sql.includes('pg_is_in_recovery') ? who : { error: '0A000' }
  }, TYPES)
}

describe.each(Object.keys(SERVERS))('%s', (name) => {
  test('is refused by its name, with the reason', async () => {
    const refusal = await openingAt(await standIn(name))
    expect(refusal).toMatchObject({ name: 'UsageError', code: 'STORE_UNSUITED', value: name })
    expect(String(refusal)).toContain(`this server is ${name}: `)
  })

  test('unproved=true lets it in where that is all that is wrong', async () => {
    const refusal = await openingAt(`${await standIn(name)}?unproved=true`)
    // Let in, the stand-in refuses the next statement with a code of its own.
    expect(refusal).toMatchObject({ code: NEVER.includes(name) ? 'STORE_UNSUITED' : 'STORE_REFUSED' })
  })
})

test('a plain PostgreSQL is not refused, whatever its database holds', async () => {
  const { url } = await PostgresDatabase.make()
  expect(await openingAt(url)).toBeUndefined()
})

test('an unproved that is not true is refused', async () => {
  await expect(openingAt('postgres://here/there?unproved=yes')).rejects.toMatchObject({
    code: 'OPTION_INVALID',
  })
})
