/** MariaDB on a disk that is full. */
import { fullDisk } from '../sql/full.ts'
import { isMariaDbThere, MysqlServer } from './server.ts'
import { storeAt } from './stores.ts'

fullDisk({
  isMissing: !isMariaDbThere,
  start: (directory) => MysqlServer.start({ directory }),
  end: (server) => server.end('SIGKILL'),
  storeAt: (url, callTimeout) => storeAt(url, undefined, { callTimeout }),
})
