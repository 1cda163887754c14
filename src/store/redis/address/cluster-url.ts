/**
 * URLs of a cluster: some of its nodes, which name the others.
 *
 *   redis+cluster://user:password@host1:6379,host2,host3?partitions=16        rediss+cluster://… the same over TLS
 */
import { parseInteger } from '../../../core/input/checks.ts'
import { readHostsUrl, type HostsKind } from './hosts.ts'
import { readOptions, readTls, type RedisSettings } from './options.ts'
import { hostAndPort, invalidUrl, withoutLeaks, type Address } from './url.ts'

export type ClusterUrl = {
  readonly seeds: readonly { readonly host: string; readonly port: number }[]
  /** Everything about a node but where it is. */
  readonly node: Omit<Address, 'host' | 'port'>
  readonly partitions: number
  readonly settings: RedisSettings
}

const PARTITIONS = 16
export const PARTITIONS_MAX = 1_024
const EXAMPLE = 'redis+cluster://host1:6379,host2:6379,host3:6379?partitions=16'
const KIND: HostsKind = {
  scheme: 'cluster',
  example: EXAMPLE,
  one: 'node',
  many: 'nodes',
  port: 6379,
  hostsMax: 100,
}

export function isClusterUrl(text: string): boolean {
  return /^rediss?\+cluster:/i.test(text)
}

export function parseClusterUrl(text: string): ClusterUrl {
  return withoutLeaks(text, () => readUrl(text))
}

function readUrl(text: string): ClusterUrl {
  const { isTls, hosts, login, path, query } = readHostsUrl(text, KIND)
  if (path !== '' && path !== '0')
    throw invalidUrl(text, `a cluster has one database, so that no path is needed: ${EXAMPLE}.`)
  const kind = { isTls, isSentinel: false, isCluster: true }
  const settings = readOptions(query, kind)
  const given = query.get('partitions')
  return {
    seeds: hosts,
    node: { database: 0, ...login, ...readTls(query, kind) },
    partitions: readPartitions(given),
    settings,
  }
}

function readPartitions(given: string | null): number {
  if (given === null) return PARTITIONS
  return parseInteger(/^\d+$/.test(given) ? Number(given) : given, 'partitions', {
    min: 1,
    max: PARTITIONS_MAX,
  })
}

/** The cluster as an error message may name it: without passwords. */
export function describeCluster({ seeds, node }: Pick<ClusterUrl, 'seeds' | 'node'>): string {
  return `${node.tls === undefined ? 'redis' : 'rediss'}+cluster://${seeds.map(hostAndPort).join(',')}`
}
