/** Servers that speak MySQL's protocol and are neither a plain MySQL nor a plain MariaDB, by what a session asks first. */
import type { Product } from '../../shared/suited.ts'

const ONE_WRITER =
  'a row that one node has locked is free on every other, so that two workers would start one message'

export const PRODUCTS: readonly Product[] = [
  {
    name: 'TiDB',
    sign: /^version(_comment)? .*\bTiDB\b/m,
    why: 'it takes FOR UPDATE SKIP LOCKED and locks nothing, so that two workers would start one message',
  },
  {
    name: 'SingleStore',
    sign: /^(version_comment .*(SingleStore|MemSQL)|memsql_version )/im,
    why: 'an id is unique there only within a shard, and it is compatible with MySQL 5.7',
  },
  {
    name: 'Vitess',
    sign: /^version .*Vitess/im,
    why: 'its sessions are shared by a proxy, and a transaction over several shards is not atomic',
    unless: 'unproved=true',
  },
  {
    name: 'Aurora',
    sign: /^aurora_version /m,
    why: 'its storage and its failover are not those of MySQL',
    unless: 'unproved=true',
  },
  { name: 'a node of a Galera cluster', sign: /^wsrep_on ON$/m, why: ONE_WRITER, unless: 'writer=one' },
  {
    name: 'a member of a group with several primaries',
    sign: /^group_replication_single_primary_mode OFF$/m,
    why: ONE_WRITER,
    unless: 'writer=one',
  },
]

/** Variables of the server that tell one from another; each is there on some only. */
export const TELLING_VARIABLES = [
  'aurora_version',
  'memsql_version',
  'wsrep_on',
  'group_replication_single_primary_mode',
]
