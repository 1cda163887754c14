/** Servers that speak Redis' protocol and are neither Redis nor Valkey, by the lines of INFO. */
import { refuseUnsuited, type Consent, type Product } from '../shared/suited.ts'
import { ask } from './doctor/questions.ts'
import type { Calls } from './scripts/calls.ts'

const PRODUCTS: readonly Product[] = [
  {
    name: 'Dragonfly',
    sign: /^dragonfly_version:/m,
    why: 'a script may touch no other keys than it was given unless the server was told otherwise, and scripts run on several threads',
    unless: 'unproved=true',
  },
  {
    name: 'KeyDB',
    sign: /^(executable:.*keydb|mvcc_depth:)/m,
    why: 'it has several threads, and as an active replica it takes writes on several servers',
    unless: 'unproved=true',
  },
  {
    name: 'Upstash',
    sign: /^upstash_version:/m,
    why: 'it is another program behind the protocol of Redis 6.2, and bills the calls of workers that wait',
    unless: 'unproved=true',
  },
  {
    name: 'MemoryDB',
    sign: /^os:Amazon MemoryDB/m,
    why: 'its durability and its failover are not those of Redis',
    unless: 'unproved=true',
  },
  {
    name: 'Garnet',
    sign: /^garnet_version:/m,
    why: 'it is another program behind the protocol of Redis, whose scripts are off unless they were switched on',
    unless: 'unproved=true',
  },
]

/** A user that may not ask is believed to have a Redis. INFO whole: some tell who they are behind its first section. */
export async function refuseProducts(calls: Calls, allowed: readonly Consent[]): Promise<void> {
  const info = await ask(calls, ['INFO'])
  if (typeof info === 'string') refuseUnsuited(PRODUCTS, info.split('\r\n'), allowed)
}
