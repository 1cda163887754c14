/**
 * What speaks MySQL's protocol and is none is refused by name before anything is stored, by a stand-in that answers as that server
 * does. What none of them can show: that a queue would work there.
 */
import { describe, expect, test } from 'vitest'
import { openingAt } from '../opening.ts'
import { freshDatabase, isMysqlThere } from './server.ts'
import { startStandIn } from './stand-in.ts'

type Server = {
  readonly version: string
  readonly comment: string
  readonly variables?: Readonly<Record<string, string>>
  readonly takesOneStatement?: boolean
}

const MYSQL = { version: '8.0.39', comment: 'MySQL Community Server - GPL' }
const MARIADB = { version: '11.8.3-MariaDB-log', comment: 'mariadb.org binary distribution' }
const SERVERS: Readonly<Record<string, Server>> = {
  TiDB: {
    version: '8.0.11-TiDB-v8.5.6',
    comment: 'TiDB Server (Apache License 2.0) Community Edition, MySQL 8.0 compatible',
    takesOneStatement: true,
  },
  SingleStore: {
    version: '5.7.32',
    comment: 'SingleStoreDB source distribution (compatible; MySQL Enterprise & MySQL Commercial)',
  },
  Vitess: { version: '8.0.40-Vitess', comment: 'Version: 23.0.0 (Git revision 0 branch release-23.0)' },
  Aurora: { ...MYSQL, variables: { aurora_version: '3.08.0' } },
  'a node of a Galera cluster': { ...MARIADB, variables: { wsrep_on: 'ON' } },
  'a member of a group with several primaries': {
    ...MYSQL,
    variables: { group_replication_single_primary_mode: 'OFF' },
  },
}
/** With what each is let in. */
const LET_IN: Readonly<Record<string, string>> = {
  Vitess: 'unproved=true',
  Aurora: 'unproved=true',
  'a node of a Galera cluster': 'writer=one',
  'a member of a group with several primaries': 'writer=one',
}
const ONE_AT_A_TIME = 8130
const NO_SUCH_TABLE = 1142

function standIn({ version, comment, variables = {}, takesOneStatement = false }: Server): Promise<string> {
  return startStandIn(version, (sql) => {
    const statements = sql.split(';')
    if (takesOneStatement && statements.length > 1) return [{ errno: ONE_AT_A_TIME }]
    return statements.map((one) => {
      if (one.startsWith('select version()')) return [{ version, version_comment: comment }]
      if (one.startsWith('show global variables'))
        return Object.entries({ read_only: 'OFF', ...variables }).map(([name, value]) => ({
          Variable_name: name,
          Value: value,
        }))
      return one.startsWith('set ') || one.startsWith('do ') ? undefined : { errno: NO_SUCH_TABLE }
    })
  })
}

describe.each(Object.entries(SERVERS))('%s', (name, server) => {
  test('is refused by its name, with the reason', async () => {
    const refusal = await openingAt(await standIn(server))
    expect(refusal).toMatchObject({ name: 'UsageError', code: 'STORE_UNSUITED', value: name })
    expect(String(refusal)).toContain(`this server is ${name}: `)
  })

  test.each(['unproved=true', 'writer=one'])(
    '%s lets it in where that is all that is wrong',
    async (option) => {
      const refusal = await openingAt(`${await standIn(server)}?${option}`)
      // Let in, the stand-in refuses the next statement with a code of its own.
      expect(refusal).toMatchObject({ code: LET_IN[name] === option ? 'STORE_REFUSED' : 'STORE_UNSUITED' })
    },
  )
})

test('a server that takes no writes is away, and not unsuited', async () => {
  const url = await standIn({ ...MYSQL, variables: { read_only: 'ON' } })
  expect(await openingAt(`${url}?callTimeout=300ms`)).toMatchObject({ code: 'STORE_UNAVAILABLE' })
})

test.skipIf(!isMysqlThere)('a plain server is not refused', async () => {
  expect(await openingAt(await freshDatabase())).toBeUndefined()
})

test('a writer other than one is refused', async () => {
  await expect(openingAt('mysql://here/there?writer=two')).rejects.toMatchObject({ code: 'OPTION_INVALID' })
})
