// Locks all messages of a database in a session of the store's own kind, and stops between two flights of the transaction.
import { writeSync } from 'node:fs'
import { parseMysqlUrl } from '../../../../dist/store/mysql/address/url.js'
import { MysqlConnection } from '../../../../dist/store/mysql/link/connection.js'

const statement = (text) => ({ text, values: [] })
const { address } = parseMysqlUrl(process.argv[2])
const connection = new MysqlConnection({ address, connectTimeoutMs: 60_000 }, () => process.exit(0))
await connection.open()
await connection.send(async (send) => {
  await send([statement('start transaction'), statement('select seq from punctual_message for update')])
  writeSync(1, 'locked\n')
  process.kill(process.pid, 'SIGSTOP')
  await send([statement('commit')])
})
