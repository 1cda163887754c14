// Locks all messages of a database in a transaction of the store's own kind, and stops between two flights of it.
import { writeSync } from 'node:fs'
import { systemClock } from '../../../../dist/clock.js'
import { systemRandom } from '../../../../dist/random.js'
import { parseMysqlUrl } from '../../../../dist/store/mysql/address/url.js'
import { MysqlLink } from '../../../../dist/store/mysql/link/mysql-link.js'
import { Transactions } from '../../../../dist/store/mysql/transactions.js'

const { address, server } = parseMysqlUrl(process.argv[2])
const surroundings = { server, clock: systemClock, random: systemRandom }
const logger = { debug() {}, info() {}, warn: () => process.exit(0), error() {} }
const link = new MysqlLink({
  ...surroundings,
  name: 'stopped',
  address,
  logger,
  connectTimeoutMs: 60_000,
  callTimeoutMs: 60_000,
})
await new Transactions(link, surroundings).run(async (steps) => {
  await steps.send({ text: 'select seq from punctual_message for update', values: [] })
  writeSync(1, 'locked\n')
  process.kill(process.pid, 'SIGSTOP')
  await steps.commit()
})
