/** PostgreSQL on a disk that is full. */
import { fullDisk } from '../sql/full.ts'
import { PostgresServer } from './server.ts'
import { storeAt } from './stores.ts'

fullDisk({
  isMissing: false,
  start: (directory) =>
    PostgresServer.start({ settings: ['max_wal_size = 64MB', 'min_wal_size = 32MB'], directory }),
  end: (server) => server.end('SIGQUIT'),
  storeAt: (url, callTimeout) => storeAt(url, undefined, { callTimeout }),
})
