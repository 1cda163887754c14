/** Servers that speak PostgreSQL's protocol and are no plain PostgreSQL, by what `WHO_IS_THERE` asks. */
import type { Product } from '../../shared/suited.ts'

export const PRODUCTS: readonly Product[] = [
  {
    name: 'CockroachDB',
    sign: /^version CockroachDB/m,
    why: 'its advisory locks lock nothing, and it has no LISTEN',
  },
  {
    name: 'Redshift',
    sign: /^version .*\bRedshift\b/m,
    why: 'it has no row locks, and does not enforce that an id is unique',
  },
  {
    name: 'YugabyteDB',
    sign: /^version .*-YB-/m,
    why: 'LISTEN is off unless it was switched on, and its row locks are those of a distributed store',
    unless: 'unproved=true',
  },
  {
    name: 'Aurora',
    sign: /^function aurora_version$/m,
    why: 'its storage and its failover are not PostgreSQL’s',
    unless: 'unproved=true',
  },
  {
    name: 'Citus',
    sign: /^extension citus$/m,
    why: 'a table of punctual that somebody distributes has its rows and their locks on other nodes',
    unless: 'unproved=true',
  },
]
